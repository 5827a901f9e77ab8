"""A picture one can play with: sliders where a kernel is live, a row of small pictures where not."""

from __future__ import annotations

import base64
import importlib
import importlib.util
import io
import os
from collections.abc import Callable, Sequence
from typing import Any

from minispec.viz.html import pictures

STATIC = "MINISPEC_STATIC"
"""Set (to anything) where nobody can move a slider: in tests, and when the site is made."""


def explore(plot: Callable[..., Any], /, **choices: Sequence[Any]) -> Any:
    """Show ``plot`` over the values of its arguments.

    Parameters
    ----------
    plot : callable
        Returns a matplotlib ``Figure``.
    **choices : sequence
        The values of each argument of ``plot``; the slider begins in the middle.

    Returns
    -------
    object
        A widget; or something that shows itself as small multiples: the first argument varies, the others keep their
        middle values.
    """
    if STATIC not in os.environ and importlib.util.find_spec("ipywidgets") is not None:
        widgets: Any = importlib.import_module("ipywidgets")
        sliders = {
            name: widgets.SelectionSlider(options=list(values), value=_middle(values), continuous_update=False)
            for name, values in choices.items()
        }
        # Without auto_display a figure that is returned, not drawn by pyplot, is never shown.
        return widgets.interactive(plot, {"auto_display": True}, **sliders)
    name, values = next(iter(choices.items()))
    fixed = {other: _middle(each) for other, each in choices.items() if other != name}
    return SmallMultiples([(f"{name} = {value}", plot(**{name: value}, **fixed)) for value in _few(values)])


_WIDTH = 4.8
"""Of each of several pictures, in inches."""


class SmallMultiples:
    """Figures side by side, each under its title."""

    def __init__(self, figures: Sequence[tuple[str, Any]]) -> None:
        self._figures = figures

    def __repr__(self) -> str:
        return f"{len(self._figures)} pictures: {', '.join(title for title, _ in self._figures)}"

    def _repr_html_(self) -> str:
        cells = []
        for title, figure in self._figures:
            data = io.BytesIO()
            width, height = figure.get_size_inches()
            figure.set_size_inches(_WIDTH, _WIDTH * height / width)  # smaller, so that its text is larger in the page
            figure.savefig(data, format="png", dpi=150, bbox_inches="tight")
            cells.append((title, base64.b64encode(data.getvalue()).decode()))
        return pictures(cells)


def _middle(values: Sequence[Any]) -> Any:
    return values[len(values) // 2]


def _few(values: Sequence[Any], count: int = 4) -> list[Any]:
    """Return at most ``count`` of the values, the ends among them."""
    if len(values) <= count:
        return list(values)
    return [values[round(i * (len(values) - 1) / (count - 1))] for i in range(count)]
