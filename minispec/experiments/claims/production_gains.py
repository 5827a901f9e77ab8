"""What large systems report."""

from __future__ import annotations

from minispec.experiments.framework import Conclusion, Experiment, Figures, Setting, table
from minispec.experiments.verdicts import Verdict
from minispec.theory import alpha_for_speedup
from minispec.viz.plots.claims import Chart, Curve

COSTS = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2)
GAMMAS = (2, 3, 4, 5, 6, 8, 10, 12)


def measure(setting: Setting) -> Figures:
    """Ask what acceptance the reported gains would take."""

    def needed(wanted: float, c: float) -> float | None:
        found = [a for gamma in GAMMAS if (a := alpha_for_speedup(wanted, gamma, c)) is not None]
        return min(found, default=None)

    return {"needed": {str(wanted): [needed(wanted, c) for c in COSTS] for wanted in (2.0, 3.0)}}


def conclude(figures: Figures) -> Conclusion:
    """Nothing is measured, so nothing is judged."""

    def shown(a: float | None) -> str:
        return "out of reach" if a is None else f"{a:.2f}"

    rows = [
        (c, shown(two), shown(three))
        for c, two, three in zip(COSTS, figures["needed"]["2.0"], figures["needed"]["3.0"], strict=True)
    ]
    return Conclusion(
        "Two- and threefold gains are what ordinary figures give. The α they need at the best γ (of 2 to 12), with "
        "free "
        "verification:" + table(("c", "for 2x", "for 3x"), rows),
        "Nothing. The reports name neither draft, acceptance, batch size nor baseline.",
        Verdict(
            "not testable here",
            "It would take those systems: their models, their accelerators, their traffic, and the plain engine with "
            "the same kernels as the baseline. What can be said is that nothing in the figures contradicts the "
            "formula.",
        ),
    )


def chart(figures: Figures) -> Chart:
    """Draw the acceptance needed."""
    return Chart(
        "Acceptance that the reported gains need", "c, cost of a draft token", "α, at the best γ and v = 1",
        tuple(
            Curve(f"{wanted}x", [c for c, a in zip(COSTS, found, strict=True) if a is not None],
                  [a for a in found if a is not None])
            for wanted, found in figures["needed"].items()
        ),
    )  # fmt: skip


EXPERIMENT = Experiment(
    name="production-gains",
    title="Google and Meta see two- to threefold throughput",
    claim="Google's Gemini gains two to three times in throughput, and Meta's Llama 3 70B about as much.",
    seeds=("003",),
    kind="computed",
    instrument="None: the systems are not public. The formula says what their gains would need.",
    literature="Leviathan et al. 2023 report 2.3x to 3.4x on T5-XXL for the small draft; arXiv 2508.08192 (Meta, 2025) "
    "1.4x to 2.0x for Llama at large batches in production. Neither is the system that is claimed.",
    thresholds={"costs": COSTS, "gammas": GAMMAS},
    measure=measure,
    conclude=conclude,
    chart=chart,
)
