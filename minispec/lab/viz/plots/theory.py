"""Figures of the theory: laws side by side, curves, maps of a quantity over two others, and a plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from minispec.engine.colours import PAPER
from minispec.lab.explain.plan import Plan
from minispec.lab.viz.plots import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@style.apply
def overlap_figure(
    target_probs: NDArray[np.float64], draft_probs: NDArray[np.float64], labels: Sequence[str] | None = None
) -> Figure:
    """Draw p and q over each other: what both have is accepted, what p has more is the residual.

    Parameters
    ----------
    target_probs, draft_probs : ndarray of shape (V,)
    labels : sequence of str, optional
        The tokens.
    """
    figure, axes = style.new_figure(7.2, 3.6)
    shared = np.minimum(target_probs, draft_probs)
    places = np.arange(len(shared))
    axes.bar(places, shared, color=style.COLOURS["sky"], label="min(p, q): accepted")
    axes.bar(
        places,
        target_probs - shared,
        bottom=shared,
        color=style.COLOURS["orange"],
        label="p − q: the residual",
    )
    axes.bar(
        places,
        draft_probs - shared,
        bottom=shared,
        color="none",
        edgecolor=style.COLOURS["purple"],
        hatch="///",
        linewidth=0.8,
        label="q − p: rejected",
    )
    axes.set_xticks(places, labels or [str(i) for i in places])
    axes.set(ylabel="probability", title=f"accepted: Σ min(p, q) = {shared.sum():.2f}")
    figure.legend(loc="outside lower center", ncols=3)
    axes.grid(axis="x", visible=False)
    return figure


Branches = Mapping[str, tuple[float, "Branches"]]
"""The answers to a question: each has its probability, and the answers to the question that comes after it."""


@style.apply
def branches_figure(tree: Branches) -> Figure:
    """Draw every branch of a random program from left to right, with the probability of each end.

    Parameters
    ----------
    tree : mapping of an answer to its probability and the branches after it
        Answers of probability 0 are left out.
    """
    figure, axes = style.new_figure(8.0, 3.4)
    ends = iter(range(10_000))

    def draw(branches: Branches, depth: int, prob: float) -> float:
        heights = []
        for answer, (share, after) in branches.items():
            if share <= 0:
                continue
            if after:
                height = draw(after, depth + 1, prob * share)
            else:
                height = float(next(ends))
                axes.text(depth + 1.06, height, f"{prob * share:.2f}", va="center", weight="bold")
            heights.append((height, f"{answer}  {share:.2f}"))
        middle = sum(height for height, _ in heights) / len(heights)
        for height, label in heights:
            axes.plot([depth, depth + 0.25, depth + 1], [middle, height, height], color=style.COLOURS["blue"], lw=1.2)
            axes.text(depth + 0.3, height - 0.08, label, va="bottom", fontsize=9)
        return middle

    draw(tree, 0, 1.0)
    axes.invert_yaxis()
    axes.set_title("the probability of each end is the product along its branch")
    axes.set_axis_off()
    return figure


@style.apply
def laws_figure(
    laws: Mapping[str, NDArray[np.float64]], labels: Sequence[str] | None = None, y_label: str = "probability"
) -> Figure:
    """Draw several laws, or other figures, over the same tokens or cases as groups of bars.

    Parameters
    ----------
    laws : mapping of a name to an ndarray of shape (V,)
    labels : sequence of str, optional
        The tokens.
    y_label : str
    """
    figure, axes = style.new_figure(7.2, 3.4)
    width = 0.8 / len(laws)
    places = np.arange(len(next(iter(laws.values()))))
    for i, (name, law) in enumerate(laws.items()):
        axes.bar(places + (i - (len(laws) - 1) / 2) * width, law, width, label=name, color=style.SERIES[i % 6])
    axes.set_xticks(places, labels or [str(i) for i in places])
    axes.set(ylabel=y_label)
    figure.legend(loc="outside upper center", ncols=len(laws))  # over the bars it would hide some
    axes.grid(axis="x", visible=False)
    return figure


@style.apply
def curves_figure(
    x: Sequence[float],
    curves: Mapping[str, Sequence[float]],
    x_label: str,
    y_label: str,
    *,
    level: float | None = None,
    best: bool = False,
) -> Figure:
    """Draw several curves over the same values.

    Parameters
    ----------
    x : sequence of float
    curves : mapping of a name to a sequence of float
    x_label, y_label : str
    level : float, optional
        A dashed line at this height, where it pays or does not.
    best : bool
        Mark the highest point of each curve.
    """
    figure, axes = style.new_figure(7.2, 3.8)
    for i, (name, y) in enumerate(curves.items()):
        colour = style.SERIES[i % len(style.SERIES)]
        axes.plot(x, y, marker="o", color=colour, label=name)
        if best:
            at = max(range(len(y)), key=lambda j, y=y: y[j])  # type: ignore[misc]
            axes.plot(x[at], y[at], marker="*", markersize=15, color=colour)
    if level is not None:
        axes.axhline(level, color=style.COLOURS["grey"], linestyle="--", linewidth=1)
    if all(isinstance(value, int) for value in x):
        style.whole_ticks(axes.xaxis)
    axes.set(xlabel=x_label, ylabel=y_label)
    axes.legend()
    return figure


@style.apply
def surface_figure(
    x: Sequence[float],
    y: Sequence[float],
    values: NDArray[np.floating],
    labels: tuple[str, str, str],
    *,
    point: tuple[float, float] | None = None,
    even: float = 1.0,
) -> Figure:
    """Draw values over x and y.

    Parameters
    ----------
    x, y : sequence of float
    values : ndarray of shape (len(y), len(x))
    labels : tuple of str
        Of x, of y, of the values.
    point : (float, float), optional
        A star: where one stands.
    even : float
        The level that divides gain from loss; it is drawn bold, and the colours change there.
    """
    from matplotlib.colors import TwoSlopeNorm

    figure, axes = style.new_figure(6.6, 4.4)
    low, high = min(float(values.min()), even - 0.01), max(float(values.max()), even + 0.01)
    mesh = axes.pcolormesh(x, y, values, cmap="RdBu", norm=TwoSlopeNorm(even, low, high), shading="gouraud")
    lines = axes.contour(x, y, values, colors=style.COLOURS["ink"], linewidths=0.7)
    axes.clabel(lines, fontsize=8)
    if low < even < high:
        axes.contour(x, y, values, levels=[even], colors=style.COLOURS["ink"], linewidths=2.2)
    if point is not None:
        axes.plot(*point, marker="*", markersize=16, color=style.COLOURS["orange"], markeredgecolor=PAPER)
    axes.set(xlabel=labels[0], ylabel=labels[1], title=labels[2])
    axes.grid(visible=False)
    figure.colorbar(mesh, ax=axes)
    return figure


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
