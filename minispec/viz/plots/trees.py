"""A tree of drafts: what was tried at each place, and the path that was kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from minispec.viz.plots import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@style.apply
def tree_figure(root: str, texts: Sequence[str], parents: Sequence[int], path: Sequence[int] = ()) -> Figure:
    """Draw a tree of candidates from left to right, the path that the target kept in blue.

    Parameters
    ----------
    root : str
        The end of the committed text.
    texts : sequence of str, length N
        The candidates.
    parents : sequence of int, length N
        The candidate that each follows, -1 for the root; a parent comes before its children.
    path : sequence of int
        The accepted candidates.
    """
    levels, lanes = _lay_out(parents)
    figure, axes = style.new_figure(7.2, 0.6 + 0.36 * (1 + max(lanes)))
    for i, parent in enumerate([-1, *parents]):
        kept = i == 0 or i - 1 in path
        if i > 0:
            axes.plot(
                [levels[parent + 1], levels[i]],
                [lanes[parent + 1], lanes[i]],
                color=style.COLOURS["blue" if kept else "grey"],
                linewidth=2.4 if kept else 0.8,
                zorder=2 if kept else 1,
            )
        face = style.COLOURS["blue"] if kept else "white"
        box = {"boxstyle": "round,pad=0.35", "facecolor": face, "edgecolor": style.COLOURS["grey"], "linewidth": 0.8}
        axes.text(
            levels[i], lanes[i], root if i == 0 else texts[i - 1],
            ha="center", va="center", fontsize=9, bbox=box, zorder=3, parse_math=False,
            color=style.on(face) if kept else style.COLOURS["ink"],
        )  # fmt: skip
    axes.set(xlim=(-0.5, max(levels) + 0.5), ylim=(max(lanes) + 0.5, -0.5), xlabel="place behind the committed text")
    axes.set_xticks(range(1, max(levels) + 1))
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.grid(visible=False)
    return figure


def _lay_out(parents: Sequence[int]) -> tuple[list[int], list[float]]:
    """Return the level and the lane of the root and of each candidate: leaves one below the other, parents between."""
    children: list[list[int]] = [[] for _ in range(len(parents) + 1)]
    levels = [0]
    for i, parent in enumerate(parents):
        children[parent + 1].append(i + 1)
        levels.append(levels[parent + 1] + 1)
    lanes, free = [0.0] * len(children), 0
    stack = [0]
    order = []
    while stack:
        order.append(stack.pop())
        stack += reversed(children[order[-1]])
    for node in order:
        if not children[node]:
            lanes[node], free = float(free), free + 1
    for node in reversed(order):
        if children[node]:
            lanes[node] = (lanes[children[node][0]] + lanes[children[node][-1]]) / 2
    return levels, lanes
