"""The record of a named check, and the list of all."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import tests.conftest  # noqa: F401 - hypothesis draws the same examples without pytest


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
    is_suite : bool
        It is made of tests, which draw many examples.
    """

    kind: str
    what: str
    run: Callable[[], float]
    is_suite: bool = False


CHECKS: dict[str, Check] = {}


def check(kind: str, what: str, name: str | None = None):
    def register(run: Callable[[], float]) -> Callable[[], float]:
        CHECKS[name or run.__name__.removeprefix("_").replace("_", " ")] = Check(kind, what, run)
        return run

    return register


def suite(name: str, kind: str, what: str, *tests: Callable[[], object]) -> None:
    """Add a check that is made of tests of the suite: what it sees is an assertion that fails."""

    def run() -> float:
        for test in tests:
            test()
        return 0.0

    CHECKS[name] = Check(kind, what, run, is_suite=True)
