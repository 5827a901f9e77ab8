"""Probabilities side by side: the target's, the draft's, and what rejection sampling makes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

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
