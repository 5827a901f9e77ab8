"""Summaries and other bulk work."""

from __future__ import annotations

from minispec.lab.ledger.framework import About, Conclusion, Figures, Setting, table
from minispec.lab.ledger.verdicts import Finding, tally
from minispec.lab.viz.plots.claims import PLAIN, Chart, Curve
from minispec.theory import best_gamma, ridge_tokens, roofline_verify_cost

BATCHES = (1, 8, 32, 128, 295, 1024)
DRAFTS = {"copying (c = 0.005, α = 0.7)": (0.005, 0.7), "a model (c = 0.05, α = 0.7)": (0.05, 0.7)}
RIDGE = ridge_tokens(989e12, 3.35e12, 2)
NO_GAIN = 1.0 + 1e-9

ABOUT = About(
    title="Counterproductive for bulk work such as summaries",
    claim="Speculation is counterproductive for batch work such as summarising documents in bulk or offline "
    "evaluation, where large batches already saturate the arithmetic.",
    sources=("pan-practice",),
    kind="computed",
    instrument="The roofline of one card with two perfect ceilings, a draft that copies and one that is a model.",
    literature="vLLM's blog (2024): copying from the input gains 2.8x on summaries at one request a second, and "
    "speculation loses at many. MagicDec (Sadhukhan et al. 2025): up to 2.51x at batches of 32 to 256 with "
    "long contexts.",
    thresholds={"plain": NO_GAIN, "batches": BATCHES, "drafts": DRAFTS},
)


def measure(setting: Setting) -> Figures:
    """Compute the best speedup over all draft lengths, at batches up to beyond the ridge of an H100."""
    return {
        "ridge": RIDGE,
        "drafts": {
            name: [best_gamma(alpha, c, roofline_verify_cost(batch, RIDGE)).speedup for batch in BATCHES]
            for name, (c, alpha) in DRAFTS.items()
        },
    }


def conclude(figures: Figures) -> Conclusion:
    """Each draft and batch says whether no draft length gains; the tally is the verdict."""
    answers = [value <= NO_GAIN for curve in figures["drafts"].values() for value in curve]
    rows = [(name, *(f"{value:.2f}" for value in curve)) for name, curve in figures["drafts"].items()]
    return Conclusion(
        "From the ridge on v(m) = m, and τ < γ + 1: every draft length loses, for every α < 1, so the best is not to "
        "draft. Below it, it is not the kind of work that decides but the batch.",
        f"Best speedup over all draft lengths on an H100 (ridge {figures['ridge']:.0f} rows), without attention over "
        "the "
        "contexts:" + table(("draft", *(f"batch {b}" for b in BATCHES)), rows),
        Finding(
            tally(answers),
            "True where batches saturate the arithmetic, which the claim states, and not of summaries as such: they "
            "repeat their input, so that copying drafts nearly for free. With long inputs the caches keep even large "
            "batches bound by memory.",
        ),
    )


def chart(figures: Figures) -> Chart:
    """Draw the speedups."""
    return Chart(
        "The best draft length, by batch",
        "sequences decoded together",
        "speedup",
        tuple(Curve(name, BATCHES, curve) for name, curve in figures["drafts"].items()),
        lines=PLAIN,
        log_x=True,
    )
