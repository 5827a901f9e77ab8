"""How far batches leave speculation worth while."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from minispec.lab.ledger.batches import CONTEXT, PAIR, Group, make_groups, on_card, time_groups, together
from minispec.lab.ledger.framework import About, Conclusion, Figures, Scale, Setting, table
from minispec.lab.ledger.runs import DRAFT, TARGET, model
from minispec.lab.ledger.verdicts import Finding, Interval, inside, tally
from minispec.lab.timer import interleave
from minispec.lab.viz.plots.claims import PLAIN, Chart, Curve

ALPHA, GAMMA = 0.7, 4
GAMMAS = (1, 2, 4, 6)
"""Searched for each batch here; the predictions are for one of them."""
BATCHES = (1, 2, 4, 8, 16, 32, 64)
"""Decoded here; the predictions go on to where speculation loses on every card."""
PREDICTED = (*BATCHES, 128, 256, 512)
CLAIMED = ((1, 2.0, 3.0), (4, 2.0, 3.0), (8, 2.0, 3.0), (16, 1.3, 1.8), (32, 0.0, 1.0), (64, 0.0, 1.0))
CARDS = ("h100", "a100", "rtx3090")

ABOUT = About(
    title="Batch 1–10: 2–3x; 10–30: 1.3–1.8x; from 32 on a loss",
    claim="Up to ten concurrent requests speculation gives two to three times the speed, from ten to thirty 1.3 to 1.8 "
    "times, and from 32 on it is often slower than plain decoding.",
    sources=("pan-practice",),
    kind="timed",
    instrument="The bundled pair, batches of 1 to 64 decoded by the engine, plain and speculative in turns; data "
    "sheets with two perfect ceilings beside.",
    literature="EAGLE-3 (Li et al. 2025) reports 1.38x at batch 64 in SGLang; MagicDec (Sadhukhan et al. 2025) up to "
    "2.51x at batches of 32 to 256 with long contexts; Liu et al. 2026, “Performance or Illusion?”, gains "
    "that shrink with the batch from 1 to 128 on an H100.",
    thresholds={
        "claimed": CLAIMED,
        "cards": CARDS,
        "pair": PAIR,
        "alpha": ALPHA,
        "gamma": GAMMA,
        "gammas": GAMMAS,
        "context": CONTEXT,
    },
)


def measure(setting: Setting) -> Figures:
    """Decode batches here, plainly and speculatively; predict those of a large pair from data sheets."""
    scale = setting.scale
    points = {card: on_card(card, PREDICTED, alpha=ALPHA, gamma=GAMMA) for card in CARDS}
    return {
        "predicted": {card: [point.speedup for point in found] for card, found in points.items()},
        "cost_ratio": points[CARDS[0]][0].cost_ratio,
        "measured": {str(batch): measure_batch(batch, scale) for batch in (BATCHES if scale.repeats > 2 else (1, 4))},
    }


def measure_batch(batch: int, scale: Scale) -> dict[str, Any]:
    """Time one batch, with the draft length that is best for a group of texts which is not timed afterwards."""
    target, draft, tokens = model(TARGET), model(DRAFT), scale.tokens // 2 + max(GAMMAS) + 2

    def way(gamma: int) -> Callable[[Group], float]:
        return lambda group: together(target, draft, group, gamma, tokens)

    *groups, first = make_groups(scale.timed + 1, batch)
    way(GAMMA)(first)
    searched = interleave({gamma: partial(way(gamma), first) for gamma in GAMMAS}, scale.text_rounds)
    gamma = min(searched, key=lambda each: statistics.median(searched[each]))
    times = time_groups({"plain": way(0), "speculative": way(gamma)}, groups, scale.text_rounds)
    return {"gamma": gamma, "speedup": times.faster("plain", "speculative", len(CLAIMED))}


def _last(batches: Sequence[int], curve: Sequence[float]) -> str:
    """Return the largest batch of the sweep with a gain."""
    paying = [batch for batch, value in zip(batches, curve, strict=True) if value > 1.0]
    if len(paying) == len(curve):
        return f"{paying[-1]} or more"
    return str(paying[-1]) if paying else "none"


def conclude(figures: Figures) -> Conclusion:
    """Each claimed range judges the interval here and each card's prediction; the tally is the verdict."""
    measured = figures["measured"]
    answers = [inside(measured[str(b)]["speedup"], low, high) for b, low, high in CLAIMED if str(b) in measured]
    answers += [
        low <= curve[PREDICTED.index(batch)] <= high
        for curve in figures["predicted"].values()
        for batch, low, high in CLAIMED
    ]
    rows = [(name, *(f"{value:.2f}" for value in curve)) for name, curve in figures["predicted"].items()]
    last = {card: _last(PREDICTED, curve) for card, curve in figures["predicted"].items()}
    last["this machine, clearly"] = _last(list(measured), [each["speedup"][1] for each in measured.values()])
    timed = [(batch, each["gamma"], Interval(*each["speedup"])) for batch, each in measured.items()]
    return Conclusion(
        "Verification is free while batch × (γ + 1) rows stay below the ridge, the rows at which arithmetic takes as "
        "long as reading the weights. No batch size as such is a threshold: the ridge is a property of the machine "
        f"and the number format. Predicted speedups for a {PAIR[0]} with a draft of {PAIR[1]} (c = "
        f"{figures['cost_ratio']:.3f} at batch 1), α = {ALPHA}, γ = {GAMMA}, contexts of {CONTEXT} tokens, float16, at "
        "the ceilings of each card's data sheet and as many of them as it takes:"
        + table(("machine", *(f"batch {b}" for b in PREDICTED)), rows),
        "Goodput of texts decoded together by the engine, greedy, bundled pair, groups of texts as clusters; the draft "
        f"length is the best of {', '.join(map(str, GAMMAS))} on a group that was not timed:"
        + table(("batch", "γ", "times as fast"), timed),
        Finding(
            tally(answers),
            "It depends on the machine. Last batch of the sweep at which drafts still pay: "
            + ", ".join(f"{name} {batch}" for name, batch in last.items())
            + ". A small ridge gives about the claimed pattern, a large card moves break-even far beyond it; shorter "
            "drafts move it further still.",
        ),
    )


def chart(figures: Figures) -> Chart:
    """Draw the predictions, and what was measured."""
    batches, speedups = zip(
        *((int(batch), each["speedup"]) for batch, each in figures["measured"].items()), strict=True
    )
    here = Curve("this machine, measured", batches, speedups)
    return Chart(
        f"Speedup by batch (cards: predicted, α {ALPHA}, γ {GAMMA})",
        "sequences decoded together",
        "speedup",
        (*(Curve(name, PREDICTED, curve, look="dashed") for name, curve in figures["predicted"].items()), here),
        lines=PLAIN,
        log_x=True,
    )
