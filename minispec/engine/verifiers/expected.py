"""How many drafts a rule keeps on average: exact, for two models small enough to enumerate.

Every rule here has a *survival*: s_i(x_1..x_i), the probability that the first i drafts stay, given what they are.
Then E[tau] = sum_i P(tau >= i) = sum_i E_{x ~ q}[s_i]. The rules differ in one line:

    rejection  s_i = s_{i-1} min(1, p / q)              match   s_i = s_{i-1} p
    block      s_i = min(1, s_{i-1} p / q)              gumbel  s_i = s_{i-1} / (q_x sum_y max(p_y / p_x, q_y / q_x))
    lenient    s_i = s_{i-1} min(1, p / (l q))          typical s_i = s_{i-1} [p above the threshold]

and from p q_x <= 1 / sum_y max(p_y / p_x, q_y / q_x) <= min(p, q), and s min(1, r) <= min(1, s r) for s <= 1, follows
on every path, whatever p and q: match <= gumbel <= rejection <= block.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from minispec.engine.records import Probs
from minispec.engine.verifiers.base import Survival

NextProbs = Callable[[tuple[int, ...]], Probs]
"""The distribution of the next token after the drafted prefix."""


def expected_accepted(survival: Survival, target: NextProbs, draft: NextProbs, gamma: int) -> float:
    """Return E[tau], the expected number of kept drafts out of ``gamma`` drawn from ``draft``.

    Notes
    -----
    Cost: V ** gamma prefixes.

    Examples
    --------
    Sun et al.'s example of what block verification gains, 10/9 against 11/9:

    >>> from minispec.engine.verifiers import block, rejection
    >>> p, q = np.array([1, 2]) / 3, np.array([2, 1]) / 3
    >>> round(expected_accepted(rejection.survival, lambda _: p, lambda _: q, 2), 4)
    1.1111
    >>> round(expected_accepted(block.survival, lambda _: p, lambda _: q, 2), 4)
    1.2222
    """

    def from_here(prefix: tuple[int, ...], before: float) -> float:
        if len(prefix) == gamma:
            return 0.0
        p, q = target(prefix), draft(prefix)
        total = 0.0
        for token in map(int, np.flatnonzero(q)):
            survived = survival(before, p, q, token)
            total += float(q[token]) * (survived + from_here((*prefix, token), survived))
        return total

    return from_here((), 1.0)
