"""Sample matching with a draft that is drawn with the target's own noise.

``categorical`` is an exponential race: token x wins iff E_x / p_x is smallest (the Gumbel-max trick in another
guise). Let the drafter run its race on the *same* E, addressed by position alone: it will often have the same winner.
The rule itself is :mod:`verifiers.match`, so the text is that of plain sampling with the same seed, whatever the
draft; only the number of matches grows. Such a draft is for this rule alone: a position that is drafted again after a
rejection is drafted with the same noise again, which would bias a rule that looks at discarded drafts (block).

Daliri, Musco and Suresh, "Coupling without Communication and Drafter-Invariant Speculative Decoding" (2024). Both
races are won by x iff E_y >= E_x max(p_y / p_x, q_y / q_x) for every y, and E_x is the smallest of independent
exponentials with those rates; hence

    P(both x) = 1 / sum_y max(p_y / p_x, q_y / q_x)

which lies between p_x q_x, independent matching, and min(p_x, q_x), the best any coupling can do; its sum over x is
at least (1 - TV) / (1 + TV).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from minispec.engine.noise import Coins
from minispec.engine.records import Draft, Probs, Verdict
from minispec.engine.verifiers import match
from minispec.engine.verifiers.base import require_chain, require_drawn


def match_probability(target_probs: Probs, draft_probs: Probs, token: int) -> float:
    """Return the probability that the target draws ``token``, given that the coupled drafter drew it."""
    p, q = float(target_probs[token]), float(draft_probs[token])
    if p == 0.0:
        return 0.0
    # P(both x) / q_x = 1 / sum_y max(q_x p_y / p_x, q_y)
    with np.errstate(over="ignore"):
        total = float(np.maximum(q * (target_probs / p), draft_probs).sum())
    return 1.0 / max(1.0, total)  # the sum is at least that of draft_probs, which is 1 up to rounding


def acceptance_probability(target_probs: Probs, draft_probs: Probs) -> float:
    """Return sum_x 1 / sum_y max(p_y / p_x, q_y / q_x) over the tokens that both may draw.

    Examples
    --------
    >>> round(acceptance_probability(np.array([0.6, 0.3, 0.1]), np.array([0.3, 0.5, 0.2])), 6)
    0.694118
    """
    drawn = np.flatnonzero(draft_probs)
    return sum(float(draft_probs[x]) * match_probability(target_probs, draft_probs, int(x)) for x in drawn)


def survival(before: float, target_probs: Probs, draft_probs: Probs, token: int) -> float:
    """Return s_i = s_{i-1} P(the target draws x_i | the drafter did): positions have independent noise."""
    return before * match_probability(target_probs, draft_probs, token)


def verify(draft: Draft, target_probs: NDArray[np.float64], coins: Coins) -> Verdict:
    """Judge as ``match`` does; only the ``accept_probs`` differ: they are those of coupled draws.

    They hold for deterministic drafts as well: one-hot rows draw the same token whatever the noise, and the formula
    gives p(x).

    Raises
    ------
    InvariantError
        If the draft is a tree, or the drafter gives a token it proposed probability 0.
    """
    require_chain(draft)
    for i in range(len(draft)):
        require_drawn(draft, i)
    verdict = match.verify(draft, target_probs, coins)
    num_compared = len(verdict.accept_probs)
    if not num_compared:
        return verdict
    accept_probs = [match_probability(target_probs[i], draft.probs[i], draft.tokens[i]) for i in range(num_compared)]
    return replace(verdict, accept_probs=tuple(accept_probs), path=None)
