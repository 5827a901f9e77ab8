"""An experiment in two pictures: how much faster, and how acceptance falls along a draft."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from minispec.lab.measure.report import label
from minispec.lab.measure.summary import Summary
from minispec.lab.viz.plots import style
from minispec.theory.intervals import Figure as Interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@style.apply
def sweep_figure(summaries: Sequence[Summary], remark: str) -> Figure:
    """Draw speedups (tokens per target forward where no time was measured) and acceptance by position.

    Parameters
    ----------
    summaries : sequence of Summary
        Of every way to decode; plain ones and single domains are left out.
    remark : str
        What was held alike, and on what machine.
    """
    drafting = [s for s in summaries if not s.variant.plain and not s.domain]
    timed = any(s.num_timings for s in drafting)
    figure, (left, right) = style.new_grid(1, 2, width=10.0, height=max(3.6, 1.8 + 0.34 * len(drafting)))
    for row, summary in enumerate(drafting):
        found = summary.speedup if timed else summary.mean_acceptance_length
        colour = style.SERIES[row % len(style.SERIES)]
        left.errorbar([found.value or 0.0], [row], xerr=_arms(found), fmt="o", color=colour, capsize=3)
        # side by side, so that intervals of several ways do not cover each other
        shift = 0.08 * (row - (len(drafting) - 1) / 2)
        places = [(i + shift, a) for i, a in enumerate(summary.acceptance_by_position, 1) if a.value is not None]
        values = [a.value or 0.0 for _, a in places]
        arms = [_arms(a) or [[0.0], [0.0]] for _, a in places]
        spread = [[arm[end][0] for arm in arms] for end in (0, 1)]
        right.errorbar([x for x, _ in places], values, yerr=spread, fmt="o-", color=colour, capsize=3, elinewidth=1)
    left.axvline(1.0, color=style.COLOURS["grey"], linestyle="--", linewidth=1)
    left.set_yticks(range(len(drafting)), [_name(summary) for summary in drafting])
    left.set_ylim(len(drafting) - 0.5, -0.5)
    left.set_title("Speedup over plain decoding" if timed else "Tokens per target forward")
    left.set_xlabel("plain seconds / speculative seconds" if timed else "τ (plain decoding has 1)")
    right.set_ylim(0.0, 1.03)
    style.whole_ticks(right.xaxis)
    right.set_title("Acceptance along the draft")
    right.set_xlabel("place in the draft")
    right.set_ylabel("accepted / judged")
    style.note(left, remark)
    return figure


def _arms(found: Interval) -> list[list[float]] | None:
    if found.value is None or found.low is None or found.high is None:
        return None
    return [[max(0.0, found.value - found.low)], [max(0.0, found.high - found.value)]]


def _name(summary: Summary) -> str:
    variant = summary.variant
    return f"{label(variant)}, γ {variant.gamma}, T {variant.temperature:g}, {variant.verify}"
