"""Figures of measurements: speedup and acceptance of a sweep, and what ``minispec bench`` finds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from minispec.lab.bench.batches import BatchBenchmark
from minispec.lab.bench.costs import Benchmark
from minispec.lab.measure.report import label
from minispec.lab.measure.summary import Summary
from minispec.lab.viz.plots import style
from minispec.lab.viz.plots.roofline import draw_verify_cost
from minispec.theory.intervals import Figure as Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
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
    left.set_title("Speedup over plain decoding" if timed else "Tokens per target pass")
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


@style.apply
def bench_figure(benchmark: Benchmark, title: str, machine: str) -> Figure:
    """Two panels: the verify curve, and the speedup by domain and temperature with its spread."""
    figure, (left, right) = style.new_grid(1, 2, width=10.4, height=4.4)
    draw_verify_cost(left, benchmark.forwards)
    left.set_title(f"Verifying m rows: {title}")
    _draw_speedups(right, benchmark)
    right.set_title("Speculation against plain decoding")
    repeats = (
        f"{benchmark.speculation[0].num_tokens} tokens per prompt; bars: medians; lines: smallest to largest ratio"
    )
    style.note(left, f"{machine}. {repeats}.")
    return figure


def _draw_speedups(axes: Axes, benchmark: Benchmark) -> None:
    settings = list(dict.fromkeys(run.setting for run in benchmark.speculation))
    domains = list(dict.fromkeys(run.domain for run in benchmark.speculation))
    width = 0.8 / len(settings)
    for number, setting in enumerate(settings):
        runs = [run for run in benchmark.speculation if run.setting == setting]
        places = [domains.index(run.domain) + (number - (len(settings) - 1) / 2) * width for run in runs]
        colour = style.SERIES[number]
        label = f"T = {setting.temperature:g}" + ("" if setting.top_p == 1.0 else f", top-p {setting.top_p:g}")
        axes.bar(places, [run.speedup for run in runs], width * 0.92, color=colour, label=label)
        low = [run.speedup - run.spread[0] for run in runs]
        high = [run.spread[1] - run.speedup for run in runs]
        axes.errorbar(
            places, [run.speedup for run in runs], [low, high], fmt="none", ecolor=style.COLOURS["ink"], elinewidth=1
        )
        for place, run in zip(places, runs, strict=True):
            axes.annotate(
                f"γ = {run.gamma}",
                (place, 0.05),
                rotation=90,
                ha="center",
                va="bottom",
                fontsize=8,
                color=style.on(colour),
            )
            axes.annotate(
                f"{run.speedup:.2f}×",
                (place, run.spread[1]),
                xytext=(0, 3),
                textcoords="offset points",
                ha="center",
                fontsize=8.5,
            )
    axes.axhline(1.0, color=style.COLOURS["grey"], linestyle=":", linewidth=1.2)
    axes.set_xticks(range(len(domains)), domains)
    axes.grid(visible=False, axis="x")
    axes.set_ylim(0, 1.3 * max(run.spread[1] for run in benchmark.speculation))
    axes.set_ylabel("speedup, times plain decoding")
    axes.legend(loc="upper right", ncols=len(settings))


@style.apply
def batches_figure(found: BatchBenchmark, title: str, machine: str) -> Figure:
    """Two panels over the batch: goodput plain and speculative, and the speedup, measured and predicted."""
    figure, (left, right) = style.new_grid(1, 2, width=10.4, height=4.4)
    batches = found.batches
    left.plot(batches, [each.plain for each in found.goodput], "o-", color=style.COLOURS["blue"], label="plain")
    left.plot(
        batches, [each.speculative for each in found.goodput], "o-", color=style.COLOURS["orange"], label="speculative"
    )
    for each in found.goodput:
        left.annotate(
            f"γ = {each.gamma}",
            (each.batch, each.speculative),
            xytext=(0, 6),
            textcoords="offset points",
            ha="center",
            fontsize=8,
        )
    speedups = [each.speedup for each in found.goodput]
    low = [each.speedup - each.spread[0] for each in found.goodput]
    high = [each.spread[1] - each.speedup for each in found.goodput]
    right.errorbar(batches, speedups, [low, high], fmt="o-", color=style.COLOURS["orange"], label="measured")
    for name, values, colour in (
        ("from measured forwards and overhead", [each.from_costs for each in found.forecasts], "green"),
        ("from the roofline", [each.from_roofline for each in found.forecasts], "grey"),
    ):
        right.plot(batches, values, "--", color=style.COLOURS[colour], label=name)
    right.axhline(1.0, color=style.COLOURS["grey"], linestyle=":", linewidth=1.2)
    break_even = found.break_even["measured"]
    late = break_even.batch**2 > batches[0] * batches[-1]  # in the right half, where a label has room to the left
    for axes in (left, right):
        if break_even.side == "inside":
            axes.axvline(break_even.batch, color=style.COLOURS["red"], linestyle=":", linewidth=1.4)
            axes.annotate(
                f"break-even: {break_even}",
                (break_even.batch, 0.03),
                xycoords=("data", "axes fraction"),
                xytext=(-4 if late else 4, 0),
                textcoords="offset points",
                ha="right" if late else "left",
                fontsize=8.5,
                color=style.COLOURS["red"],
            )
        axes.set_xscale("log", base=2)
        axes.set_xticks(batches, [str(batch) for batch in batches])
        axes.set_xlim(batches[0] / 1.3, batches[-1] * 1.3)
        axes.set_xlabel("batch, texts decoded together")
    left.set_ylim(0, 1.15 * max(max(each.plain, each.speculative) for each in found.goodput))
    right.set_ylim(bottom=0)
    left.set_ylabel("tokens per second, all texts")
    right.set_ylabel("speedup, times plain decoding")
    left.set_title(f"Goodput: {title}")
    right.set_title("Speedup of speculation over the batch")
    left.legend(loc="upper left")
    right.legend(loc="lower left")
    side = "" if break_even.side == "inside" else f" Break-even: {break_even}."
    style.note(left, f"{machine}. Medians; lines: smallest to largest ratio; γ: the best of those searched.{side}")
    return figure
