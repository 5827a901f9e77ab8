"""Equal answers, many accepted drafts, and no gain."""

from __future__ import annotations

from minispec.lab.ledger.framework import About, Conclusion, Figures, Setting, table
from minispec.lab.ledger.verdicts import Finding, tally
from minispec.lab.viz.plots.claims import PLAIN, Chart, bars
from minispec.theory import draft_acceptance_rate, speedup, tau

ALPHA, GAMMA = 0.9, 5
COSTS = ((0.05, 1.0), (0.2, 1.0), (0.5, 1.0), (0.9, 1.0), (0.2, 4.0), (0.5, 3.0))

ABOUT = About(
    title="Equally good and often accepted has earned its keep",
    claim="If the answers are equally good and many drafted tokens are accepted, speculation has earned its keep.",
    sources=("day-05",),
    kind="computed",
    instrument="The formula at stated costs: a counterexample is enough.",
    literature="Leviathan et al. 2023, table 2: the draft of 800M is accepted most and gains least (1.4x to 2.2x).",
    thresholds={"faster": 1.0, "alpha": ALPHA, "gamma": GAMMA, "costs": COSTS},
)


def measure(setting: Setting) -> Figures:
    """Compute the speedup of a draft that is accepted nine times in ten, at several costs."""
    tokens = tau(ALPHA, GAMMA)
    return {
        "rate": draft_acceptance_rate(ALPHA, GAMMA),
        "tau": tokens,
        "cases": [{"c": c, "v": v, "speedup": speedup(tokens, GAMMA, c, v)} for c, v in COSTS],
    }


def conclude(figures: Figures) -> Conclusion:
    """Each pair of costs says whether the accepted drafts gain time; the tally is the verdict."""
    rows = [(f["c"], f["v"], f"{f['speedup']:.2f}") for f in figures["cases"]]
    return Conclusion(
        f"η = τ/(γc + v). At α = {ALPHA}, γ = {GAMMA}, τ = {figures['tau']:.2f}: it gains if γc + v is less.",
        f"Quality is equal by the guarantee; {figures['rate']:.0%} of the drafted tokens are accepted:"
        + table(("c", "v(6)", "speedup"), rows),
        Finding(
            tally([f["speedup"] > 1.0 for f in figures["cases"]]),
            "Equal quality is guaranteed and proves nothing, and accepted drafts are a gain only if they cost less "
            "than they save. The experiment that is proposed records latency; the conclusion leaves it out.",
        ),
    )


def chart(figures: Figures) -> Chart:
    """Draw the speedups."""
    return bars(
        f"A draft of α = {ALPHA}, γ = {GAMMA}",
        "costs",
        "speedup",
        [f"c {c}, v {v}" for c, v in COSTS],
        {"formula": [f["speedup"] for f in figures["cases"]]},
        lines=PLAIN,
    )
