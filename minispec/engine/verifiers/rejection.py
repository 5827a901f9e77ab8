"""Stop 2 of 13: rejection sampling, the rule that decides which draft tokens are accepted.

Algorithm 1 of Leviathan, Kalman and Matias 2023 (p is the target's distribution, q the draft's). Why the output is
exactly p: a token x leaves this rule either accepted, with probability q(x) min(1, p(x)/q(x)) = min(p(x), q(x)), or
as the recovered token, with probability (1 - sum min(p, q)) * residual(x) = max(p(x) - q(x), 0). The two add up to
p(x).

Next: `drafters/base.py`, where the drafts come from.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from minispec.engine.noise import Coins
from minispec.engine.records import Draft, Probs, Verdict
from minispec.engine.verifiers.base import require_chain, require_drawn


def residual(target_probs: NDArray[np.float64], draft_probs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return normalise(max(p - q, 0)), what a rejected token is replaced from.

    Parameters
    ----------
    target_probs, draft_probs : ndarray of shape (V,)

    Returns
    -------
    ndarray of shape (V,)
        p itself where p - q has no positive part: then nothing can be rejected, except by rounding.
    """
    positive = np.maximum(target_probs - draft_probs, 0.0)
    mass = positive.sum()
    return positive / mass if mass > 0.0 else target_probs


def survival(before: float, target_probs: Probs, draft_probs: Probs, token: int) -> float:
    """Return s_i = s_{i-1} min(1, p(x_i) / q(x_i)); see :mod:`verifiers.expected`."""
    return before * min(1.0, float(target_probs[token]) / float(draft_probs[token]))


def verify(draft: Draft, target_probs: NDArray[np.float64], coins: Coins) -> Verdict:
    """Accept each draft with probability min(1, p/q) until the first rejection; see :class:`verifiers.base.Verify`.

    Raises
    ------
    InvariantError
        If the drafter gives a token it proposed probability 0: then q is not what the token was drawn from. Or if the
        draft is a tree.
    """
    require_chain(draft)
    accept_probs: list[float] = []
    for i, token in enumerate(draft.tokens):
        p, q = float(target_probs[i, token]), require_drawn(draft, i)
        accept_probs.append(min(1.0, p / q))
        if not coins.accept(i, accept_probs[i]):
            recovered = coins.residual(i, residual(target_probs[i], draft.probs[i]))
            return Verdict(i, recovered, "recovered", tuple(accept_probs))
    if not draft.tokens:
        return Verdict(0, coins.sample(0, target_probs[0]), "plain")
    end = len(draft)
    bonus = coins.bonus(end, target_probs[end])
    return Verdict(end, bonus, "bonus", tuple(accept_probs))
