"""A plan as a picture: speedup over the length of drafts, with what alpha's interval leaves open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minispec.lab.plan import Plan
from minispec.lab.viz.plots import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@style.apply
def plan_figure(plan: Plan) -> Figure:
    """Draw the expected speedup and tau over gamma, the best length and the break-even line."""
    figure, axes = style.new_figure()
    gammas = [length.gamma for length in plan.lengths]
    taus = [length.tau for length in plan.lengths]
    axes.plot(gammas, taus, "--", color=style.COLOURS["orange"], label="τ, tokens per step")
    axes.plot(gammas, _ends(plan, "value"), "o-", color=style.COLOURS["blue"], label="speedup")
    if plan.alpha.low is not None:
        low, high = _ends(plan, "low"), _ends(plan, "high")
        axes.fill_between(gammas, low, high, color=style.COLOURS["blue"], alpha=0.15, label="α's 95 % interval")
    axes.axhline(1.0, color=style.COLOURS["grey"], linestyle=":", linewidth=1)
    best = plan.best
    axes.plot([best.gamma], [best.speedup], "o", markersize=12, fillstyle="none", color=style.COLOURS["red"])
    axes.set_xlabel("γ, drafted tokens per step")
    axes.set_ylabel("times plain decoding")
    axes.set_ylim(bottom=0.0)
    style.whole_ticks(axes.xaxis)
    axes.set_title(f"α = {plan.alpha.value:.3f}, c = {plan.cost_ratio:.3g}: best γ {best.gamma}, {best.speedup:.2f}x")
    axes.legend()
    return figure


def _ends(plan: Plan, end: str) -> list[float]:
    """Return one end of each length's speedup; plain decoding's is 1 for certain."""
    return [float(getattr(length.speedup, end) or 1.0) for length in plan.lengths]
