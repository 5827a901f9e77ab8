"""What is drawn after a rejection."""

from __future__ import annotations

import numpy as np

from minispec.lab.ledger.framework import About, Conclusion, Figures, Setting, table
from minispec.lab.ledger.verdicts import Finding, tally
from minispec.lab.viz.plots.claims import Chart, bars
from minispec.theory import acceptance_probability

EXACT = 1e-12
VOCABULARIES, PAIRS = (2, 4, 16, 256), 200

ABOUT = About(
    title="After a rejection one samples from the target's distribution",
    claim="The first rejected draft is replaced by a sample from the target's distribution at that place.",
    sources=("nikolatesla", "kumkar"),
    kind="computed",
    instrument="The law of one token by its formula, for both ways to replace a rejected draft.",
    literature="Leviathan et al. 2023, appendix A.1, and Chen et al. 2023: the residual (p − q)₊, normalised, is "
    "drawn.",
    thresholds={"exact": EXACT, "vocabularies": VOCABULARIES, "pairs": PAIRS},
)


def measure(setting: Setting) -> Figures:
    """Compute the emitted token's law for random pairs of laws, exactly."""
    generator = np.random.default_rng(0)
    found = []
    for size in VOCABULARIES:
        distances: dict[str, list[float]] = {"target": [], "rest": []}
        for _ in range(PAIRS):
            p, q = generator.dirichlet(np.full(size, 0.5), 2)
            kept, beta = np.minimum(p, q), acceptance_probability(p, q)
            rest = np.maximum(p - q, 0.0)
            for name, drawn in (("target", p), ("rest", rest / rest.sum())):
                distances[name].append(float(np.abs(kept + (1.0 - beta) * drawn - p).sum() / 2))
        found.append({"vocabulary": size, **{name: [float(np.mean(d)), max(d)] for name, d in distances.items()}})
    return {"cases": found}


def conclude(figures: Figures) -> Conclusion:
    """Each vocabulary says whether sampling from the target after a rejection is exact to 1e-12; the tally decides."""
    rows = [
        (f["vocabulary"], f"{f['target'][0]:.3f}", f"{f['target'][1]:.3f}", f"{f['rest'][1]:.0e}")
        for f in figures["cases"]
    ]
    return Conclusion(
        "A draft that stays has mass min(p, q), a rejection 1 − β. With p drawn after it the law is min(p, q) + (1 − "
        "β)p: (2 − β)p instead of p wherever p ≤ q, too much, and too little elsewhere. The total variation is Σ "
        "(min(p, q) − βp)₊. Exact is only what is missing, p − min(p, q), normalised.",
        f"Total variation from the target's law after one token, {PAIRS} random pairs of laws a vocabulary:"
        + table(("vocabulary", "the target's law, mean", "largest", "the missing part, largest"), rows),
        Finding(
            tally([f["target"][1] < EXACT for f in figures["cases"]]),
            "Drawn from the target's own law after a rejection, the tokens that the draft favours come out too "
            "often. It must be the part of the target's law that the draft does not cover. Only where drafts are "
            "compared with the target's samples (match) is the target's own sample what is emitted.",
        ),
    )


def chart(figures: Figures) -> Chart:
    """Draw the distances."""
    found = figures["cases"]
    return bars(
        "What is drawn after a rejection",
        "vocabulary",
        "total variation, mean",
        [str(f["vocabulary"]) for f in found],
        {"the target's law": [f["target"][0] for f in found], "the missing part": [f["rest"][0] for f in found]},
    )
