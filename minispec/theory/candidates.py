"""Several candidates for one position: the most that any exact rule accepts, and what K-SEQ accepts.

K candidates are drawn independently from q; the emitted token must have the law p. What is the largest probability
that the emitted token is one of the candidates? It is a transport problem: the sets of candidates have to be matched
with tokens, so that each set gives its mass to tokens, and each token x receives p(x) at most.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from minispec.errors import OptionError
from minispec.theory import _checks

Row = NDArray[np.float64]

_COUNT_WAY_OUT = "one candidate is plain speculation"


def optimal_acceptance(target_probs: Row, draft_probs: Row, num_candidates: int) -> float:
    """Return the largest P(the emitted token is one of K independent candidates) of any exact rule.

    Parameters
    ----------
    target_probs, draft_probs : ndarray of shape (V,)
    num_candidates : int
        K, at least 1.

    Raises
    ------
    OptionError
        If one is no distribution, the two have not one shape, or K is no whole number from 1 on.

    Notes
    -----
    The bound is min over sets H of tokens of p(H) + 1 - q(H)**K (Hu et al. 2025, "Towards Optimal Multi-draft
    Speculative Decoding"; K = 1 is 1 - TV, Sun et al. 2023, "SpecTr"). It is the smallest cut of the transport network:
    cut what the tokens of H may receive, p(H), and every set of candidates that is not within H, 1 - q(H)**K; by
    max-flow = min-cut a coupling reaches it.

    The V + 1 sets that have the tokens of the smallest p / q are enough. For let H be best and l = K q(H)**(K - 1). As
    t**K is convex, q(G)**K >= q(H)**K + l (q(G) - q(H)) for every G, so that p(G) + 1 - q(G)**K <= p(G) - l q(G) +
    const, with equality at G = H; the right side is smallest at G = {x : p(x) < l q(x)}, which is then no worse than H.

    Examples
    --------
    >>> p, q = np.array([0.5, 0.3, 0.15, 0.05]), np.array([0.2, 0.5, 0.1, 0.2])
    >>> [round(optimal_acceptance(p, q, k), 3) for k in (1, 2, 3)]
    [0.65, 0.86, 0.988]

    1 - (1 - alpha)**K, with alpha = sum min(p, q), is neither this nor a bound on it: here it is .8775 for two, and

    >>> round(optimal_acceptance(np.array([0.9, 0.1]), np.array([0.5, 0.5]), 2), 3), round(1 - (1 - 0.6) ** 2, 3)
    (0.85, 0.84)
    """
    p, q = _distributions(target_probs, draft_probs)
    count = _checks.whole("the number of candidates", num_candidates, 1, 2**31, _COUNT_WAY_OUT)
    # p < l q, for every l: tokens in the order of p / q, those that are never drafted last
    order = np.argsort(np.divide(p, q, out=np.full(p.shape, np.inf), where=q > 0.0), kind="stable")
    of_p, of_q = (np.concatenate([[0.0], np.cumsum(row[order])]) for row in (p, q))
    # min_H p(H) + 1 - q(H)**K
    return float(min(1.0, (of_p + 1.0 - np.minimum(1.0, of_q) ** count).min()))


def k_seq_divisor(target_probs: Row, draft_probs: Row, num_candidates: int) -> float:
    """Return rho of K-SEQ: each of K candidates is accepted with probability min(1, p / (rho q)).

    Returns
    -------
    float
        From 1 to K.

    Notes
    -----
    Sun et al. 2023, "SpecTr", K-SEQ: 1 - (1 - b)**K = rho b with b = sum min(p / rho, q), the acceptance of one
    candidate. Then x is accepted with probability min(p / rho, q)(x) (1 - (1 - b)**K) / b = min(p, rho q)(x) <= p(x),
    as an exact rule must have it, and what is missing is drawn from p - min(p, rho q). The left side falls in rho, the
    right side = sum min(p, rho q) rises; the left is not below the right at 1 and not above it at K.

    Examples
    --------
    >>> p, q = np.array([0.5, 0.3, 0.15, 0.05]), np.array([0.2, 0.5, 0.1, 0.2])
    >>> [round(k_seq_divisor(p, q, k), 4) for k in (1, 2, 3)]
    [1.0, 1.4603, 1.7926]
    """
    p, q = _pair(target_probs, draft_probs)
    count = _checks.whole("the number of candidates", num_candidates, 1, 2**31, _COUNT_WAY_OUT)
    if not np.minimum(p, q).sum() > 0.0:
        return 1.0  # nothing that is drafted can be accepted: any divisor does

    def excess(share: float) -> float:
        # sum min(p, rho q) - (1 - (1 - b)**K) at rho = 1 + (K - 1) share, rising
        rho = 1.0 + (count - 1) * share
        taken = float(np.minimum(p, rho * q).sum())
        return taken - (1.0 - (1.0 - min(1.0, taken / rho)) ** count)

    return 1.0 + (count - 1) * _checks.smallest(excess, 0.0) if excess(1.0) >= 0.0 else float(count)


def k_seq_acceptance(target_probs: Row, draft_probs: Row, num_candidates: int) -> float:
    """Return the probability that K-SEQ accepts one of K independent candidates, 1 - (1 - b)**K = sum min(p, rho q).

    Notes
    -----
    See :func:`k_seq_divisor`. At least 1 - (1 - 1/K)**K >= 63 % of :func:`optimal_acceptance` (Sun et al. 2023).

    Examples
    --------
    >>> p, q = np.array([0.5, 0.3, 0.15, 0.05]), np.array([0.2, 0.5, 0.1, 0.2])
    >>> [round(k_seq_acceptance(p, q, k), 4) for k in (1, 2, 3)]
    [0.65, 0.7881, 0.8585]
    """
    _distributions(target_probs, draft_probs)
    rho = k_seq_divisor(target_probs, draft_probs, num_candidates)
    # sum_x min(p(x), rho q(x))
    return float(np.minimum(target_probs, rho * np.asarray(draft_probs)).sum())


def _distributions(target_probs: Row, draft_probs: Row) -> tuple[Row, Row]:
    p, q = _pair(target_probs, draft_probs)
    return _checks.distribution("the target's probabilities", p), _checks.distribution("the draft's probabilities", q)


def _pair(target_probs: Row, draft_probs: Row) -> tuple[Row, Row]:
    p, q = np.asarray(target_probs, np.float64), np.asarray(draft_probs, np.float64)
    if p.shape != q.shape or p.ndim != 1:
        raise OptionError(
            f"the target's probabilities have shape {p.shape}, the draft's {q.shape}; both are one row over one "
            "vocabulary; translate the draft's first"
        )
    return p, q
