"""Tokens per target pass at alpha 0.8 and gamma 5."""

from __future__ import annotations

import numpy as np

from minispec.lab.ledger.framework import About, Conclusion, Figures, Setting
from minispec.lab.ledger.instruments import count, tokens_per_step
from minispec.lab.ledger.runs import synthetic
from minispec.lab.ledger.verdicts import Finding, Interval, within
from minispec.lab.viz.plots.claims import Chart, Curve
from minispec.theory import tau
from minispec.theory.intervals import ratio

ALPHA, GAMMA, CLAIMED = 0.8, 5, 4.5
TOLERANCE = 0.25  # "roughly 4.5" is granted anything that rounds to it in halves

ABOUT = About(
    title="α = 0.8 and five drafts give about 4.5 tokens a round",
    claim="With an acceptance rate of 0.8 and five drafted tokens a round accepts about 4.5 tokens on average, and "
    "expensive passes become 4.5 times fewer.",
    sources=("pan-practice",),
    kind="computed",
    instrument="A million simulated rounds of coin flips; and the engine itself with a synthetic draft whose "
    "acceptance is 0.8 by construction at every prefix, which is what the formula assumes.",
    literature="Leviathan et al. 2023, equation 1 and table 1: 3.69x at α = 0.8, γ = 5.",
    thresholds={"claimed": CLAIMED, "tolerance": TOLERANCE, "alpha": ALPHA, "gamma": GAMMA},
)


def measure(setting: Setting) -> Figures:
    """Simulate steps as coin flips, and decode with a draft whose acceptance is 0.8 at every position."""
    rng = np.random.default_rng(0)
    hits = rng.random((setting.scale.rounds, GAMMA)) < ALPHA
    tokens = 1 + np.cumprod(hits, axis=1).sum(axis=1)
    texts = synthetic(ALPHA, GAMMA, setting.scale)
    return {
        "formula": tau(ALPHA, GAMMA),
        "simulated": ratio(tokens, np.ones(len(tokens))),
        "engine": tokens_per_step(texts),
        "engine_steps": sum(count(texts, "num_steps")),
        "by_gamma": [tau(ALPHA, gamma) for gamma in range(13)],
        "alpha_for_claim": float(next(a for a in np.arange(0.8, 1.0, 0.001) if tau(a, GAMMA) >= CLAIMED)),
    }


def conclude(figures: Figures) -> Conclusion:
    """Judge the figures.

    False if all of the simulation's interval misses the claim by more than its rounding; holds if all is near.
    """
    where = within(figures["simulated"], CLAIMED - TOLERANCE, CLAIMED + TOLERANCE)
    word = {"inside": "holds", "outside": "false", "unclear": "undecided"}[where]
    simulated = Interval(*figures["simulated"])
    return Conclusion(
        f"τ = Σ αᵏ for k = 0 to 5 = {figures['formula']:.3f}: {figures['formula'] - 1:.2f} accepted drafts and one "
        "token of the target's own.",
        f"Coin flips: {simulated.value:.4f} ({simulated.low:.4f} to {simulated.high:.4f}). The engine with a draft "
        f"that is accepted with probability 0.8 everywhere: {figures['engine']:.2f} over {figures['engine_steps']} "
        "steps.",
        Finding(
            word,  # type: ignore[arg-type]
            f"It is {figures['formula']:.2f}; 4.5 would need α ≈ {figures['alpha_for_claim']:.2f}, or nine to ten "
            "drafts a step. Nor is it a number of accepted drafts: those are one fewer.",
        ),
    )


def chart(figures: Figures) -> Chart:
    """Draw tokens per pass over gamma."""
    gammas = list(range(13))
    return Chart(
        "Tokens per target pass at α = 0.8",
        "γ, drafted tokens per step",
        "τ",
        (
            Curve("formula", gammas, figures["by_gamma"]),
            Curve("engine, γ = 5", [GAMMA], [figures["engine"]], look="points"),
            Curve("claimed", [GAMMA], [CLAIMED], look="points"),
        ),
    )
