"""The plot of a claim: curves or bars, the claimed range as a grey band, reference lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from minispec.viz.plots import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Curve:
    """One series; with ``low`` and ``high`` it has error bars.

    Parameters
    ----------
    label : str
    x, y : sequence of float
        With bars, x is not read: bar i belongs to category i.
    low, high : sequence of float
    look : {"line", "dashed", "points"}
    """

    label: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    look: Literal["line", "dashed", "points"] = "line"


def with_errors(
    label: str,
    x: Sequence[float],
    figures: Sequence[Sequence[float]],
    look: Literal["line", "dashed", "points"] = "line",
) -> Curve:
    """Return a curve of figures that are (value, low, high)."""
    values, lows, highs = ([figure[i] for figure in figures] for i in range(3))
    return Curve(label=label, x=x, y=values, low=lows, high=highs, look=look)


@dataclass(frozen=True, slots=True)
class Chart:
    """What is drawn.

    Parameters
    ----------
    title, x_label, y_label : str
    curves : sequence of Curve
    categories : sequence of str
        Names of the groups of bars; without any, curves are drawn.
    bands : sequence of (str, float, float)
        Claimed ranges of y.
    lines : sequence of (str, float)
        Values of y to compare with.
    log_x : bool
    """

    title: str
    x_label: str
    y_label: str
    curves: Sequence[Curve]
    categories: Sequence[str] = ()
    bands: Sequence[tuple[str, float, float]] = ()
    lines: Sequence[tuple[str, float]] = ()
    log_x: bool = False


@style.apply
def claim_figure(chart: Chart) -> Figure:
    """Draw a chart."""
    figure, axes = style.new_figure(6.4, 3.6)
    for label, low, high in chart.bands:
        axes.axhspan(low, high, color=style.COLOURS["grey"], alpha=0.18, linewidth=0, label=label)
    for label, value in chart.lines:
        axes.axhline(value, color=style.COLOURS["grey"], linewidth=1.2, linestyle=":", label=label)
    (_draw_bars if chart.categories else _draw_curves)(axes, chart)
    if chart.log_x:
        axes.set_xscale("log")
    axes.set(title=chart.title, xlabel=chart.x_label, ylabel=chart.y_label)
    if len(chart.curves) + len(chart.bands) + len(chart.lines) > 1:
        axes.legend()
    return figure


def _errors(curve: Curve) -> list[list[float]] | None:
    if not curve.low:
        return None
    below = [max(0.0, y - low) for y, low in zip(curve.y, curve.low, strict=True)]
    above = [max(0.0, high - y) for y, high in zip(curve.y, curve.high, strict=True)]
    return [below, above]


def _draw_curves(axes: Axes, chart: Chart) -> None:
    for curve, colour in zip(chart.curves, style.SERIES * 2, strict=False):
        line = {"line": "-", "dashed": "--", "points": "none"}[curve.look]
        marker = "" if curve.look == "dashed" or len(curve.x) > 24 else "o"
        axes.errorbar(
            curve.x,
            curve.y,
            yerr=_errors(curve),
            label=curve.label,
            color=colour,
            linestyle=line,
            marker=marker,
            markersize=4,
            capsize=2,
            elinewidth=1,
        )


def _draw_bars(axes: Axes, chart: Chart) -> None:
    width = 0.8 / len(chart.curves)
    for i, (curve, colour) in enumerate(zip(chart.curves, style.SERIES * 2, strict=False)):
        places = [group + (i - (len(chart.curves) - 1) / 2) * width for group in range(len(chart.categories))]
        axes.bar(
            places,
            curve.y,
            width * 0.92,
            yerr=_errors(curve),
            label=curve.label,
            color=colour,
            capsize=2,
            error_kw={"elinewidth": 1},
        )
    axes.set_xticks(range(len(chart.categories)), list(chart.categories))
    axes.tick_params(axis="x", labelsize=8.5 if len(chart.categories) < 6 else 7.5)
    axes.grid(axis="x", visible=False)
