"""Curves over one quantity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from minispec.lab.viz.plots import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
