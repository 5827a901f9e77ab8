"""Small batches, and whether speculation can lose there."""

from __future__ import annotations

from collections.abc import Callable

from minispec.lab.ledger.batches import Group, make_groups, time_groups, together
from minispec.lab.ledger.framework import About, Conclusion, Figures, Scale, Setting, table
from minispec.lab.ledger.runs import CODE_DRAFT, DRAFT, SMALL_DRAFT, model
from minispec.lab.ledger.runs import TARGET as HERE
from minispec.lab.ledger.verdicts import Finding, Interval, above, tally
from minispec.lab.roofline.counts import Storage
from minispec.lab.roofline.machine import get_profile
from minispec.lab.roofline.predict import over_batches
from minispec.lab.roofline.shapes import get_shape
from minispec.lab.viz.plots.claims import PLAIN, Chart, Curve

CARD, TARGET, BATCHES, GAMMA = "h100", "70b", (1, 4, 10), 5
CASES = (("1b", 0.7), ("1b", 0.2), ("13b", 0.7), ("13b", 0.4), ("13b", 0.2))
"""Draft, alpha."""
DRAFTS = (DRAFT, SMALL_DRAFT, CODE_DRAFT)
"""Timed here; the last was trained on code only."""

ABOUT = About(
    title="At batches of one to ten speculation is pure upside",
    claim="At low batch sizes the arithmetic is idle, so that spending it on drafts and verification is pure upside.",
    sources=("pan-practice",),
    kind="timed",
    instrument="Data sheets with two perfect ceilings; drafts of two sizes and several acceptances. And batches "
    "decoded by the engine here, with each of the bundled drafts.",
    literature="Chordiya 2026 (arXiv 2607.17283), one sequence on a laptop: three of five configurations lose, as the "
    "draft is not fast enough for a small target, or as rows that are verified together are computed one by one.",
    thresholds={"gain": 1.0, "gamma": GAMMA, "cases": CASES, "batches": BATCHES, "drafts": DRAFTS},
)


def measure(setting: Setting) -> Figures:
    """Predict small batches with a cheap draft and a dear one, a good one and a poor one; decode such batches here."""
    found = []
    for draft, alpha in CASES:
        points = over_batches(
            get_shape(TARGET),
            get_profile(CARD),
            BATCHES,
            context=512,
            storage=Storage("float16"),
            kv_bytes=2,
            gamma=GAMMA,
            alpha=alpha,
            draft=get_shape(draft),
        )
        found.append(
            {"draft": draft, "alpha": alpha, "speedups": [point.speedup for point in points], "c": points[0].cost_ratio}
        )
    timed = [measure_batch(batch, setting.scale) for batch in BATCHES]
    return {"cases": found, "measured": {draft: [figures[draft] for figures in timed] for draft in DRAFTS}}


def measure_batch(batch: int, scale: Scale) -> dict[str, Interval]:
    """Time one batch with each draft, against plain decoding."""
    tokens = scale.tokens // 2 + GAMMA + 2

    def way(draft: str, gamma: int) -> Callable[[Group], float]:
        return lambda group: together(model(HERE), model(draft), group, gamma, tokens)

    ways = {draft: way(draft, GAMMA) for draft in DRAFTS} | {"plain": way(DRAFT, 0)}
    times = time_groups(ways, make_groups(scale.timed, batch), scale.text_rounds)
    return {draft: times.faster("plain", draft, len(DRAFTS) * len(BATCHES)) for draft in DRAFTS}


def conclude(figures: Figures) -> Conclusion:
    """Each draft and batch, predicted and timed here, says whether speculation gains; the tally is the verdict."""
    measured = figures["measured"]
    answers = [value > 1.0 for f in figures["cases"] for value in f["speedups"]]
    answers += [above(figure, 1.0) for each in measured.values() for figure in each]
    columns = [f"batch {b}" for b in BATCHES]
    rows = [
        (f["draft"], f"{f['c']:.2f}", f["alpha"], *(f"{value:.2f}" for value in f["speedups"]))
        for f in figures["cases"]
    ]
    told = f"Predicted, {TARGET} on {CARD}, γ = {GAMMA}:" + table(("draft", "c", "α", *columns), rows)
    told += f"\n\nTimed here, {HERE}, texts of all kinds, groups of texts as clusters, greedy, γ = {GAMMA}:"
    told += table(("draft", *columns), [(name, *each) for name, each in measured.items()])
    return Conclusion(
        "At small batches verification is free, and what is left is τ/(1 + γc): more than 1 only if accepted / "
        "drafted is above c. Free arithmetic does not make the draft's reads free, and on a small machine a batch of "
        "ten is not small.",
        told,
        Finding(tally(answers), "Upside if the draft is good for what it costs, and loss if not, at batch 1 as well."),
    )


def chart(figures: Figures) -> Chart:
    """Draw the speedups."""
    return Chart(
        "Speculation at small batches (cards: predicted)",
        "batch",
        "speedup",
        (
            *(
                Curve(f"{f['draft']}, α = {f['alpha']}", BATCHES, f["speedups"], look="dashed")
                for f in figures["cases"]
            ),
            *(Curve(f"{name}, here", BATCHES, each) for name, each in figures["measured"].items()),
        ),
        lines=PLAIN,
    )
