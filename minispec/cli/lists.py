"""Options that take several values, separated by commas: what a sweep varies."""

from __future__ import annotations

import re
from typing import Any

import click

_INSIDE = re.compile(r"[\w.-]+=")


class Several(click.ParamType):  # type: ignore[type-arg]  # generic only in newer releases
    """Values separated by commas; each is read by another type.

    A comma inside ``KIND:key=value,key=value`` belongs to that value: what follows it has the form ``key=…``.

    Parameters
    ----------
    each : click.ParamType
        Of one value.
    """

    def __init__(self, each: click.ParamType) -> None:  # type: ignore[type-arg]  # as above
        self._each = each
        self.name = f"{each.name}[,…]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[Any, ...]:
        """Return the values."""
        if isinstance(value, tuple):  # click asks twice where a default was converted already
            return value
        parts = split(str(value))
        if not parts:
            self.fail(
                f"{str(value)!r} names nothing; it must be one value or more, with commas between them", param, ctx
            )
        return tuple(self._each.convert(part, param, ctx) for part in parts)


def split(text: str) -> list[str]:
    """Cut at the commas that separate values.

    Examples
    --------
    >>> split("draft-1.6m,ngram:n=3,max=2,suffix")
    ['draft-1.6m', 'ngram:n=3,max=2', 'suffix']
    >>> split("0,2,5")
    ['0', '2', '5']
    """
    parts: list[str] = []
    for piece in (piece.strip() for piece in text.split(",")):
        if parts and ":" in parts[-1] and _INSIDE.match(piece):
            parts[-1] += "," + piece
        elif piece:
            parts.append(piece)
    return parts
