"""Wall time: what a step costs and what speculation gains; and what it costs in arithmetic.

The cost of a step, in units of a one-row target forward, is gamma c + v(gamma + 1) + o.
"""

from __future__ import annotations

from collections.abc import Callable

from minispec.theory import _checks
from minispec.theory.acceptance import tau

VerifyCost = float | Callable[[float], float]
"""v: the time of the verifying forward over that of a one-row forward; or the function m -> v(m) of its rows."""


def step_cost(gamma: float, cost_ratio: float, verify_cost: VerifyCost = 1.0, overhead: float = 0.0) -> float:
    """Return the time of a step over that of a one-row target forward.

    Parameters
    ----------
    gamma : float
        Drafted tokens per step (a mean, when it varies).
    cost_ratio : float
        c = time of a draft forward / time of a one-row target forward.
    verify_cost : float or callable
        v = time of a target forward over gamma + 1 rows / over one row; a callable is asked for v(gamma + 1).
    overhead : float
        o = everything else in a step / time of a one-row target forward.

    Examples
    --------
    >>> step_cost(4, cost_ratio=0.05, verify_cost=lambda rows: 0.75 + 0.25 * rows)
    2.2
    """
    gamma = _checks.at_least("gamma", gamma, 0, "it counts drafted tokens per step, try 4")
    cost_ratio, overhead = _checks.cost("cost ratio", cost_ratio), _checks.cost("overhead", overhead)
    rows_cost = verify_cost(gamma + 1) if callable(verify_cost) else verify_cost
    # gamma c + v(gamma + 1) + o
    return gamma * cost_ratio + _checks.cost("verify cost", rows_cost) + overhead


def speedup(
    tokens_per_step: float,
    gamma: float,
    cost_ratio: float,
    verify_cost: VerifyCost = 1.0,
    overhead: float = 0.0,
) -> float:
    """Wall-time ratio of plain to speculative decoding.

    Parameters
    ----------
    tokens_per_step : float
        Tokens emitted per target forward, expected (``tau``) or measured.
    gamma : float
        Drafted tokens per step (a mean, when it varies). Of a tree: its levels, and ``verify_cost`` that of its rows.
    cost_ratio : float
        c = time of a draft forward / time of a one-row target forward.
    verify_cost : float or callable
        v = time of a target forward over gamma + 1 rows / over one row. Leviathan et al. assume 1.
    overhead : float
        o = everything else in a step / time of a one-row target forward.

    Raises
    ------
    OptionError
        If an argument is negative, or the step costs nothing.

    Notes
    -----
    Theorem 3.8 of Leviathan et al. 2023 with verify cost and overhead made explicit. It is the ratio for long
    responses; for short ones see :func:`~.response.response_speedup`.

    Examples
    --------
    >>> round(speedup(tau(0.8, 5), 5, cost_ratio=0.05), 3)
    2.951
    """
    tokens = _checks.at_least("tokens per step", tokens_per_step, 0, "it is tokens / steps of a run, or tau")
    cost = step_cost(gamma, cost_ratio, verify_cost, overhead)
    # tau / (gamma c + v + o)
    return tokens / _checks.above_zero("the cost of a step", cost, "a verifying forward takes time: verify cost 1")


def operations_factor(alpha: float, gamma: int, operations_ratio: float) -> float:
    """Return the arithmetic per token of speculative over that of plain decoding.

    Parameters
    ----------
    alpha : float
    gamma : int
    operations_ratio : float
        c^: operations per token of the draft / of the target.

    Notes
    -----
    Theorem 3.11 of Leviathan et al. 2023, (1 - alpha)(gamma c^ + gamma + 1) / (1 - alpha**(gamma+1)). At least 1, as
    tau <= gamma + 1: speculation never saves arithmetic, it saves reads of the target's weights (which shrink by tau).

    Examples
    --------
    >>> round(operations_factor(0.8, 5, 0.0), 2)
    1.63
    """
    ratio = _checks.at_least("operations ratio", operations_ratio, 0, "it is the draft's operations over the target's")
    # (gamma c^ + gamma + 1) / tau
    return (_checks.drafts(gamma) * ratio + gamma + 1) / tau(alpha, gamma)
