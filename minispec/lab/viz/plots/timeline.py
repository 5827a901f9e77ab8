"""Where the time of a run goes: drafting and verifying, step after step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from minispec.engine.colours import PAPER
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
