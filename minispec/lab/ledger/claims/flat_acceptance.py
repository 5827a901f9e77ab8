"""What a growing batch changes: not what is accepted, but what it is worth."""

from __future__ import annotations

from minispec.lab.ledger.batches import CONTEXT, PAIR, on_card
from minispec.lab.ledger.framework import About, Conclusion, Figures, Setting, table
from minispec.lab.ledger.instruments import estimate_speedup, flat, to_interval
from minispec.lab.ledger.runs import Texts, decode_texts, of_each_kind
from minispec.lab.ledger.verdicts import Finding, Interval, above, below, spell, tally
from minispec.lab.viz.plots.claims import PLAIN, Chart, Curve
from minispec.theory.intervals import share_of_texts, simultaneous

GAMMA = 4
BATCHES = (1, 4, 16, 64)
"""Decoded here, the same texts each time."""
CHARGED = (1, 4, 16, 64, 256, 512)
CARDS = ("h100", "a100", "rtx3090")
KINDS = 22
"""Prompts of each kind, at most: one more than a batch of 64 needs, and every batch decodes them anew."""

ABOUT = About(
    title="Acceptance stays, the gain goes",
    claim="As a batch grows, drafts are accepted as often as before, at every place. What speculation gains falls all "
    "the same, until nothing is left. So acceptance figures do not show whether it pays.",
    sources=("speculators",),
    kind="counted",
    instrument="The bundled pair decodes the same texts in batches of 1 to 64: every token, draft and acceptance is "
    "compared. The steps it took are then charged what steps cost at the ceilings of three data sheets.",
    literature="The tutorial (2026) measures a 27B model with a DSpark draft on one B200: 3.36 to 3.45 tokens a pass "
    "from 1 to 128 requests, and 2.70x the throughput at one, 1.10x at 64, 0.74x at 128.",
    thresholds={"gain": 1.0, "gamma": GAMMA, "cards": CARDS, "pair": PAIR, "context": CONTEXT, "batches": CHARGED},
)


def measure(setting: Setting) -> Figures:
    """Decode the same texts in batches of several sizes, and charge their steps what they cost on cards."""
    prompts = of_each_kind(min(KINDS, setting.scale.prompts))
    runs = {batch: decode_texts(prompts, setting.scale.tokens, gamma=GAMMA, company=batch) for batch in BATCHES}
    alone = runs[BATCHES[0]]
    points = {card: on_card(card, CHARGED, alpha=0.7, gamma=GAMMA) for card in CARDS}
    judged = 2 * len(CARDS)
    return {
        "texts": len(prompts),
        "by_batch": {
            str(batch): {
                "same": _facts(texts) == _facts(alone),
                "places": [list(_place(texts, k)) for k in range(GAMMA)],
            }
            for batch, texts in runs.items()
        },
        "alphas": [to_interval(share_of_texts(*_by_text(alone, k), simultaneous(GAMMA))) for k in range(GAMMA)],
        "costs": {card: [[one.cost_ratio, one.verify_cost] for one in found] for card, found in points.items()},
        "speedups": {
            card: [estimate_speedup(alone, one.cost_ratio or 0.0, flat(one.verify_cost), judged) for one in found]
            for card, found in points.items()
        },
    }


def _facts(texts: Texts) -> list[list[list[int]]]:
    """Return all that the runs emitted, drafted and accepted."""
    every = [run for runs in texts for run in runs]
    return [[part.tolist() for part in (run.tokens, run.drafts, run.drafted, run.accepted)] for run in every]


def _by_text(texts: Texts, place: int) -> tuple[list[int], list[int]]:
    """Return, of each text, how often a place of its drafts was accepted, and how often it was judged."""
    accepted, judged = ([[getattr(run, kind) for run in runs] for runs in texts] for kind in ("accepted", "evaluated"))
    return tuple([sum(int((steps > place).sum()) for steps in each) for each in kind] for kind in (accepted, judged))  # type: ignore[return-value]


def _place(texts: Texts, place: int) -> tuple[int, int]:
    accepted, judged = _by_text(texts, place)
    return sum(accepted), sum(judged)


def conclude(figures: Figures) -> Conclusion:
    """Judge the figures.

    Every batch says whether all of its tokens, drafts and acceptances are those of texts alone; every card whether it
    gains alone, and whether it loses at the largest batch. The tally is the verdict.
    """
    speedups = figures["speedups"]
    answers = {f"batch {batch} the same": found["same"] for batch, found in figures["by_batch"].items() if batch != "1"}
    answers |= {f"{card} gains alone": above(curve[0], 1.0) for card, curve in speedups.items()}
    answers |= {f"{card} loses at {CHARGED[-1]}": below(curve[-1], 1.0) for card, curve in speedups.items()}
    rows = [
        (batch, *(f"{accepted} of {judged}" for accepted, judged in found["places"]))
        for batch, found in figures["by_batch"].items()
    ]
    charged = [(card, *(f"{point[0]:.2f}" for point in curve)) for card, curve in speedups.items()]
    alphas = ", ".join(str(Interval(*each)) for each in figures["alphas"])
    return Conclusion(
        "Whether a draft token is accepted depends on two distributions and a coin. The batch enters neither. It "
        f"enters the price: verification has batch × {GAMMA + 1} rows, drafting needs its own passes, and beyond the "
        "ridge each row takes time.",
        f"{figures['texts']} texts at temperature 1, γ = {GAMMA}. Accepted draft tokens of those judged, by batch:"
        + table(("batch", *(f"place {k + 1}" for k in range(GAMMA))), rows)
        + f"\n\nα by place: {alphas}.\n\nThe same steps, charged what they cost a {PAIR[0]} with a draft of {PAIR[1]}, "
        f"float16, contexts of {CONTEXT} tokens, at the ceilings of each card's data sheet:"
        + table(("speedup", *(f"batch {batch}" for batch in CHARGED)), charged),
        Finding(
            tally(list(answers.values())),
            f"Texts, drafts and acceptances of every batch, and the gain of every card: {spell(answers)}. "
            "Watch the time per token beside acceptance: acceptance cannot see the batch.",
        ),
        [point for curve in speedups.values() for point in (curve[0], curve[-1])],
    )


def chart(figures: Figures) -> Chart:
    """Draw the charged speedups."""
    return Chart(
        f"Speedup of the same steps by batch (γ {GAMMA})",
        "sequences decoded together",
        "speedup",
        [Curve(card, CHARGED, curve) for card, curve in figures["speedups"].items()],
        lines=PLAIN,
        log_x=True,
    )
