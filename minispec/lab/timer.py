"""The one timer: everything that compares times measures them side by side, in turns, and reports medians."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from minispec.engine.model.session import Session

Name = TypeVar("Name")
Result = TypeVar("Result")
Timer = Callable[[], float]
"""Runs something, and returns the seconds that it took."""


def interleave(runs: Mapping[Name, Callable[[], Result]], repeats: int) -> dict[Name, list[Result]]:
    """Run each candidate ``repeats`` times, taking turns, and collect what each run returns.

    A machine's speed drifts over seconds (neighbours, clock, memory placement). Taking turns lets the drift hit every
    candidate alike; every other round runs them in the opposite order, so that none always goes first.

    Parameters
    ----------
    runs : mapping of name to callable
        Each returns its own figure, usually seconds; or all that was made, which knows its seconds.
    repeats : int
        Rounds.
    """
    figures: dict[Name, list[Result]] = {name: [] for name in runs}
    for i in range(repeats):
        for name in list(runs) if i % 2 == 0 else reversed(list(runs)):
            figures[name].append(runs[name]())
    return figures


def ratios(figures: Sequence[float], units: Sequence[float]) -> list[float]:
    """Return one candidate's figures in units of another's, round by round: both met the same machine.

    Examples
    --------
    >>> ratios([1.0, 4.0], [2.0, 1.0])
    [0.5, 4.0]
    """
    return [a / b for a, b in zip(figures, units, strict=True)]


def spread(figures: Sequence[float]) -> tuple[float, float]:
    """Return the smallest and the largest."""
    return min(figures), max(figures)


def after_warming(once: Timer, times: int = 3) -> Timer:
    """Return a timer that runs once to find its caches as it leaves them, then says the median of so many runs."""
    return lambda: statistics.median([once() for _ in range(1 + times)][1:])


def target_row_seconds(session: Session, last_token: int, repeats: int = 5) -> float:
    """Measure T_target(1): the median time of a one-row forward at the session's present length.

    The forwards feed the pending token and are rolled back: nothing is left of them.
    """
    length = session.length
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        session.score([last_token])
        times.append(time.perf_counter() - started)
        session.rollback(length)
    return statistics.median(times)
