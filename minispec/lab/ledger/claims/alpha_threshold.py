"""The acceptance rate from which on speculation pays."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from minispec.lab.ledger.framework import About, Conclusion, Figures, Setting, table
from minispec.lab.ledger.instruments import estimate_speedup, flat
from minispec.lab.ledger.runs import synthetic
from minispec.lab.ledger.verdicts import Finding, above, below, tally
from minispec.lab.viz.plots.claims import Chart, Curve
from minispec.theory import alpha_for_speedup, tau

ALPHAS = (0.1, 0.3, 0.5, 0.65, 0.8)
COSTS = ((0.02, 1.0), (0.05, 1.0), (0.1, 1.0), (0.25, 1.0), (0.1, 1.5), (0.2, 1.5))
"""(c, v): what a draft token costs, and a verifying pass, in plain steps."""
GAMMA, CLAIMED = 5, (0.55, 0.60)
ENDS = (0.5, 0.65)
"""What is read of the engine: the claimed range, and 0.05 to either side."""

ABOUT = About(
    title="The threshold is an acceptance of 0.55 to 0.60",
    claim="Below an acceptance rate of about 0.55 to 0.60 the cost of verification eats the gain; below 0.5 it "
    "is better not to speculate at all.",
    sources=("pan-practice",),
    kind="counted",
    instrument="The engine with synthetic drafts of stated acceptance, whatever the target; steps are counted and "
    "charged with several costs, so that the crossing is found rather than assumed.",
    literature="Leviathan et al. 2023, corollary 3.9: with free verification some draft length gains if α > c; no "
    "threshold of α alone. Their table 2 has 2.3x at α = 0.53 and 1.4x at α = 0.71, with a draft of 77M and one of "
    "800M.",
    thresholds={"claimed": CLAIMED, "ends": ENDS, "gamma": GAMMA, "costs": COSTS},
)


def measure(setting: Setting) -> Figures:
    """Decode with synthetic drafts of every alpha; charge each run with every cost; find where it breaks even."""
    texts = {a: synthetic(a, GAMMA, setting.scale) for a in ALPHAS}
    found = []
    for c, v in COSTS:
        speedups = [estimate_speedup(texts[a], c, flat(v), of=len(ENDS) * len(COSTS)) for a in ALPHAS]
        found.append(
            {
                "c": c,
                "v": v,
                "speedups": speedups,
                "ends": [speedups[ALPHAS.index(a)] for a in ENDS],
                "formula": alpha_for_speedup(1.0, GAMMA, c, v),
                "measured": _crossing([speedup.value for speedup in speedups]),
                "for_1.5x": alpha_for_speedup(1.5, GAMMA, c, v),
            }
        )
    return {"alphas": ALPHAS, "costs": found}


def _crossing(speedups: Sequence[float]) -> float | None:
    """Return where a line through the measured points passes 1; None if they never do."""
    for (a, low), (b, high) in pairwise(zip(ALPHAS, speedups, strict=True)):
        if low < 1.0 <= high:
            return a + (b - a) * (1.0 - low) / (high - low)
    return ALPHAS[0] if speedups[0] >= 1.0 else None


def _breaks_even(ends: Sequence[Sequence[float]]) -> bool | None:
    """Whether the speedup passes 1 between the ends; None if their intervals do not say."""
    answers = (below(ends[0], 1.0), above(ends[1], 1.0))
    return False if False in answers else None if None in answers else True


def conclude(figures: Figures) -> Conclusion:
    """Each pair of costs says whether it breaks even within 0.05 of the claimed range; the tally is the verdict."""
    inside = [_breaks_even(f["ends"]) for f in figures["costs"]]

    def show(value: float | None) -> str:
        return "never" if value is None else f"{value:.2f}"

    rows = [
        (f["c"], f["v"], show(f["formula"]), show(f["measured"]), *f["ends"],
         show(f["for_1.5x"]))
        for f in figures["costs"]
    ]  # fmt: skip
    # the v at which the ends of the claimed range break even: tau(alpha) = gamma c + v
    needed = [tau(a, GAMMA) - GAMMA * 0.1 for a in CLAIMED]
    formulas = [f["formula"] for f in figures["costs"] if f["formula"] is not None]
    return Conclusion(
        f"η = τ / (γc + v) passes 1 where τ(α) = γc + v. At γ = 5 that is between α = {min(formulas):.2f} and "
        f"{max(formulas):.2f} for the costs below. With γ free and v = 1 the condition is α > c, nothing else.",
        "The engine with synthetic drafts, charged with these costs:"
        + table(
            (
                "c",
                "v(6)",
                "break-even α, formula",
                "measured",
                *(f"speedup at α = {a}" for a in ENDS),
                "α for 1.5x, formula",
            ),
            rows,
        ),
        Finding(
            tally(inside),
            "Break-even is where acceptance pays for the draft and the wider pass, so it moves with c and v. 0.55 "
            f"to 0.60 is right for c ≈ 0.25 with free verification, for c = 0.1 where verification costs "
            f"{needed[0]:.2f} to {needed[1]:.2f}, or as the point from which a gain of about 1.5x is worth the "
            "trouble.",
        ),
        judged=[end for f in figures["costs"] for end in f["ends"]],
    )


def chart(figures: Figures) -> Chart:
    """Draw the speedup over alpha for each pair of costs."""
    return Chart(
        "Where speculation breaks even, γ = 5",
        "α",
        "speedup, charged",
        tuple(
            Curve(f"c = {f['c']}, v = {f['v']}", figures["alphas"], [value for value, _, _ in f["speedups"]])
            for f in figures["costs"]
        ),
        lines=(("plain decoding", 1.0),),
    )
