"""How every figure looks, and the one door to matplotlib.

A plot is a function that returns a ``Figure`` and carries :func:`apply`::

    @style.apply
    def cost_figure(costs: Sequence[float]) -> Figure:
        figure, axes = style.new_figure()
        axes.plot(costs, color=style.COLOURS["blue"])
        return figure

    style.save(cost_figure(costs), Path("cost.png"))

matplotlib is imported when the first such function is called, never before; pyplot and its global state are not used,
so no window opens and no backend is chosen. A notebook shows a ``Figure`` as it is.
"""

from __future__ import annotations

import functools
import importlib
import io
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from minispec.engine.colours import BLACK, GRID, PLOT, WHITE, contrast
from minispec.engine.files import check_writable, write_bytes
from minispec.errors import OutputError, missing, quote

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")

COLOURS = PLOT
SERIES = tuple(COLOURS[name] for name in ("blue", "orange", "green", "red", "purple", "sky"))
"""Colours for curves that have no meaning of their own."""

SUFFIXES = (".png", ".svg", ".pdf")

_RC: dict[str, Any] = {
    "figure.dpi": 110,
    "savefig.dpi": 160,
    "figure.constrained_layout.use": True,
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same figure on every machine
    "font.size": 10,
    "text.color": COLOURS["ink"],
    "axes.labelcolor": COLOURS["ink"],
    "axes.edgecolor": COLOURS["grey"],
    "axes.titlesize": 11.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "xtick.color": COLOURS["grey"],
    "ytick.color": COLOURS["grey"],
    "xtick.labelcolor": COLOURS["ink"],
    "ytick.labelcolor": COLOURS["ink"],
    "lines.linewidth": 2.0,
    "lines.markersize": 6,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "svg.hashsalt": "minispec",  # the same data give the same file
}


def _matplotlib() -> Any:
    try:
        return importlib.import_module("matplotlib")
    except ImportError:
        raise missing("matplotlib", "plots need", "plots") from None


def apply(plot: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Run a plotting function in the common style.

    Raises
    ------
    MissingDependencyError
        When the function is called, if matplotlib is not installed.
    """

    @functools.wraps(plot)
    def run(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        matplotlib = _matplotlib()
        with matplotlib.rc_context(_RC | {"axes.prop_cycle": matplotlib.cycler(color=SERIES)}):
            return plot(*args, **kwargs)

    return run


def on(colour: str) -> str:
    """Return the colour of text on an area of this colour: black or white, whichever stands out more.

    Examples
    --------
    >>> on(COLOURS["blue"]) == WHITE, on(COLOURS["orange"]) == BLACK
    (True, True)
    """
    return max((BLACK, WHITE), key=lambda text: contrast(text, colour))


def new_figure(width: float = 7.2, height: float = 4.3) -> tuple[Figure, Axes]:
    """Return a figure of that size, in inches, with one pair of axes."""
    figure = _new(width, height)
    return figure, figure.subplots()


def new_grid(rows: int, columns: int, width: float = 7.2, height: float = 4.3) -> tuple[Figure, list[Axes]]:
    """Return a figure with ``rows`` x ``columns`` axes, listed row by row."""
    figure = _new(width, height)
    return figure, list(figure.subplots(rows, columns, squeeze=False).flat)


def _new(width: float, height: float) -> Figure:
    _matplotlib()
    _show_in_notebooks()
    return importlib.import_module("matplotlib.figure").Figure(figsize=(width, height))  # type: ignore[no-any-return]


def _show_in_notebooks() -> None:
    """Tell a notebook's kernel, if we run in one, how a figure that pyplot does not know becomes a picture."""
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is not None:
        shell.display_formatter.formatters["image/png"].for_type_by_name("matplotlib.figure", "Figure", _png)


def _png(figure: Figure) -> bytes:
    data = io.BytesIO()
    figure.savefig(data, format="png", dpi=100)
    return data.getvalue()


def note(axes: Axes, text: str) -> None:
    """Write a small grey remark along the foot of the figure: the machine, the assumption, the source."""
    figure: Any = axes.figure
    width, height = figure.get_size_inches()
    lines = textwrap.wrap(text, int(18 * width))
    room = (0.13 * len(lines) + 0.08) / height
    figure.get_layout_engine().set(rect=(0, room, 1, 1 - room))
    figure.text(
        0.1 / width,
        0.08 / height,
        "\n".join(lines),
        fontsize=7.5,
        color=COLOURS["grey"],
        va="bottom",
        linespacing=1.25,
        in_layout=False,
    )


def plain_ticks(axis: Axis) -> None:
    """Label a logarithmic axis at 1, 2 and 5 times the powers of ten, as plain numbers."""
    ticker = importlib.import_module("matplotlib.ticker")
    axis.set_major_locator(ticker.LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_locator(ticker.NullLocator())


def whole_ticks(axis: Axis) -> None:
    """Put ticks at whole numbers only: nobody drafts two and a half tokens."""
    ticker = importlib.import_module("matplotlib.ticker")
    axis.set_major_locator(ticker.MaxNLocator(nbins="auto", steps=[1, 2, 5, 10], integer=True, min_n_ticks=1))


def check_output(path: Path) -> None:
    """Refuse a file that could not be written in the end, before anything is measured.

    Raises
    ------
    OutputError
        If the name does not end in .png, .svg or .pdf, or no file can have it.
    MissingDependencyError
        If matplotlib is not installed.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise OutputError(
            f"the plot is to go to {quote(str(path))}; its name must end in {', '.join(SUFFIXES)}. Try plot.png"
        )
    check_writable(path)
    _matplotlib()


@apply  # some settings are read when a figure is written
def save(figure: Figure, path: Path) -> None:
    """Write a figure; a file that is there is replaced as a whole or not at all.

    Raises
    ------
    OutputError
        If it cannot be written.
    """
    check_output(path)
    kind = path.suffix.lower().removeprefix(".")
    no_date = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)  # the same data give the same file
    data = io.BytesIO()
    figure.savefig(data, format=kind, metadata=no_date)
    write_bytes(path, data.getvalue())
