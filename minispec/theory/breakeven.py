"""Break-even: what acceptance and what costs a speedup needs."""

from __future__ import annotations

from minispec.theory import _checks
from minispec.theory.acceptance import tau
from minispec.theory.walltime import VerifyCost, step_cost


def can_pay(alpha: float, cost_ratio: float) -> bool:
    """Whether some gamma beats plain decoding, where v = 1 and o = 0: alpha > c, necessary and sufficient.

    Notes
    -----
    Corollary 3.9 of Leviathan et al. 2023: if alpha > c, gamma = 1 gains (1 + alpha) / (1 + c). Conversely tau(gamma) -
    1 = alpha + ... + alpha**gamma <= gamma alpha, so alpha <= c leaves tau <= 1 + gamma c at every gamma. With other v
    and o ask :func:`~.draft_length.best_gamma`: it answers gamma 0 where nothing pays.

    Examples
    --------
    >>> can_pay(0.3, 0.2), can_pay(0.2, 0.2)
    (True, False)
    """
    # alpha > c
    return _checks.probability("alpha", alpha) > _checks.cost("cost ratio", cost_ratio)


def break_even_rate(gamma: int, cost_ratio: float, verify_cost: VerifyCost = 1.0, overhead: float = 0.0) -> float:
    """Return the acceptance rate r = accepted / drafted above which drafts of ``gamma`` tokens pay.

    Returns
    -------
    float
        Above 1: they cannot pay.

    Notes
    -----
    tau = 1 + r gamma holds whatever the acceptances, so 1 + r gamma > gamma c + v + o is exact too.

    Examples
    --------
    >>> break_even_rate(5, cost_ratio=0.1, verify_cost=1.25)
    0.15
    """
    gamma = _checks.drafts(gamma, low=1)
    # r > (gamma c + v + o - 1) / gamma = c + (v - 1 + o) / gamma
    return (step_cost(gamma, cost_ratio, verify_cost, overhead) - 1.0) / gamma


def alpha_for_speedup(
    wanted: float, gamma: int, cost_ratio: float, verify_cost: VerifyCost = 1.0, overhead: float = 0.0
) -> float | None:
    """Return the smallest alpha at which drafts of ``gamma`` tokens reach a speedup; 1 is break-even.

    Parameters
    ----------
    wanted : float
        The speedup, a wall-time ratio > 0.
    gamma : int
    cost_ratio, verify_cost, overhead
        As in :func:`~.walltime.speedup`.

    Returns
    -------
    float or None
        None if even alpha = 1 does not reach it.

    Examples
    --------
    >>> round(alpha_for_speedup(1.0, 5, cost_ratio=0.2), 3), alpha_for_speedup(5.0, 5, cost_ratio=0.2)
    (0.509, None)
    """
    wanted = _checks.above_zero("the wanted speedup", wanted, "1 is break-even")
    gamma = _checks.drafts(gamma)
    # tau(alpha, gamma) = wanted (gamma c + v + o)
    needed = wanted * step_cost(gamma, cost_ratio, verify_cost, overhead)
    return None if tau(1.0, gamma) < needed else _checks.smallest(lambda alpha: tau(alpha, gamma), needed)


def cost_ratio_for_speedup(
    wanted: float, tokens_per_step: float, gamma: int, verify_cost: VerifyCost = 1.0, overhead: float = 0.0
) -> float | None:
    """Return the largest draft cost c at which a speedup is still reached; 1 is break-even.

    Parameters
    ----------
    wanted : float
        The speedup, a wall-time ratio > 0.
    tokens_per_step : float
        tau, expected or measured.
    gamma : int
        At least 1.
    verify_cost, overhead
        As in :func:`~.walltime.speedup`.

    Returns
    -------
    float or None
        None if even drafts that cost nothing do not reach it.

    Examples
    --------
    "Half of the drafts accepted gives 1.8x": as alpha, only with a draft that costs next to nothing; as accepted /
    drafted (tau = 1 + r gamma = 3), easily.

    >>> [round(cost_ratio_for_speedup(1.8, tokens, 4), 3) for tokens in (tau(0.5, 4), 1 + 0.5 * 4)]
    [0.019, 0.167]
    """
    wanted = _checks.above_zero("the wanted speedup", wanted, "1 is break-even")
    tokens = _checks.at_least("tokens per step", tokens_per_step, 0, "it is tokens / steps of a run, or tau")
    gamma = _checks.drafts(gamma, low=1)
    # c = (tau / wanted - v - o) / gamma
    ratio = (tokens / wanted - step_cost(gamma, 0.0, verify_cost, overhead)) / gamma
    return None if ratio < 0.0 else ratio
