"""Small batches, and whether speculation can lose there."""

from __future__ import annotations

from minispec.analysis.roofline.batch import over_batches
from minispec.analysis.roofline.counts import Storage
from minispec.analysis.roofline.profiles import get_profile
from minispec.analysis.roofline.shapes import get_shape
from minispec.experiments.framework import Conclusion, Experiment, Figures, Setting, table
from minispec.experiments.verdicts import Verdict, tally
from minispec.viz.plots.claims import Chart, Curve

CARD, TARGET, BATCHES, GAMMA = "h100", "70b", (1, 4, 10), 5
CASES = (("1b", 0.7), ("1b", 0.2), ("13b", 0.7), ("13b", 0.4), ("13b", 0.2))
"""Draft, alpha."""


def measure(setting: Setting) -> Figures:
    """Predict small batches with a cheap draft and a dear one, a good one and a poor one."""
    found = []
    for draft, alpha in CASES:
        points = over_batches(
            get_shape(TARGET), get_profile(CARD), BATCHES, context=512, storage=Storage("float16"), kv_bytes=2,
            gamma=GAMMA, alpha=alpha, draft=get_shape(draft),
        )  # fmt: skip
        found.append({"draft": draft, "alpha": alpha, "speedups": [point.speedup for point in points],
                      "c": points[0].cost_ratio})  # fmt: skip
    return {"cases": found}


def conclude(figures: Figures) -> Conclusion:
    """Each draft and batch says whether speculation gains; the tally is the verdict."""
    answers = [value > 1.0 for f in figures["cases"] for value in f["speedups"]]
    rows = [
        (f["draft"], f"{f['c']:.2f}", f["alpha"], *(f"{value:.2f}" for value in f["speedups"]))
        for f in figures["cases"]
    ]
    return Conclusion(
        "At small batches verification is free, and what is left is τ/(1 + γc): more than 1 only if accepted / "
        "drafted is above c. Free arithmetic does not make the draft's reads free.",
        f"Predicted, {TARGET} on {CARD}, γ = {GAMMA}:"
        + table(("draft", "c", "α", *(f"batch {b}" for b in BATCHES)), rows),
        Verdict(
            tally(answers),
            "Upside if the draft is good for what it costs, and loss if not, at batch 1 as well.",
        ),
    )


def chart(figures: Figures) -> Chart:
    """Draw the speedups."""
    return Chart(
        "Speculation at small batches, predicted", "batch", "plain / speculative",
        tuple(Curve(f"{f['draft']}, α = {f['alpha']}", BATCHES, f["speedups"]) for f in figures["cases"]),
        lines=(("plain", 1.0),),
    )  # fmt: skip


EXPERIMENT = Experiment(
    name="pure-upside",
    title="At batches of one to ten speculation is pure upside",
    claim="At low batch sizes the arithmetic is idle, so that spending it on drafts and verification is pure upside.",
    seeds=("001",),
    kind="computed",
    instrument="Data sheets with two perfect ceilings; drafts of two sizes and several acceptances.",
    literature="Chordiya 2026 (arXiv 2607.17283), one sequence on a laptop: three of five configurations lose, as the "
    "draft is not fast enough for a small target, or as rows that are verified together are computed one by one.",
    thresholds={"gain": 1.0, "gamma": GAMMA, "cases": CASES, "batches": BATCHES},
    measure=measure,
    conclude=conclude,
    chart=chart,
)
