"""The one timer: everything that compares times measures them side by side, in turns, and reports medians."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from minispec.generation.metrics import Metrics
from minispec.model.session import Session
from minispec.theory import speedup


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


@dataclass(frozen=True, slots=True)
class Costs:
    """What a run's parts cost, in units of a one-row target forward.

    Attributes
    ----------
    target_row_s : float
        T_target(1), seconds.
    cost_ratio : float
        c: seconds per drafted token / T_target(1).
    verify_cost : float
        v: seconds per verifying forward / T_target(1).
    predicted_speedup : float
        tau / (gamma c + v) with the run's own tau, mean gamma, c and v: what these costs and this acceptance allow.
    """

    target_row_s: float
    cost_ratio: float
    verify_cost: float
    predicted_speedup: float


def costs(metrics: Metrics, target_row_s: float, simulated_cost: float | None = None) -> Costs | None:
    """Relate a speculative run's times to ``target_row_s``; None if it drafted or emitted nothing.

    ``simulated_cost`` is the cost ratio of a synthetic drafter, to be used instead of the measured one.
    """
    if not metrics.num_draft_tokens or metrics.mean_acceptance_length is None:
        return None
    cost_ratio = metrics.draft_s / metrics.num_draft_tokens / target_row_s if simulated_cost is None else simulated_cost
    verify_cost = metrics.target_s / metrics.num_steps / target_row_s
    gamma = metrics.num_draft_tokens / metrics.num_steps
    predicted = speedup(metrics.mean_acceptance_length, gamma, cost_ratio, verify_cost)
    return Costs(target_row_s, cost_ratio, verify_cost, predicted)
