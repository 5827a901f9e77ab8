"""LOSSY on purpose: rejection sampling with a lenience l in (0, 1]; l = 1 is rejection sampling.

Leviathan, Kalman and Matias 2023, appendix A.5: multiply q by l before comparing, i.e. accept with probability
min(1, p(x) / (l q(x))). Acceptance rises from sum min(p, q) to sum min(p / l, q), and no token is emitted with more
than p(x) / l.

The paper changes the comparison only, so a rejected token is still replaced from normalise(max(p - q, 0)), which is
also the best choice. Where q > p, tokens come out min(q, p / l) - p too often; that excess is unavoidable given the
acceptances, and this residual adds nothing to it. So the distance to the target's distribution is

    TV(output, p) = sum min(p / l, q) - sum min(p, q):

what lenience gains in acceptance is exactly what it loses in truth.

At temperature 0 the rows are one-hot, p(x) / l is 0 or at least 1, and lenience does nothing. (The paper's rule for
that case compares probabilities from before the argmax.)
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from minispec.engine.noise import Coins
from minispec.engine.records import Draft, Probs, Verdict
from minispec.engine.verifiers import one_by_one
from minispec.engine.verifiers.rejection import residual


def keep(target_probs: Probs, draft_probs: Probs, *, lenience: float) -> Probs:
    """Return min(1, p / (l q)) for every token."""
    with np.errstate(over="ignore"):  # an absurdly small l: infinitely many times as likely is also certain
        scaled = target_probs / lenience
    # min(1, (p / l) / q), dividing only where the quotient is below 1
    return np.divide(scaled, draft_probs, out=np.ones_like(scaled), where=scaled < draft_probs)


def acceptance_probability(target_probs: Probs, draft_probs: Probs, *, lenience: float) -> float:
    """Return alpha_l = sum_x min(p(x) / l, q(x)).

    Examples
    --------
    >>> p, q = np.array([0.5, 0.3, 0.15, 0.05]), np.array([0.2, 0.5, 0.1, 0.2])
    >>> round(acceptance_probability(p, q, lenience=1.0), 3), round(acceptance_probability(p, q, lenience=0.5), 3)
    (0.65, 0.9)
    """
    with np.errstate(over="ignore"):
        return float(np.minimum(target_probs / lenience, draft_probs).sum())


def survival(before: float, target_probs: Probs, draft_probs: Probs, token: int, *, lenience: float) -> float:
    """Return s_i = s_{i-1} min(1, p(x_i) / (l q(x_i)))."""
    return before * float(keep(target_probs, draft_probs, lenience=lenience)[token])


def output_distribution(target_probs: Probs, draft_probs: Probs, *, lenience: float) -> Probs:
    """Return min(p / l, q) + (1 - alpha_l) residual, the distribution of a token at a judged position."""
    return one_by_one.output_distribution(
        target_probs, draft_probs, keep=partial(keep, lenience=lenience), replace=residual
    )


def verify(
    draft: Draft,
    target_probs: NDArray[np.float64],
    coins: Coins,
    *,
    lenience: float,
) -> Verdict:
    """Accept each draft with probability min(1, p / (l q)) until the first rejection."""
    accept = partial(keep, lenience=lenience)
    return one_by_one.verify(draft, target_probs, coins, keep=accept, replace=residual)
