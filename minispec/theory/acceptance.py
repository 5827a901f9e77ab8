"""From two distributions to tokens per step: beta, tau, and the acceptance rate that is not alpha."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from minispec.errors import OptionError
from minispec.theory import _checks


def acceptance_probability(target_probs: NDArray[np.float64], draft_probs: NDArray[np.float64]) -> float:
    """Beta = sum_x min(p(x), q(x)) = 1 - TV(p, q): the probability that a token drawn from q is accepted.

    Parameters
    ----------
    target_probs, draft_probs : ndarray of shape (V,)

    Raises
    ------
    OptionError
        If one is no distribution, or the two have not one shape.

    Notes
    -----
    Theorem 3.5 of Leviathan et al. 2023; alpha is the mean of beta over prefixes (corollary 3.6). No exact rule for
    one draft accepts more: 1 - TV is what the best coupling of p and q reaches.

    Examples
    --------
    >>> acceptance_probability(np.array([0.5, 0.5]), np.array([0.9, 0.1]))
    0.6
    """
    if np.shape(target_probs) != np.shape(draft_probs):
        raise OptionError(
            f"the target's probabilities have shape {np.shape(target_probs)}, the draft's {np.shape(draft_probs)}; "
            "both are over one vocabulary; translate the draft's first"
        )
    p = _checks.distribution("the target's probabilities", target_probs)
    q = _checks.distribution("the draft's probabilities", draft_probs)
    # beta = sum_x min(p(x), q(x))
    return float(np.minimum(p, q).sum())


def tau(alpha: float, gamma: int) -> float:
    """Return the expected tokens per target pass, tau = sum_{k=0..gamma} alpha**k.

    Parameters
    ----------
    alpha : float
        Acceptance probability per evaluated position, in [0, 1].
    gamma : int
        Drafted tokens per step.

    Returns
    -------
    float
        Tokens per target pass, from 1 to gamma + 1.

    Notes
    -----
    The sum form of equation 1 of Leviathan et al. 2023; the closed form (1 - alpha**(gamma+1)) / (1 - alpha) is 0/0 at
    alpha = 1. It assumes acceptances that are independent and equally likely; see :func:`~.tokens.tau_by_position` and
    :func:`~.tokens.pooled_tau` for when they are not.

    Examples
    --------
    >>> round(tau(0.8, 5), 5)
    3.68928
    """
    alpha, gamma = _checks.probability("alpha", alpha), _checks.drafts(gamma)
    total = 1.0
    for _ in range(gamma):
        # sum_{k=0..gamma} alpha**k = 1 + alpha (1 + alpha (1 + ...)): monotone in alpha and gamma, rounding included
        total = 1.0 + alpha * total
    return total


def draft_acceptance_rate(alpha: float, gamma: int) -> float:
    """Return r = accepted / drafted, expected: what vLLM calls the draft acceptance rate. It is not alpha.

    After a rejection the rest of a draft counts as drafted and never had a chance; so r <= alpha, with equality only
    at gamma = 1, alpha = 0 and alpha = 1.

    Parameters
    ----------
    alpha : float
    gamma : int
        At least 1: no rate without drafts.

    Notes
    -----
    Whatever the acceptances, E[tokens per step] = 1 + r gamma; with it, r = (tau - 1) / gamma =
    alpha (1 - alpha**gamma) / (gamma (1 - alpha)).

    Examples
    --------
    >>> round(draft_acceptance_rate(0.8, 5), 3)
    0.538
    """
    gamma = _checks.drafts(gamma, low=1)
    # r = (tau - 1) / gamma
    return (tau(alpha, gamma) - 1.0) / gamma


def alpha_from_rate(rate: float, gamma: int) -> float:
    """Return the alpha at which drafts of ``gamma`` tokens have the acceptance rate ``rate`` = accepted / drafted.

    Parameters
    ----------
    rate : float
        In [0, 1].
    gamma : int
        Every step drafted as many, at least 1.

    Notes
    -----
    The inverse of :func:`draft_acceptance_rate`, by bisection: r grows with alpha, from 0 to 1. Of a run with both
    counts at hand, use accepted / evaluated instead (:func:`~.estimate.alpha_from_counts`): it needs no inversion and
    allows steps of different lengths.

    Examples
    --------
    720 of 1000 drafts were accepted, five at a time:

    >>> round(alpha_from_rate(0.72, 5), 3)
    0.892
    """
    rate, gamma = _checks.probability("acceptance rate", rate, "it is accepted / drafted"), _checks.drafts(gamma, low=1)
    # the alpha with r(alpha) = rate
    return _checks.smallest(lambda alpha: draft_acceptance_rate(alpha, gamma), rate)
