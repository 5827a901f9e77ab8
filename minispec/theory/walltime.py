"""Wall time: what a step costs and what speculation gains; and what it costs in arithmetic.

The cost of a step, in plain steps, is gamma c + v(gamma + 1) + o. A *plain step* is what plain decoding takes per
token, u = t(1) + o_1: a one-row target pass and what is done around it (sampling). In that unit the speedup is
exact. Where only passes are known (data sheets, rooflines), o_1 is taken for 0: a plain step is a one-row pass.
"""

from __future__ import annotations

from collections.abc import Callable

from minispec.theory import _checks
from minispec.theory.acceptance import tau

VerifyCost = float | Callable[[float], float]
"""v: the cost of the verifying pass in place of the one-row one; or the function m -> v(m) of its rows."""


def step_cost(gamma: float, cost_ratio: float, verify_cost: VerifyCost = 1.0, overhead: float = 0.0) -> float:
    """Return the time of a step over that of a plain step, u = t(1) + o_1.

    Parameters
    ----------
    gamma : float
        Drafted tokens per step (a mean, when it varies).
    cost_ratio : float
        c = time of drafting one token / u.
    verify_cost : float or callable
        v(m) = 1 + (t(m) - t(1)) / u for a target pass over m = gamma + 1 rows; a callable is asked for v(gamma + 1).
    overhead : float
        o = (everything else in a step - o_1) / u.

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
        Tokens emitted per target pass, expected (``tau``) or measured.
    gamma : float
        Drafted tokens per step (a mean, when it varies). Of a tree: its levels, and ``verify_cost`` that of its rows.
    cost_ratio, verify_cost, overhead
        c, v and o, as in :func:`step_cost`. Leviathan et al. assume v = 1 and o = 0.

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


def ahead_speedup(gamma: int, cost_ratio: float, verify_cost: VerifyCost, usable: float) -> float:
    """Return how much faster steps become when the draft goes on while the target verifies.

    Parameters
    ----------
    gamma : int
        At least 1.
    cost_ratio, verify_cost
        c and v, as in :func:`step_cost`; draft and target do not slow each other down.
    usable : float
        h: the probability that the draft made ahead is of use. Of one made for the likeliest outcome (all accepted, and
        the target's own token guessed) about alpha**(gamma + 1); drafts for more outcomes (speculative speculative
        decoding) raise it.

    Notes
    -----
    Ahead means gamma + 1 passes: one more, to guess the token that the target adds. If they are of use, the next
    verification starts when both are done, after max(v, (gamma + 1) c). If not, they are given up when the verdict is
    there, and the draft is made: v + gamma c, what it takes without overlap. So this is never below 1 while
    (gamma + 1) c <= gamma c + v, and at most (gamma c + v) / max(v, (gamma + 1) c).

    Examples
    --------
    >>> [round(ahead_speedup(gamma, 0.5, 1.0, h), 2) for gamma, h in ((1, 0.625), (3, 0.409))]
    [1.26, 1.09]
    """
    usable = _checks.probability("usable", usable, "it is the share of drafts made ahead that are of use")
    alone = step_cost(_checks.drafts(gamma, low=1), cost_ratio, verify_cost)
    cost_ratio = _checks.cost("cost ratio", cost_ratio)
    together = max(step_cost(gamma, 0.0, verify_cost), (gamma + 1) * cost_ratio)
    # (gamma c + v) / (h max(v, (gamma + 1) c) + (1 - h)(gamma c + v))
    cost = usable * together + (1.0 - usable) * alone
    return alone / _checks.above_zero("the cost of a step", cost, "a verifying forward takes time: verify cost 1")


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
