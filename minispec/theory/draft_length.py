"""How many tokens to draft: the best fixed number, and when to stop a draft."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from minispec.theory import _checks
from minispec.theory.walltime import VerifyCost, speedup

TIE = 1e-12
"""A longer draft must be better by more than rounding."""


class BestGamma(NamedTuple):
    """The draft length with the best speedup; gamma 0 is plain decoding, at speedup 1.

    Attributes
    ----------
    gamma : int
    speedup : float
        eta*, the wall-time ratio there.
    tokens_per_step : float
        tau there.
    """

    gamma: int
    speedup: float
    tokens_per_step: float


def best_gamma_by_position(
    acceptances: Sequence[float], cost_ratio: float, verify_cost: VerifyCost = 1.0, overhead: float = 0.0
) -> BestGamma:
    """Return the best number of drafted tokens, at most ``len(acceptances)``, by trying each.

    Parameters
    ----------
    acceptances : sequence of float
        a_1, a_2, ..., each given that those before it were accepted.
    cost_ratio, verify_cost, overhead
        As in :func:`~.walltime.speedup`; a ``verify_cost`` that is a number holds for every gamma >= 1.

    Notes
    -----
    Where v is a number or convex, the speedup rises from gamma 1 to its maximum and falls after it
    (``docs/theory.md``); a measured
    v has steps, so nothing is assumed here. Of equally good lengths, the shortest. Gamma 0 is plain decoding and costs
    1: it has no overhead.

    Examples
    --------
    Where the second row costs most, a draft must be long to pay:

    >>> steep = lambda rows: 1.0 if rows == 1 else 2.0 + 0.01 * rows
    >>> best_gamma_by_position([0.8] * 20, 0.02, steep).gamma
    12
    """
    tokens, reached, best = 1.0, 1.0, BestGamma(0, 1.0, 1.0)
    for i, a in enumerate(_checks.probabilities("acceptance", acceptances)):
        # s_k = s_{k-1} a_k;  tau(k) = tau(k-1) + s_k
        reached *= a
        tokens += reached
        eta = speedup(tokens, i + 1, cost_ratio, verify_cost, overhead)
        if eta > best.speedup * (1.0 + TIE):
            best = BestGamma(i + 1, eta, tokens)
    return best


def best_gamma(
    alpha: float, cost_ratio: float, verify_cost: VerifyCost = 1.0, overhead: float = 0.0, *, max_gamma: int = 64
) -> BestGamma:
    """Return the best number of drafted tokens for one alpha, at most ``max_gamma``.

    Parameters
    ----------
    alpha : float
    cost_ratio, verify_cost, overhead
        As in :func:`~.walltime.speedup`; a ``verify_cost`` that is a number holds for every gamma >= 1.
    max_gamma : int
        Where drafts are free there is no best length, only a longest.

    Notes
    -----
    Leviathan et al. 2023, section 3.5.

    Examples
    --------
    >>> best = best_gamma(0.8, cost_ratio=0.05)
    >>> best.gamma, round(best.speedup, 3)
    (8, 3.092)
    """
    acceptances = [_checks.probability("alpha", alpha)] * _checks.drafts(max_gamma)
    return best_gamma_by_position(acceptances, cost_ratio, verify_cost, overhead)


def one_more_pays(reach_probability: float, best_speedup: float, cost_ratio: float, row_cost: float = 0.0) -> bool:
    """Whether drafting one more token raises the speedup: the rule to stop a draft by.

    Parameters
    ----------
    reach_probability : float
        P(all drafts so far and the next one are accepted), given what is known of them.
    best_speedup : float
        eta*, tokens per unit of time that the policy reaches.
    cost_ratio : float
        c.
    row_cost : float
        v(m + 1) - v(m): what one more row adds to the verifying pass.

    Notes
    -----
    The next draft adds ``reach_probability`` tokens and c + v(m + 1) - v(m) of time, which elsewhere yields eta* tokens
    per unit: reach > (c + v(m + 1) - v(m)) eta*. With s = alpha**gamma and eta(gamma - 1) for eta* it says whether eta
    still rises at gamma.

    Examples
    --------
    >>> one_more_pays(0.8**8, best_gamma(0.8, 0.05).speedup, 0.05), one_more_pays(0.8**9, 3.0918, 0.05)
    (True, False)
    """
    reach = _checks.probability("reach probability", reach_probability, "it is the product of the acceptances")
    eta = _checks.at_least("best speedup", best_speedup, 0, "it is a ratio of two times")
    added = _checks.cost("cost ratio", cost_ratio) + _checks.cost("row cost", row_cost)
    # s_{k+1} > (c + v(m + 1) - v(m)) eta*
    return reach > added * eta
