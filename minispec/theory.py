"""Formulas only: what speculation gains, given how often drafts are accepted and what they cost.

Letters follow Leviathan, Kalman and Matias, "Fast Inference from Transformers via Speculative Decoding" (ICML 2023):
p is the target's distribution, q the draft's, beta the acceptance probability at one prefix, alpha its expectation.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from minispec.errors import OptionError


def acceptance_probability(target_probs: NDArray[np.float64], draft_probs: NDArray[np.float64]) -> float:
    """Beta = sum_x min(p(x), q(x)) = 1 - TV(p, q): the probability that a token drawn from q is accepted.

    Parameters
    ----------
    target_probs, draft_probs : ndarray of shape (V,)

    Notes
    -----
    Theorem 3.5 of Leviathan et al. 2023.

    Examples
    --------
    >>> acceptance_probability(np.array([0.5, 0.5]), np.array([0.9, 0.1]))
    0.6
    """
    return float(np.minimum(target_probs, draft_probs).sum())


def _check(alpha: float, gamma: int) -> None:
    if not 0.0 <= alpha <= 1.0:
        raise OptionError(f"alpha is {alpha}; an acceptance probability lies in [0, 1]")
    if gamma < 0:
        raise OptionError(f"gamma is {gamma}; the number of drafted tokens must be >= 0")


def tau(alpha: float, gamma: int) -> float:
    """Return the expected tokens per target forward, tau = sum_{k=0..gamma} alpha**k.

    The sum form of equation 1 of Leviathan et al. 2023; the closed form (1 - alpha**(gamma+1)) / (1 - alpha) is 0/0 at
    alpha = 1. It assumes acceptances that are independent and equally likely.

    Examples
    --------
    >>> round(tau(0.8, 5), 5)
    3.68928
    """
    _check(alpha, gamma)
    return float(sum(alpha**k for k in range(gamma + 1)))


def speedup(tokens_per_step: float, gamma: float, cost_ratio: float, verify_cost: float = 1.0) -> float:
    """Wall-time ratio of plain to speculative decoding.

    Parameters
    ----------
    tokens_per_step : float
        Tokens emitted per target forward, expected (``tau``) or measured.
    gamma : float
        Drafted tokens per step (a mean, when it varies).
    cost_ratio : float
        c = time of a draft forward / time of a one-row target forward.
    verify_cost : float
        v = time of a target forward over gamma + 1 rows / over one row. Leviathan et al. assume 1.

    Notes
    -----
    Theorem 3.8 of Leviathan et al. 2023 with the verify cost made explicit: tau / (gamma * c + v).

    Examples
    --------
    >>> round(speedup(tau(0.8, 5), 5, cost_ratio=0.05), 3)
    2.951
    """
    if cost_ratio < 0.0:
        raise OptionError(f"cost ratio is {cost_ratio}; a ratio of two times is >= 0")
    return tokens_per_step / (gamma * cost_ratio + verify_cost)
