"""Plots of the roofline: where forwards stand under the two ceilings, v(m), and speedup over batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from minispec.lab.roofline.forwards import Measured
from minispec.lab.roofline.machine import Machine
from minispec.lab.roofline.predict import BatchPoint
from minispec.lab.viz.plots import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_GIGA, _TERA = 1e9, 1e12


@style.apply
def measured_figure(machine: Machine, measured: Sequence[Measured], title: str) -> Figure:
    """Two panels: measured forwards under the roof, and v(m) measured, predicted and at the floor."""
    figure, (left, right) = style.new_grid(1, 2, width=10.4, height=4.4)
    first = measured[0].floor
    points = {f"{m.rows}": (m.floor.intensity, m.floor.whole.flops / m.seconds) for m in measured}
    draw_roof(left, {_rate(first.bandwidth_bytes_per_s): first.bandwidth_bytes_per_s}, first.peak_flops_per_s, points)
    left.set_title(f"Forwards of {title} under the roof")
    draw_verify_cost(right, measured)
    right.set_title("What verifying m rows costs")
    low = measured[0]
    style.note(
        left,
        f"{machine.name}. Numbers are rows per pass; {low.floor.context} cached tokens; "
        f"{low.floor.footprint_bytes / 1e6:.0f} MB read per pass.",
    )
    return figure


def draw_roof(
    axes: Axes, bandwidths: Mapping[str, float], peak: float, points: Mapping[str, tuple[float, float]]
) -> None:
    """Draw both ceilings, the ridge, and labelled points of (operations per byte, operations per second)."""
    slowest = min(bandwidths.values())
    ridge = peak / slowest
    least = min([intensity for intensity, _ in points.values()] + [ridge / 8]) / 2
    most = max([intensity for intensity, _ in points.values()] + [ridge * 4]) * 2
    x = np.geomspace(least, most, 200)
    scale, unit = (_TERA, "TFLOP/s") if peak >= 10 * _TERA else (_GIGA, "GFLOP/s")
    axes.set_xscale("log")
    axes.set_yscale("log")
    for number, (name, bandwidth) in enumerate(bandwidths.items()):
        axes.plot(x, np.minimum(peak, x * bandwidth) / scale, color=style.COLOURS["ink"], alpha=1 - 0.4 * number)
        middle = (least * ridge) ** 0.5
        axes.annotate(
            f"reading at {name}",
            (middle, middle * bandwidth / scale),
            xytext=(-8, 4),
            textcoords="offset points",
            ha="right",
            fontsize=8.5,
        )
    axes.annotate(
        f"arithmetic at {peak / scale:,.0f} {unit}",
        (most, peak / scale),
        xytext=(-2, 5),
        textcoords="offset points",
        ha="right",
        fontsize=8.5,
    )
    axes.axvline(ridge, color=style.COLOURS["grey"], linestyle=":", linewidth=1.2)
    axes.annotate(
        f"ridge: {ridge:.3g}",
        (ridge, 0.02),
        xycoords=("data", "axes fraction"),
        xytext=(4, 0),
        textcoords="offset points",
        fontsize=8.5,
        color=style.COLOURS["grey"],
    )
    intensities, rates = zip(*points.values(), strict=True)
    axes.plot(
        intensities, np.array(rates) / scale, "o-", color=style.COLOURS["blue"], linewidth=1, markersize=7, zorder=3
    )
    for name, (intensity, rate) in points.items():
        axes.annotate(
            name,
            (intensity, rate / scale),
            xytext=(4, -13),
            textcoords="offset points",
            fontsize=8,
            color=style.COLOURS["blue"],
        )
    style.plain_ticks(axes.xaxis)
    style.plain_ticks(axes.yaxis)
    axes.set_xlabel("operations per byte read")
    axes.set_ylabel(unit)


def draw_verify_cost(axes: Axes, measured: Sequence[Measured]) -> None:
    """Draw v(m): measured with its spread, predicted from the kernels, and at the machine's floor."""
    rows = [m.rows for m in measured]
    one = measured[0]
    axes.plot(rows, rows, color=style.COLOURS["grey"], linestyle=":", linewidth=1.2)
    curves = (
        ("machine's floor", [m.floor.seconds / one.floor.seconds for m in measured], "green", "--"),
        ("predicted", [m.prediction.seconds / one.prediction.seconds for m in measured], "orange", "-"),
        ("measured", [m.verify_cost for m in measured], "blue", "-"),
    )
    for name, values, colour, line in curves:
        marker = "o" if name == "measured" else ""
        axes.plot(rows, values, color=style.COLOURS[colour], linestyle=line, marker=marker, label=name)
    top = max(3.0, 1.15 * max(m.verify_cost for m in measured))
    axes.set_ylim(0, top)
    axes.annotate(
        "v(m) = m: nothing gained",
        (0.87 * top, 0.87 * top),
        xytext=(6, -3),
        textcoords="offset points",
        fontsize=8.5,
        color=style.COLOURS["grey"],
    )
    axes.set_xticks(rows)
    axes.set_xlabel("m, rows of one forward")
    axes.set_ylabel("v(m), time of m rows / of one")
    axes.legend(loc="lower right")


@style.apply
def batch_figure(machine: Machine, points: Sequence[BatchPoint], title: str, assumed: str) -> Figure:
    """Two panels: tokens per second over batch, and speedup (or v) over batch."""
    figure, (left, right) = style.new_grid(1, 2, width=10.4, height=4.4)
    batches = [point.batch for point in points]
    fitting = [point for point in points if point.fits is not False]
    left.plot(batches, [point.tokens_per_s for point in points], "o-", color=style.COLOURS["blue"], label="plain")
    if points[0].speedup is not None:
        faster = [point.tokens_per_s * (point.speedup or 0.0) for point in points]
        left.plot(batches, faster, "o-", color=style.COLOURS["orange"], label="speculative")
        right.plot(batches, [point.speedup or 0.0 for point in points], "o-", color=style.COLOURS["orange"])
        right.axhline(1.0, color=style.COLOURS["grey"], linestyle=":", linewidth=1.2)
        right.set_ylabel("speedup over plain decoding")
        right.set_title("Speedup of speculation over batch")
        left.legend(loc="upper left")
    else:
        right.plot(batches, [point.verify_cost for point in points], "o-", color=style.COLOURS["green"])
        right.set_ylabel("v, verifying / one row")
        right.set_title("Cost of verification over batch")
    if len(fitting) < len(points):
        edge = fitting[-1].batch if fitting else batches[0] / 1.3
        for axes in (left, right):
            axes.axvspan(edge * 1.02, batches[-1] * 1.3, color=style.COLOURS["red"], alpha=0.08, linewidth=0)
            axes.annotate(
                "does not fit", (batches[-1] * 1.2, 0.03), xycoords=("data", "axes fraction"), ha="right", fontsize=8.5
            )
    for axes in (left, right):
        axes.set_xscale("log", base=2)
        axes.set_xticks(batches, [str(batch) for batch in batches])
        axes.set_xlim(batches[0] / 1.3, batches[-1] * 1.3)
        axes.set_xlabel("batch, sequences decoded together")
        axes.set_ylim(bottom=0)
    left.set_ylabel("tokens per second, all sequences")
    left.set_title(title)
    style.note(left, f"Ceilings of {machine.name}: {machine.source}. {assumed} No program reaches both ceilings.")
    return figure


def _rate(bytes_per_s: float) -> str:
    return f"{bytes_per_s / _TERA:.2g} TB/s" if bytes_per_s >= _TERA else f"{bytes_per_s / _GIGA:.3g} GB/s"
