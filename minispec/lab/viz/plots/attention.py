"""Who looks at whom."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from minispec.lab.viz.plots import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@style.apply
def attention_figure(weights: NDArray[np.floating], labels: Sequence[str]) -> Figure:
    """Draw attention weights as a grid: a row looks at its columns.

    Parameters
    ----------
    weights : ndarray of shape (T, T)
        Each row sums to 1; what a row cannot see is 0.
    labels : sequence of str, length T
        The tokens.
    """
    figure, axes = style.new_figure(5.2, 4.6)
    hidden = np.triu(np.ones(weights.shape, bool), k=1)
    shown = axes.imshow(np.where(hidden, np.nan, weights), cmap="Blues", vmin=0.0, vmax=1.0)
    places = np.arange(len(labels))
    axes.set_xticks(places, labels, rotation=60, ha="right")
    axes.set_yticks(places, labels)
    axes.set(xlabel="looked at", ylabel="token")
    axes.grid(visible=False)
    figure.colorbar(shown, ax=axes, label="weight", shrink=0.8)
    return figure
