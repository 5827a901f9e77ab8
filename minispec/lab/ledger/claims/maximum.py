"""Gamma + 1 is the most a step can bring."""

from __future__ import annotations

from minispec.lab.ledger.framework import About, Conclusion, Figures, Setting, table
from minispec.lab.ledger.instruments import estimate_speedup, tokens_per_step
from minispec.lab.ledger.runs import TARGET, decode_texts, model, prompts, synthetic
from minispec.lab.ledger.verdicts import Finding
from minispec.lab.viz.plots.claims import Chart, Curve
from minispec.theory import tau

GAMMAS = (1, 3, 5, 10)

ABOUT = About(
    title="The most one can gain is γ + 1",
    claim="The largest possible speedup is the draft length plus one.",
    sources=("kumkar",),
    kind="counted",
    instrument="The target as its own draft accepts everything, which also checks the bonus token and the caches; "
    "synthetic drafts show how far below that ordinary acceptance stays.",
    literature="Leviathan et al. 2023: at most γ + 1 tokens a step, 1/(1 − α) for long drafts. Pankratov and Alistarh "
    "2025: for deterministic schemes tokens per pass grow with the logarithm of the tokens verified.",
    thresholds={"most": "gamma + 1", "gammas": GAMMAS},
)


def measure(setting: Setting) -> Figures:
    """Let the target draft for itself (alpha 1), and synthetic drafts of alpha 0.95 and 0.8."""
    scale, text = setting.scale, prompts("stories", 1)
    found = []
    for gamma in GAMMAS:
        steps = max(1, scale.tokens // (gamma + 1))
        own = [
            decode_texts(text, 1 + steps * (gamma + 1), draft=model(TARGET), gamma=gamma, temperature=t)
            for t in (0.0, 1.0)
        ]
        others = {a: synthetic(a, gamma, scale) for a in (0.8, 0.95)}
        every = [run for texts in (*own, *others.values()) for runs in texts for run in runs]
        found.append(
            {
                "gamma": gamma,
                "self": [tokens_per_step(texts) for texts in own],
                "self_charged": estimate_speedup([runs for texts in own for runs in texts], 1.0).value,
                "0.8": tokens_per_step(others[0.8]),
                "0.95": tokens_per_step(others[0.95]),
                "formula_0.8": tau(0.8, gamma),
                "most_in_a_step": max(int(run.emitted.max()) for run in every),
            }
        )
    return {"by_gamma": found}


def conclude(figures: Figures) -> Conclusion:
    """Judge the figures.

    False if any step emits more than gamma + 1 tokens, or full acceptance does not reach it; else it holds.
    """
    found = figures["by_gamma"]
    bound = all(f["most_in_a_step"] <= f["gamma"] + 1 for f in found)
    reached = all(value == f["gamma"] + 1 for f in found for value in f["self"])
    rows = [
        (f["gamma"], f["gamma"] + 1, f["self"][1], f"{f['self_charged']:.2f}", f"{f['0.95']:.2f}", f"{f['0.8']:.2f}")
        for f in found
    ]
    return Conclusion(
        "τ = γ + 1 exactly if every draft is accepted. The speedup is τ / (γc + v), so it reaches γ + 1 only with "
        "free drafts and free verification; for a given α it stays below 1/(1 − α), which is 5 at α = 0.8 however "
        "long the draft, and even with α = 1 below 1/c.",
        "Tokens per target pass:"
        + table(("γ", "γ + 1", "target drafts for itself", "its speedup at c = 1", "α = 0.95", "α = 0.8"), rows),
        Finding(
            "holds" if bound and reached else "false",
            "As a bound on tokens per pass: no step emitted more, and a draft that is always right emits exactly "
            "that. As a speedup it is out of reach: the draft that is always right gained nothing, as it cost what it "
            "saved.",
        ),
    )


def chart(figures: Figures) -> Chart:
    """Draw tokens per pass over gamma."""
    found, gammas = figures["by_gamma"], list(GAMMAS)
    return Chart(
        "Tokens per target pass",
        "γ",
        "τ",
        (
            Curve("γ + 1", gammas, [g + 1 for g in gammas], look="dashed"),
            Curve("target drafts for itself", gammas, [f["self"][1] for f in found], look="points"),
            Curve("α = 0.95", gammas, [f["0.95"] for f in found]),
            Curve("α = 0.8", gammas, [f["0.8"] for f in found]),
        ),
    )
