"""Acceptance proportional to the ratio of two probabilities."""

from __future__ import annotations

import numpy as np

from minispec.lab.ledger.framework import About, Conclusion, Figures, Setting, table
from minispec.lab.ledger.verdicts import Finding, tally
from minispec.lab.viz.plots.claims import Chart, Curve

EXACT = 1e-12
CONSTANTS, PAIRS, VOCABULARY = (0.5, 0.8, 1.0, 1.25, 2.0), 200, 16

ABOUT = About(
    title="Drafts stay with a probability proportional to p/q",
    claim="A draft that the target finds less likely is accepted with a probability proportional to the ratio of the "
    "two probabilities, or to the agreement of the two models.",
    sources=("pan-practice", "nikolatesla"),
    kind="computed",
    instrument="The law of one token by its formula, for several constants.",
    literature="Leviathan et al. 2023, section 2.3: accept with min(1, p/q); appendix A.5: a factor on it is "
    "lenience, and the law changes.",
    thresholds={"exact": EXACT, "constants": CONSTANTS, "pairs": PAIRS},
)


def measure(setting: Setting) -> Figures:
    """Compute the emitted token's law with min(1, k p/q) for several k and the usual residual, exactly."""
    generator = np.random.default_rng(0)
    laws = [generator.dirichlet(np.full(VOCABULARY, 0.5), 2) for _ in range(PAIRS)]
    found = []
    for constant in CONSTANTS:
        distances, kept = [], []
        for p, q in laws:
            stays = np.minimum(q, constant * p)
            rest = np.maximum(p - q, 0.0)
            law = stays + (1.0 - stays.sum()) * rest / rest.sum()
            distances.append(float(np.abs(law - p).sum() / 2))
            kept.append(float(stays.sum()))
        found.append({"constant": constant, "distance": max(distances), "accepted": float(np.mean(kept))})
    return {"cases": found}


def conclude(figures: Figures) -> Conclusion:
    """Each constant says whether the law is exact to 1e-12; the tally is the verdict."""
    rows = [(f["constant"], f"{f['accepted']:.3f}", f"{f['distance']:.1g}") for f in figures["cases"]]
    return Conclusion(
        "With min(1, k p/q) a draft stays with mass min(q, kp), and the residual (p − q)₊ makes p of it only if k = 1. "
        "For k < 1 another residual, p − min(q, kp), would be exact too, and fewer drafts would stay (K-SEQ with one "
        "draft); for k > 1 none is, as tokens come out more often than the target allows.",
        f"Total variation from the target's law after one token, {PAIRS} random pairs of laws over {VOCABULARY} tokens:"
        + table(("k", "accepted", "distance, largest"), rows),
        Finding(
            tally([f["distance"] < EXACT for f in figures["cases"]]),
            "“Proportional” leaves out the constant. With this residual only one is right, and no exact rule keeps "
            "more drafts: the chance *is* the ratio, cut at 1. A constant above 1 is lenience, which is lossy.",
        ),
    )


def chart(figures: Figures) -> Chart:
    """Draw acceptance and distance."""
    return Chart(
        "Accept with min(1, k p/q)",
        "k",
        "share, distance",
        (
            Curve("accepted", CONSTANTS, [f["accepted"] for f in figures["cases"]]),
            Curve("distance from the target's law", CONSTANTS, [f["distance"] for f in figures["cases"]]),
        ),
    )
