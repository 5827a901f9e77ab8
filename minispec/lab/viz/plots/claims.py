"""The picture of a claim: curves or bars, the claimed range as a grey band, lines to compare with.

It is an SVG of a few kilobytes, written without matplotlib: text is text, the reader's browser chooses light or dark,
and the same chart gives the same bytes with every version of everything.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal, NamedTuple

from minispec.engine.colours import INK, NIGHT, PAPER, PLOT, SHADES

WIDTH = 640
_SERIES = ("blue", "orange", "green", "red", "purple", "sky")
_LETTER = 6.8  # an average one's width at 12 pixels, generously: no font is measured here
_LINE = 17  # pixels from one line of text to the next
_BAR = 15
_MARGIN = 16
_PLOT_HEIGHT = 220  # of curves; bars take as much as they need


Value = float | Sequence[float]
"""A figure, or (value, low, high), which is drawn with its interval."""

Reference = tuple[str, float]
PLAIN: tuple[Reference, ...] = (("plain", 1.0),)
"""The line to compare a speedup with: that of plain decoding."""


@dataclass(frozen=True, slots=True)
class Curve:
    """One series.

    Parameters
    ----------
    label : str
    x : sequence of float
        Of bars none: bar i belongs to category i.
    y : sequence of values
    look : {"line", "dashed", "points"}
    """

    label: str
    x: Sequence[float]
    y: Sequence[Value]
    look: Literal["line", "dashed", "points"] = "line"

    @property
    def ends(self) -> list[tuple[float, float, float]]:
        """Value, low and high of each point."""
        return [(y, y, y) if isinstance(y, int | float) else (y[0], y[1], y[2]) for y in self.y]


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
    lines: Sequence[Reference] = ()
    log_x: bool = False


def bars(
    title: str,
    names: str,
    figures: str,
    categories: Sequence[str],
    series: Mapping[str, Sequence[Value]],
    *,
    bands: Sequence[tuple[str, float, float]] = (),
    lines: Sequence[Reference] = (),
) -> Chart:
    """Return a chart of bars.

    Parameters
    ----------
    title, names, figures : str
        What is drawn, what the categories are, and what the bars measure.
    categories : sequence of str
    series : mapping of str to sequence of values
        By label, a bar for each category.
    bands, lines
        Those of :class:`Chart`.
    """
    curves = [Curve(label, (), values) for label, values in series.items()]
    return Chart(title, names, figures, curves, categories, bands, lines)


def draw_claim(chart: Chart, heading: str) -> str:
    """Draw a chart under a heading that says what it shows.

    Parameters
    ----------
    chart : Chart
    heading : str
        The message: the claim and its verdict.

    Returns
    -------
    str
        An SVG of :data:`WIDTH` pixels across.
    """
    top, head = _head(chart, heading)
    bottom, body = (_bars if chart.categories else _curves)(chart, top)
    height = round(bottom + _MARGIN / 2)
    size = f'width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}"'
    sheet = f'<rect class="paper" width="{WIDTH}" height="{height}" rx="6"/>'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
            f"<title>{escape(heading, quote=False)}</title>",
            f"<style>{_style(chart)}</style>",
            sheet,
            *head,
            *body,
            "</svg>\n",
        ]
    )


def _style(chart: Chart) -> str:
    """Return the style sheet: every colour twice, for readers in the light and in the dark."""
    hues = [_SERIES[i % len(_SERIES)] for i in range(len(chart.curves))]

    def sheet(ink: str, grey: str, paper: str, blue: str) -> str:
        own = "".join(f".s{i}{{color:{blue if hue == 'blue' else PLOT[hue]}}}" for i, hue in enumerate(hues))
        return (
            f"text,.e{{fill:{ink};stroke:none}}.g{{fill:{grey}}}.paper{{fill:{paper}}}.e{{stroke:{ink};fill:none}}"
            f".grid,.ref{{stroke:{grey}}}.band{{color:{grey}}}{own}"
        )

    light = sheet(INK.light, SHADES["grey"].light, PAPER, PLOT["blue"])
    dark = sheet(INK.dark, SHADES["grey"].dark, NIGHT, SHADES["blue"].either)
    shared = (
        "text{font:12px system-ui,sans-serif}.h{font-size:14px;font-weight:600}.m{text-anchor:middle}"
        ".r{text-anchor:end}.c{fill:none;stroke:currentColor;stroke-width:2}.d{stroke-dasharray:6 4}"
        ".p{stroke:currentColor;stroke-width:7;stroke-linecap:round;fill:none}.b{fill:currentColor}"
        ".ref{stroke-width:1.5;stroke-dasharray:2 3;fill:none}.grid{opacity:.25}.band{fill:currentColor;opacity:.2}"
    )
    return f"{shared}{light}@media(prefers-color-scheme:dark){{{dark}}}"


def _head(chart: Chart, heading: str) -> tuple[float, list[str]]:
    """Write heading, title and legend; return where they end, and their lines."""
    y, lines = _MARGIN + 8.0, []
    for text in textwrap.wrap(heading, 68):
        lines.append(_text(_MARGIN, y, text, "h"))
        y += _LINE + 2
    for text in textwrap.wrap(chart.title, 88):
        lines.append(_text(_MARGIN, y, text, "g"))
        y += _LINE
    x = float(_MARGIN)
    marks = _legend(chart)
    for kind, swatch, label in marks if len(marks) > 1 else ():
        wide = 26 + _LETTER * len(label) + 14
        if x + wide > WIDTH and x > _MARGIN:
            x, y = float(_MARGIN), y + _LINE
        lines += [f'<path class="{kind}" d="{swatch(x, y - 4)}"/>', _text(x + 26, y, label)]
        x += wide
    return y + (14 if len(marks) > 1 else 2 - _LINE + 12), lines


Swatch = Callable[[float, float], str]


def _legend(chart: Chart) -> list[tuple[str, Swatch, str]]:
    """Return of everything drawn its class, its mark in the legend, and its label."""

    def stroke(x: float, y: float) -> str:
        return f"M{_n(x)} {_n(y)}h20"

    def dot(x: float, y: float) -> str:
        return f"M{_n(x + 10)} {_n(y)}h0"

    def block(x: float, y: float) -> str:
        return f"M{_n(x)} {_n(y - 5)}h20v10h-20z"

    marks: list[tuple[str, Swatch, str]] = []
    for i, curve in enumerate(chart.curves):
        kind = "b" if chart.categories else {"line": "c", "dashed": "c d", "points": "p"}[curve.look]
        marks.append((f"{kind} s{i}", {"b": block, "p": dot}.get(kind, stroke), curve.label))
    marks += [("band", block, f"{label}: {low:g} to {high:g}") for label, low, high in chart.bands]
    return marks + [("ref", stroke, f"{label}: {value:.3g}") for label, value in chart.lines]


def _text(x: float, y: float, text: str, kind: str = "") -> str:
    attribute = f' class="{kind}"' if kind else ""
    return f'<text x="{_n(x)}" y="{_n(y)}"{attribute}>{escape(text, quote=False)}</text>'


def _n(value: float) -> str:
    """Write a coordinate: a tenth of a pixel is more than one sees."""
    return f"{value:.1f}".removesuffix(".0")


def _number(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"


class Scale(NamedTuple):
    """Values to pixels.

    Parameters
    ----------
    low, high : float
        Values at the ends.
    start, end : float
        Pixels there.
    log : bool
    """

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """Return where a value lies."""
        low, high, value = (math.log(each) if self.log else each for each in (self.low, self.high, value))
        return self.start + (self.end - self.start) * (value - low) / (high - low)


def _round_ticks(low: float, high: float) -> list[float]:
    """Return four to nine round numbers from the last before ``low`` to the first behind ``high``."""
    size = 10.0 ** math.floor(math.log10(max(high - low, 1e-300) / 4))
    step = next(size * factor for factor in (1, 2, 5, 10) if (high - low) / (size * factor) <= 7)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [float(f"{i * step:.10g}") for i in range(first, max(last, first + 1) + 1)]


def _reach(chart: Chart) -> tuple[float, float]:
    """Return the least and the greatest value that is drawn."""
    values = [value for curve in chart.curves for ends in curve.ends for value in ends]
    values += [value for _, value in chart.lines] + [end for _, *ends in chart.bands for end in ends]
    return min(values), max(values)


def _bars(chart: Chart, top: float) -> tuple[float, list[str]]:
    """Draw bars from left to right, so that their names have room; behind each stands its figure."""
    names = [name.replace("\n(", " (").replace("\n", ", ") for name in chart.categories]
    left = _MARGIN + 8 + _LETTER * max(map(len, names))
    least, most = _reach(chart)
    ticks = _round_ticks(min(least, 0.0), max(most, 0.0) or 1.0)
    scale = Scale(ticks[0], ticks[-1], left, WIDTH - _MARGIN - 48)
    title = [_text(_MARGIN, top + 8, chart.x_label.replace("\n", ", "), "g")] if chart.x_label else []
    top += _LINE if title else 0
    group = _BAR * len(chart.curves) + 9
    bottom = top + group * len(names)
    lines = [*title, *_marks_across(chart, scale, top, bottom)]
    lines.append(_path("grid", (f"M{_n(scale(tick))} {_n(top)}V{_n(bottom)}" for tick in ticks)))
    lines += [_text(scale(tick), bottom + 15, f"{tick:.4g}", "g m") for tick in ticks]
    lines += [_text(left - 8, top + group * (i + 0.5) + 4, name, "r") for i, name in enumerate(names)]
    whiskers, figures = [], []
    for number, curve in enumerate(chart.curves):
        places = [top + group * i + 5 + _BAR * number for i in range(len(names))]
        drawn = list(zip(places, curve.ends, strict=True))
        lines.append(_path(f"b s{number}", (_bar(scale, place, value) for place, (value, _, _) in drawn)))
        for place, (value, low, high) in drawn:
            if low < high:
                whiskers.append(f"M{_n(scale(low))} {_n(place + 6)}H{_n(scale(high))}")
            figures.append(_text(scale(max(high, 0.0)) + 5, place + 10, _number(value)))
    lines.append(_path("e", whiskers))
    lines.append(_path("ref", (f"M{_n(scale(value))} {_n(top)}V{_n(bottom)}" for _, value in chart.lines)))
    lines += [*figures, _text(left, bottom + 33, chart.y_label, "g")]
    return bottom + 36, [line for line in lines if line]


def _bar(scale: Scale, place: float, value: float) -> str:
    return f"M{_n(scale(0.0))} {_n(place)}H{_n(scale(value))}v{_BAR - 3}H{_n(scale(0.0))}z"


def _marks_across(chart: Chart, scale: Scale, top: float, bottom: float) -> list[str]:
    """Draw claimed ranges behind bars."""
    spans = ((scale(low), scale(high)) for _, low, high in chart.bands)
    return [_path("band", (f"M{_n(a)} {_n(top)}H{_n(b)}V{_n(bottom)}H{_n(a)}z" for a, b in spans))]


def _path(kind: str, parts: Iterable[str]) -> str:
    drawn = "".join(parts)
    return f'<path class="{kind}" d="{drawn}"/>' if drawn else ""


def _curves(chart: Chart, top: float) -> tuple[float, list[str]]:
    """Draw curves: what is measured upwards, what it depends on to the right."""
    low, high = _reach(chart)
    ticks = _round_ticks(low if low < 0 or low > 0.4 * high else 0.0, high)
    names = [f"{tick:.4g}" for tick in ticks]
    left = _MARGIN + 8 + _LETTER * max(map(len, names))
    title = [_text(_MARGIN, top + 8, chart.y_label, "g")] if chart.y_label else []
    top += (_LINE if title else 0) + 6
    bottom = top + _PLOT_HEIGHT
    xs = sorted({x for curve in chart.curves for x in curve.x})
    across = Scale(xs[0], xs[-1], left + 14, WIDTH - _MARGIN - 14, chart.log_x)
    up = Scale(ticks[0], ticks[-1], bottom, top)
    spans = ((up(one), up(other)) for _, one, other in chart.bands)
    lines = [
        *title,
        _path("band", (f"M{_n(left)} {_n(a)}H{WIDTH - _MARGIN}V{_n(b)}H{_n(left)}z" for a, b in spans)),
        _path("grid", (f"M{_n(left)} {_n(up(tick))}H{WIDTH - _MARGIN}" for tick in ticks)),
        _path("ref", (f"M{_n(left)} {_n(up(value))}H{WIDTH - _MARGIN}" for _, value in chart.lines)),
        *(_text(left - 8, up(tick) + 4, name, "g r") for tick, name in zip(ticks, names, strict=True)),
        *(_text(across(x), bottom + 17, _number(x), "g m") for x in _ticks_across(xs, across)),
        _text((left + WIDTH - _MARGIN) / 2, bottom + 35, chart.x_label, "g m"),
    ]
    for number, curve in enumerate(chart.curves):
        lines += _curve(curve, number, across, up)
    return bottom + 38, [line for line in lines if line]


def _ticks_across(xs: Sequence[float], across: Scale) -> list[float]:
    """Return where something was measured, as far as the numbers have room; of many places, round numbers."""
    if len(xs) > 16:
        return [tick for tick in _round_ticks(xs[0], xs[-1]) if xs[0] <= tick <= xs[-1]]
    shown: list[float] = []
    for x in xs:
        if not shown or across(x) - across(shown[-1]) >= _LETTER * (len(_number(x)) + 1.5):
            shown.append(x)
    return shown


def _curve(curve: Curve, number: int, across: Scale, up: Scale) -> list[str]:
    drawn = [(across(x), ends) for x, ends in zip(curve.x, curve.ends, strict=True)]
    points = [(x, up(value)) for x, (value, _, _) in drawn]
    whiskers = (f"M{_n(x)} {_n(up(low))}V{_n(up(high))}" for x, (_, low, high) in drawn if low < high)
    lines = [_path(f"c s{number}", whiskers)]
    if curve.look != "points":
        dashed = " d" if curve.look == "dashed" else ""
        lines.append(_path(f"c{dashed} s{number}", ["M" + " ".join(f"{_n(x)} {_n(y)}" for x, y in points)]))
    if curve.look != "dashed" and len(points) <= 24:
        lines.append(_path(f"p s{number}", (f"M{_n(x)} {_n(y)}h0" for x, y in points)))
    return lines
