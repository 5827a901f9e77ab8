"""The slots of a KV cache, one line per moment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from minispec.engine.colours import GRID
from minispec.lab.viz.plots import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@style.apply
def slots_figure(moments: Sequence[tuple[str, Sequence[str], int]]) -> Figure:
    """Draw what a cache holds after each of several operations.

    Parameters
    ----------
    moments : sequence of (label, slots, length)
        What happened; what is written in the slots, the first to the last; how many of them count. What lies beyond
        the length is drawn grey: it is there, and nobody reads it.
    """
    count = max(len(slots) for _, slots, _ in moments)
    figure, axes = style.new_figure(7.2, 0.6 + 0.45 * len(moments))
    for row, (_, slots, length) in enumerate(moments):
        for i in range(count):
            counts, written = i < length, i < len(slots)
            face = style.COLOURS["sky"] if counts else GRID if written else "none"
            axes.broken_barh([(i, 1)], (row, 1), facecolors=face, edgecolors=style.COLOURS["grey"], linewidth=0.8)
            if written:
                colour = style.COLOURS["ink"] if counts else style.COLOURS["grey"]
                axes.text(i + 0.5, row + 0.5, slots[i], ha="center", va="center", fontsize=8, color=colour)
        axes.plot([length, length], [row, row + 1], color=style.COLOURS["red"], linewidth=3)
    axes.set(xlim=(0, count), ylim=(len(moments), 0), xlabel="slot; red: the length")
    axes.set_yticks([row + 0.5 for row in range(len(moments))], [label for label, _, _ in moments])
    axes.set_xticks([i + 0.5 for i in range(count)], [str(i) for i in range(count)])
    axes.grid(visible=False)
    return figure
