"""The record of a named check, and the list of all."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable


@dataclasses.dataclass(frozen=True)
class Check:
    """A named check.

    Parameters
    ----------
    kind : str
        "law" (of the text, by enumeration), "sources" (of text and sources, by enumeration), "seed" (bitwise equality
        of texts), "counter", "cost", "trace" or "value".
    what : str
    run : callable
        Returns the distance from what is right.
    """

    kind: str
    what: str
    run: Callable[[], float]


CHECKS: dict[str, Check] = {}


def check(kind: str, what: str, name: str | None = None):
    def register(run: Callable[[], float]) -> Callable[[], float]:
        CHECKS[name or run.__name__.removeprefix("_").replace("_", " ")] = Check(kind, what, run)
        return run

    return register
