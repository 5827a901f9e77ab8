"""What the steps of measured runs cost, in the letters of the theory: c, v(m) and o.

The unit is the time plain decoding takes per token, u = t + o_1: a one-row target forward and what plain decoding does
around it (sampling). With it the cost of a speculative step is gamma c + v + o *exactly*, where

    c = seconds per drafted token / u,    v = 1 + (seconds per verifying forward - t) / u,
    o = (other seconds per step - o_1) / u.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from minispec.engine.generation.result import Metrics
from minispec.errors import OptionError
from minispec.lab.measure.record import Totals
from minispec.lab.trust import doubts, sentence


@dataclass(frozen=True, slots=True)
class StepCosts:
    """What a step costs, in units of a plain step.

    Attributes
    ----------
    unit_s : float
        u: seconds per token of plain decoding, behind the first.
    gamma : float
        Drafted tokens per step, the mean.
    cost_ratio, verify_cost, overhead : float
        c, v and o.
    """

    unit_s: float
    gamma: float
    cost_ratio: float
    verify_cost: float
    overhead: float

    def speedup(self, tokens_per_step: float) -> float:
        """Return tau / (gamma c + v + o): what these costs and so many tokens per step make.

        Costs measured on a busy machine may be impossible (:mod:`minispec.lab.trust` says so); a step that would
        cost nothing makes it infinite.
        """
        # tau / (gamma c + v + o)
        cost = self.gamma * self.cost_ratio + self.verify_cost + self.overhead
        return tokens_per_step / cost if cost > 0.0 else math.inf


def step_costs(plain: Metrics | Totals, speculative: Metrics | Totals) -> StepCosts:
    """Relate the steps of speculative runs to those of plain ones.

    Raises
    ------
    OptionError
        If either emitted nothing after its first token, or nothing was drafted.
    """
    if not plain.num_decode_tokens or not speculative.num_decode_tokens or not speculative.num_draft_tokens:
        raise OptionError(
            f"after the first token plain decoding emitted {plain.num_decode_tokens}, speculation "
            f"{speculative.num_decode_tokens}, and it drafted {speculative.num_draft_tokens}; costs need some of each. "
            "Try --max-tokens 64 --gamma 5"
        )
    steps = speculative.num_steps
    unit = plain.decode_s / plain.num_decode_tokens
    row = plain.target_s / plain.num_decode_tokens
    other = (speculative.decode_s - speculative.draft_s - speculative.target_s) / steps
    return StepCosts(
        unit_s=unit,
        gamma=speculative.num_draft_tokens / steps,
        cost_ratio=speculative.draft_s / speculative.num_draft_tokens / unit,
        verify_cost=1.0 + (speculative.target_s / steps - row) / unit,
        overhead=(other - (unit - row)) / unit,
    )


def costs_of_run(run: Metrics | Totals, target_row_s: float, simulated_cost: float | None = None) -> StepCosts | None:
    """Return a speculative run's costs where no plain run is at hand; None if it drafted nothing.

    A plain step is then taken to spend as much around its forward as a step of this run does, so that o = 0. With a
    plain run, use :func:`step_costs`.

    Parameters
    ----------
    run : Metrics | Totals
    target_row_s : float
        t(1), seconds of a one-row target forward.
    simulated_cost : float, optional
        The cost ratio of a synthetic drafter, in place of the measured one.

    Examples
    --------
    >>> run = Totals(6, num_steps=2, num_draft_tokens=8, prefill_s=0.0, draft_s=0.8, target_s=2.4, decode_s=3.6)
    >>> costs_of_run(run, target_row_s=0.8)
    StepCosts(unit_s=1.0, gamma=4.0, cost_ratio=0.1, verify_cost=1.4, overhead=0.0)
    """
    if not run.num_draft_tokens or not run.num_decode_tokens:
        return None
    around = (run.decode_s - run.draft_s - run.target_s) / run.num_steps
    plain = Totals(
        num_decode_tokens=1,
        num_steps=1,
        num_draft_tokens=0,
        prefill_s=0.0,
        draft_s=0.0,
        target_s=target_row_s,
        decode_s=target_row_s + around,
    )
    costs = replace(step_costs(plain, run), overhead=0.0)
    return costs if simulated_cost is None else replace(costs, cost_ratio=simulated_cost)


UNSTEADY = 0.1
"""Plain steps: a curve that had to be evened out by more comes from a machine that did something else meanwhile."""


class VerifyCurve:
    """v(m) through some points, linear between them, beyond the last as steep as before it; v(1) = 1.

    Beyond the last point it does not fall: where its last stretch does, it goes on level.

    Parameters
    ----------
    points : mapping of float to float
        Rows (of a run, the mean) to v.
    evened_out : float
        By how much the measured points were moved to get these, at most.

    Attributes
    ----------
    points : dict of float to float
        By rows, 1 among them.
    evened_out : float

    Examples
    --------
    >>> curve = VerifyCurve({6: 1.5})
    >>> curve(1), curve(6), curve(11)
    (1.0, 1.5, 2.0)
    """

    def __init__(self, points: Mapping[float, float], evened_out: float = 0.0) -> None:
        known: dict[float, float] = {1: 1.0} | {rows: v for rows, v in points.items() if rows != 1}
        if min(known) < 1 or not all(np.isfinite(v) and v > 0.0 for v in known.values()):
            raise OptionError(
                f"the verify costs are {dict(points)}; each is ROWS=V with ROWS >= 2 and V > 0. Try --verify-cost 6=1.3"
            )
        self.points = dict(sorted(known.items()))
        self.evened_out = evened_out

    @property
    def warning(self) -> str | None:
        """One line if these points cannot be trusted."""
        return sentence(self.doubts) if self.doubts else None

    @property
    def doubts(self) -> list[str]:
        """Why these points cannot be trusted (:mod:`minispec.lab.trust`)."""
        found = doubts(verify_costs=self.points)
        if self.evened_out > UNSTEADY:
            found.append(
                "the costs of steps of different lengths contradict each other by "
                f"{self.evened_out:.2f} plain steps, which was evened out"
            )
        return found

    def __call__(self, rows: float) -> float:
        """Return v(rows)."""
        if len(self.points) == 1:
            return 1.0
        xs, ys = list(self.points), list(self.points.values())
        if rows <= xs[-1]:
            return float(np.interp(rows, xs, ys))
        return ys[-1] + (rows - xs[-1]) * max(0.0, ys[-1] - ys[-2]) / (xs[-1] - xs[-2])


def curve_of_runs(costs: Iterable[StepCosts], cost_ratio: float) -> VerifyCurve:
    """Return v(m) + o from runs of several draft lengths: what their steps cost beside gamma c.

    Forwards measured by themselves would be cheaper: in a run the draft has been in the processor's caches in between,
    the more so the longer it was.

    A longer draft makes no step cheaper, and a forward over more rows costs at least what one over a single row does.
    Where the times say otherwise it is noise: step costs that fall are averaged with their neighbours until they do not
    (isotonic regression), and a point that c leaves below 1 is put at 1.

    Parameters
    ----------
    costs : iterable of StepCosts
        Of runs that differ in gamma.
    cost_ratio : float
        The c that the curve will be used with, of one of the runs.

    Examples
    --------
    >>> curve_of_runs([StepCosts(1.0, 1.0, 0.25, 1.0, 0.25), StepCosts(1.0, 5.0, 0.25, 1.5, 0.25)], 0.25).points
    {1: 1.0, 2.0: 1.25, 6.0: 1.75}
    """
    measured = [(each.gamma, each.gamma * each.cost_ratio + each.verify_cost + each.overhead) for each in costs]
    measured.sort(key=lambda run: (run[0], -run[1]))  # runs of one gamma fall, so that they are averaged
    points = {
        gamma + 1.0: step - gamma * cost_ratio
        for (gamma, _), step in zip(measured, _rising([step for _, step in measured]), strict=True)
    }
    points = {rows: max(1.0, v) for rows, v in points.items()}
    moves = (abs(points[gamma + 1.0] + gamma * cost_ratio - step) for gamma, step in measured)
    return VerifyCurve(points, max(moves, default=0.0))


def _rising(values: Iterable[float]) -> list[float]:
    """Return the nearest sequence that never falls, in least squares: neighbours that fall are pooled to their mean."""
    pools: list[tuple[float, int]] = []
    for value in values:
        mean, count = value, 1
        while pools and pools[-1][0] > mean:
            before, number = pools.pop()
            mean, count = (before * number + mean * count) / (number + count), number + count
        pools.append((mean, count))
    return [mean for mean, count in pools for _ in range(count)]


OTHER_GAMMAS = (1, 2, 4, 8)
"""Draft lengths that are run beside the one in question, to know what their steps cost."""
