"""Figures of runs: where their time goes, what their caches hold, who looks at whom, and who waits for whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from minispec.engine.colours import GRID, PAPER
from minispec.engine.records import Step
from minispec.lab.viz.plots import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@style.apply
def timeline_figure(plain: Sequence[Step], speculative: Sequence[Step]) -> Figure:
    """Draw two runs as bars along the time, from their first tokens on; the numbers are tokens emitted so far.

    Parameters
    ----------
    plain, speculative : sequence of Step
        The first token's first, which has no bar, as the prefill gives that token. Of the others ``draft_s``,
        ``target_s`` and ``step_s`` are drawn, nothing else.
    """
    figure, (above, below) = style.new_grid(2, 1, 7.6, 3.4)
    end = 1e3 * max(sum(step.step_s for step in run[1:]) for run in (plain, speculative))
    for axes, run, title in ((above, plain, "plain decoding"), (below, speculative, "speculative decoding")):
        _lane(axes, run[1:], total=1)
        axes.set(xlim=(0, end * 1.02), title=title, yticks=[])
        axes.grid(axis="y", visible=False)
    below.set_xlabel("milliseconds")
    handles, names = below.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=3)
    return figure


def _lane(axes: Axes, run: Sequence[Step], total: int) -> None:
    drafts, targets, rests, starts = [], [], [], []
    now = 0.0
    for step in run:
        starts.append(now)
        drafts.append(1e3 * step.draft_s)
        targets.append(1e3 * step.target_s)
        rests.append(1e3 * max(0.0, step.step_s - step.draft_s - step.target_s))
        now += drafts[-1] + targets[-1] + rests[-1]
    after_draft = [start + draft for start, draft in zip(starts, drafts, strict=True)]
    after_target = [start + target for start, target in zip(after_draft, targets, strict=True)]
    places = [0] * len(run)
    colours = style.COLOURS
    axes.barh(places, drafts, left=starts, color=colours["orange"], label="draft")
    axes.barh(places, targets, left=after_draft, color=colours["blue"], label="target", edgecolor=PAPER)
    axes.barh(places, rests, left=after_target, color=colours["grey"], label="the rest")
    for i, step in enumerate(run):
        total += len(step.tokens)
        if len(run) <= 24 or i % (len(run) // 12) == 0:
            axes.text(after_draft[i] + targets[i] / 2, 0, str(total), ha="center", va="center", fontsize=7, color=PAPER)


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


State = Literal["waits", "prompt", "decodes"]
"""What a request does during a step: it has no place, it has its prompt fed, or it gets tokens."""

_COLOURS: dict[State, str] = {"waits": GRID, "prompt": "orange", "decodes": "blue"}


class Bar(NamedTuple):
    """What a request did from ``start_s`` to ``end_s``."""

    request: str
    start_s: float
    end_s: float
    state: State


@style.apply
def ragged_figure(texts: Mapping[str, Sequence[Step]], num_steps: int) -> Figure:
    """Draw the first steps of a batch: a column is one forward of the target, and a cell is one of its rows.

    They begin behind the first tokens, which the prompts' forwards give.

    Parameters
    ----------
    texts : mapping of a name to a sequence of Step
        The first token's first. Chains; trees have no order that a row of cells could show.
    num_steps : int
    """
    figure, axes = style.new_figure(8.4, 0.9 + 0.5 * len(texts))
    lanes = [steps[1 : 1 + num_steps] for steps in texts.values()]
    width = 2 + max((len(step.draft_tokens) for steps in lanes for step in steps), default=0)
    seen: set[str] = set()
    for lane, steps in enumerate(lanes):
        for column, step in enumerate(steps):
            accepted, drafted = step.verdict.num_accepted, len(step.draft_tokens)
            kinds = ["accepted"] * accepted + ["the target's own"] + ["rejected: for nothing"] * (drafted - accepted)
            for i, kind in enumerate(kinds):
                _cell(axes, column * width + i, lane, kind, label="" if kind in seen else kind)
                seen.add(kind)
    axes.set(xlim=(-0.5, num_steps * width - 0.5), ylim=(len(texts), 0), xlabel="step of the batch")
    axes.set_yticks([lane + 0.5 for lane in range(len(texts))], list(texts))
    ticks = [(column + 0.5) * width - 1 for column in range(num_steps)]
    axes.set_xticks(ticks, [str(1 + column) for column in range(num_steps)])
    axes.grid(visible=False)
    _legend_below(figure, axes)
    return figure


def _cell(axes: Axes, left: float, lane: int, kind: str, label: str) -> None:
    colours = {"accepted": "blue", "the target's own": "red"}
    face = style.COLOURS[colours[kind]] if kind in colours else "none"
    axes.broken_barh(
        [(left, 0.9)], (lane + 0.15, 0.7), facecolors=face, edgecolors=style.COLOURS["grey"], linewidth=0.8, label=label
    )


@style.apply
def gantt_figure(panels: Mapping[str, Sequence[Bar]]) -> Figure:
    """Draw what each request does over the time, one panel for each way to serve them, all on one scale.

    Parameters
    ----------
    panels : mapping of a title to a sequence of Bar
        The requests of each in the order of their first bars.
    """
    lanes = [list(dict.fromkeys(bar.request for bar in bars)) for bars in panels.values()]
    height = sum(0.9 + 0.28 * len(requests) for requests in lanes)
    figure, all_axes = style.new_grid(len(panels), 1, 8.4, height)
    end = 1e3 * max(bar.end_s for bars in panels.values() for bar in bars)
    for axes, (title, bars), requests in zip(all_axes, panels.items(), lanes, strict=True):
        for state, colour in _COLOURS.items():
            for i, bar in enumerate([bar for bar in bars if bar.state == state]):
                axes.broken_barh(
                    [(1e3 * bar.start_s, 1e3 * (bar.end_s - bar.start_s))],
                    (requests.index(bar.request) + 0.12, 0.76),
                    facecolors=style.COLOURS.get(colour, colour),
                    edgecolors=PAPER,
                    linewidth=0.4,
                    label="" if i else state,
                )
        axes.set(xlim=(0, end * 1.02), ylim=(len(requests), 0), title=title)
        axes.set_yticks([lane + 0.5 for lane in range(len(requests))], requests)
        axes.grid(axis="y", visible=False)
    all_axes[-1].set_xlabel("milliseconds")
    _legend_below(figure, all_axes[0])
    return figure


@style.apply
def pages_figure(tables: Mapping[str, tuple[Sequence[int], int]], page_size: int) -> Figure:
    """Draw the pages of a pool: whose they are, and how far they are filled. A page of two colours is shared.

    Parameters
    ----------
    tables : mapping of a name to (pages, length)
        Of each text, its pages in its own order, and its filled slots.
    page_size : int
        Slots per page.
    """
    num_pages = 1 + max(page for pages, _ in tables.values() for page in pages)
    across = 6
    figure, axes = style.new_figure(8.4, 0.8 + 0.42 * -(-num_pages // across))
    holders = {page: [name for name in tables if page in tables[name][0]] for page in range(num_pages)}
    for page in range(num_pages):
        left, top = (page % across) * (page_size + 3), page // across
        axes.broken_barh([(left, page_size)], (top + 0.1, 0.8), facecolors="none", edgecolors=style.COLOURS["grey"])
        axes.text(left - 0.3, top + 0.5, str(page), ha="right", va="center", fontsize=7, color=style.COLOURS["grey"])
        for i, name in enumerate(holders[page]):
            pages, length = tables[name]
            filled = min(page_size, length - page_size * list(pages).index(page))
            part = 0.8 / len(holders[page])
            colour = style.SERIES[list(tables).index(name) % len(style.SERIES)]
            axes.broken_barh([(left, filled)], (top + 0.1 + i * part, part), facecolors=colour)
    for i, name in enumerate(tables):
        axes.broken_barh([(0, 0)], (0, 0), facecolors=style.SERIES[i % len(style.SERIES)], label=name)
    axes.set(xlim=(-3, across * (page_size + 3)), ylim=(-(-num_pages // across), 0), xticks=[], yticks=[])
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    _legend_below(figure, axes)
    return figure


def _legend_below(figure: Figure, axes: Axes) -> None:
    handles, names = axes.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=4)
