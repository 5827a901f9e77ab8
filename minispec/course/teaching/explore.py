"""A picture one can play with: sliders and text fields where a kernel is live, small pictures or a record where not."""

from __future__ import annotations

import base64
import importlib
import importlib.util
import io
import os
from collections.abc import Callable, Sequence
from typing import Any

from minispec.course.teaching.lesson import Outcome
from minispec.course.teaching.steps import WRONG
from minispec.engine.markup import pictures
from minispec.errors import InputError

STATIC = "MINISPEC_STATIC"
"""Set (to anything) where nobody can move a slider: in tests, and when the site is made."""


def explore(plot: Callable[..., Any], /, **choices: str | Sequence[Any]) -> Any:
    """Show ``plot`` over the values of its arguments.

    Parameters
    ----------
    plot : callable
        Returns a matplotlib ``Figure``, or a ``Stepper``. What it refuses as bad input is shown as one line.
    **choices : str or sequence
        For each argument of ``plot`` its values, on a slider that begins in the middle; or a text, in a field where
        one can write another.

    Returns
    -------
    object
        A widget. Where no kernel is live, something that shows itself: small multiples, whose first argument varies
        while the others keep their text or middle value; where the first is a text, what ``plot`` returns for these.
    """
    if STATIC not in os.environ and importlib.util.find_spec("ipywidgets") is not None:
        widgets: Any = importlib.import_module("ipywidgets")
        controls = {
            name: widgets.Text(value=values, continuous_update=False, layout={"width": "95%"})
            if isinstance(values, str)
            else widgets.SelectionSlider(options=list(values), value=_middle(values), continuous_update=False)
            for name, values in choices.items()
        }
        # Without auto_display a figure that is returned, not drawn by pyplot, is never shown.
        return widgets.interactive(_say_what_is_wrong(plot), {"auto_display": True}, **controls)
    middles = {name: _middle(values) for name, values in choices.items()}
    name, values = next(iter(choices.items()))
    if isinstance(values, str):
        return plot(**middles)
    return SmallMultiples([(f"{name} = {value}", plot(**{**middles, name: value})) for value in _few(values)])


def _say_what_is_wrong(plot: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``plot``, but with a line in place of the picture where a reader has written what it cannot use."""

    def show(**values: Any) -> Any:
        try:
            return plot(**values)
        except InputError as error:
            return Outcome(WRONG, str(error))

    return show


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


def _middle(values: str | Sequence[Any]) -> Any:
    return values if isinstance(values, str) else values[len(values) // 2]


def _few(values: Sequence[Any], count: int = 4) -> list[Any]:
    """Return at most ``count`` of the values, the ends among them."""
    if len(values) <= count:
        return list(values)
    return [values[round(i * (len(values) - 1) / (count - 1))] for i in range(count)]
