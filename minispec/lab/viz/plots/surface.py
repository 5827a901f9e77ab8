"""A quantity over two others, as a coloured map with labelled levels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from minispec.engine.colours import PAPER
from minispec.lab.viz.plots import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
