"""The one timer: everything that compares times measures them side by side, in turns, and reports medians."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping

from minispec.engine.model.session import Session


def interleave(runs: Mapping[str, Callable[[], float]], repeats: int) -> dict[str, list[float]]:
    """Run each candidate ``repeats`` times, taking turns, and collect what each run returns.

    A machine's speed drifts over seconds (neighbours, clock, memory placement). Taking turns lets the drift hit every
    candidate alike; every other round runs them in the opposite order, so that none always goes first.

    Parameters
    ----------
    runs : mapping of name to callable
        Each returns its own figure, usually seconds.
    repeats : int
        Rounds.
    """
    figures: dict[str, list[float]] = {name: [] for name in runs}
    for i in range(repeats):
        for name in list(runs) if i % 2 == 0 else reversed(list(runs)):
            figures[name].append(runs[name]())
    return figures


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
