"""How far batches leave speculation worth while."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minispec.analysis.roofline.batch import over_batches
from minispec.analysis.roofline.counts import Storage
from minispec.analysis.roofline.prediction import forward_timers
from minispec.analysis.roofline.profiles import PROFILES
from minispec.analysis.roofline.shapes import get_shape
from minispec.analysis.step_costs import VerifyCurve
from minispec.analysis.timer import interleave
from minispec.experiments.framework import Conclusion, Experiment, Figures, Setting, table
from minispec.experiments.instruments import DRAFT, TARGET, model, round_ratios, verify_curve
from minispec.experiments.verdicts import Verdict, tally
from minispec.theory import tau
from minispec.viz.plots.claims import Chart, Curve

ALPHA, GAMMA, CONTEXT = 0.7, 4, 512
BATCHES = (1, 2, 4, 8, 16, 32, 64)
"""Timed here; the predictions go on to where speculation loses on every card."""
PREDICTED = (*BATCHES, 128, 256, 512)
CLAIMED = ((1, 2.0, 3.0), (4, 2.0, 3.0), (8, 2.0, 3.0), (16, 1.3, 1.8), (32, 0.0, 1.0), (64, 0.0, 1.0))
CARDS = ("h100", "a100", "rtx3090")
PAIR = ("70b", "1b")
"""Target and draft of the predictions, of one vocabulary, in float16."""


def measure(setting: Setting) -> Figures:
    """Predict from data sheets; and from times of forwards over as many rows as a batch would have, on this machine."""
    counts = [2, 4, 8, 16, 32, 64, 128, BATCHES[-1] * (GAMMA + 1)] if setting.scale.repeats > 2 else [2, 4, 8]
    repeats = setting.scale.repeats
    target, draft = (
        VerifyCurve({m: v.value for m, v in verify_curve(model(name), counts, 64, repeats).items()})
        for name in (TARGET, DRAFT)
    )
    one_row = {name: forward_timers(model(name), [1], 64)[1] for name in (TARGET, DRAFT)}
    c = round_ratios(interleave(one_row, 3 * repeats), DRAFT, TARGET).value
    here = [
        tau(ALPHA, GAMMA) * target(batch) / (target(batch * (GAMMA + 1)) + GAMMA * c * draft(batch))
        for batch in BATCHES
    ]
    return {**predict(), "from_rows_here": here, "cost_ratio_here": c}


def predict() -> dict[str, Any]:
    """Return what data sheets give, for each card and batch."""
    shapes = [get_shape(name) for name in PAIR]
    points = {
        card: over_batches(
            shapes[0], PROFILES[card], PREDICTED, context=CONTEXT, storage=Storage("float16"), kv_bytes=2, gamma=GAMMA,
            alpha=ALPHA, draft=shapes[1],
        )
        for card in CARDS
    }  # fmt: skip
    return {
        "predicted": {card: [point.speedup for point in found] for card, found in points.items()},
        "cost_ratio": points[CARDS[0]][0].cost_ratio,
    }


def _last(curve: Sequence[float]) -> str:
    """Return the largest batch of the sweep with a gain."""
    paying = [batch for batch, value in zip(PREDICTED, curve, strict=False) if value > 1.0]
    if len(paying) == len(curve):
        return f"{paying[-1]} or more"
    return str(paying[-1]) if paying else "none"


def conclude(figures: Figures) -> Conclusion:
    """Each card says of each batch whether the prediction lies in the claimed range; the tally is the verdict."""
    answers = [
        low <= curve[PREDICTED.index(batch)] <= high
        for curve in figures["predicted"].values()
        for batch, low, high in CLAIMED
    ]
    curves = {**figures["predicted"], "this machine, from rows": figures["from_rows_here"]}
    gaps = [""] * len(PREDICTED)
    rows = [(name, *[*(f"{value:.2f}" for value in curve), *gaps][: len(PREDICTED)]) for name, curve in curves.items()]
    return Conclusion(
        "Verification is free while batch × (γ + 1) rows stay below the ridge, the rows at which arithmetic takes as "
        "long as reading the weights. No batch size as such is a threshold: the ridge is a property of the machine "
        f"and the number format. Predicted speedups for a {PAIR[0]} with a draft of {PAIR[1]} (c = "
        f"{figures['cost_ratio']:.3f} at batch 1), α = {ALPHA}, γ = {GAMMA}, contexts of {CONTEXT} tokens, float16, at "
        "the ceilings of each card's data sheet and as many of them as it takes:"
        + table(("machine", *(f"batch {b}" for b in PREDICTED)), rows),
        "There is no batched engine here yet, so nothing in this entry is a measurement of one. The last line takes "
        "measured times of forwards over B and B(γ + 1) rows of one sequence for those of a batch (bundled pair, same "
        f"α), with c = {figures['cost_ratio_here']:.2f} at one row: it leaves out the attention over separate "
        "contexts.",
        Verdict(
            tally(answers),
            "It depends on the machine. Last batch of the sweep at which drafts of this length still pay: "
            + ", ".join(f"{name} {_last(curve)}" for name, curve in curves.items())
            + ". A small ridge gives about the claimed pattern, a large card moves break-even far beyond it; shorter "
            "drafts move it further still.",
        ),
    )


def chart(figures: Figures) -> Chart:
    """Draw the predictions."""
    curves = {**figures["predicted"], "this machine, from rows": figures["from_rows_here"]}
    return Chart(
        f"Predicted speedup by batch (α {ALPHA}, γ {GAMMA})", "sequences decoded together", "plain / speculative",
        tuple(Curve(name, PREDICTED[: len(curve)], curve) for name, curve in curves.items()),
        lines=(("plain", 1.0),), log_x=True,
    )  # fmt: skip


EXPERIMENT = Experiment(
    name="batch-size",
    title="Batch 1–10: 2–3x; 10–30: 1.3–1.8x; from 32 on a loss",
    claim="Up to ten concurrent requests speculation gives two to three times the speed, from ten to thirty 1.3 to 1.8 "
    "times, and from 32 on it is often slower than plain decoding.",
    seeds=("001",),
    kind="timed",
    instrument="Predicted from data sheets with two perfect ceilings; and from the time of forwards over many "
    "rows here.",
    literature="EAGLE-3 (Li et al. 2025) reports 1.38x at batch 64 in SGLang; MagicDec (Sadhukhan et al. 2025) up to "
    "2.51x at batches of 32 to 256 with long contexts; Liu et al. 2026, “Performance or Illusion?”, gains "
    "that shrink with the batch from 1 to 128 on an H100.",
    thresholds={"claimed": CLAIMED, "cards": CARDS, "pair": PAIR, "alpha": ALPHA, "gamma": GAMMA, "context": CONTEXT},
    measure=measure,
    conclude=conclude,
    chart=chart,
)
