"""Any rule that tests a chain token by token, given two functions: the acceptance probability and the replacement.

:mod:`verifiers.rejection` spells this loop out for the one choice that is lossless for every draft. The lossy rules
choose other functions, and :func:`output_distribution` returns the distribution that results.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from minispec.engine.noise import Coins
from minispec.engine.records import Draft, Probs, Verdict
from minispec.engine.verifiers.base import require_chain, require_drawn

Keep = Callable[[Probs, Probs], Probs]
"""``keep(target_probs, draft_probs)``: for each token, the probability that it is accepted if drafted, shape (V,)."""

Replace = Callable[[Probs, Probs], Probs]
"""``replace(target_probs, draft_probs)``: the distribution of the token that replaces a rejected one, shape (V,)."""


def acceptance_probability(target_probs: Probs, draft_probs: Probs, *, keep: Keep) -> float:
    """Return sum_x q(x) keep(x)."""
    return float(draft_probs @ keep(target_probs, draft_probs))


def output_distribution(target_probs: Probs, draft_probs: Probs, *, keep: Keep, replace: Replace) -> Probs:
    """Return the distribution of the token that such a rule emits at a position where it judges a draft from q.

    A token leaves it accepted, or as the replacement of a rejected one.
    """
    # out(x) = q(x) keep(x) + (1 - sum_y q(y) keep(y)) replacement(x)
    accepted = draft_probs * keep(target_probs, draft_probs)
    rejected = float((draft_probs - accepted).sum())
    return accepted + rejected * replace(target_probs, draft_probs)


def verify(
    draft: Draft,
    target_probs: NDArray[np.float64],
    coins: Coins,
    *,
    keep: Keep,
    replace: Replace,
) -> Verdict:
    """Accept each draft with probability ``keep`` until the first rejection; see :class:`verifiers.base.Verify`.

    Raises
    ------
    InvariantError
        If the draft is a tree, or the drafter gives a token it proposed probability 0.
    """
    require_chain(draft)
    accept_probs: list[float] = []
    for i, token in enumerate(draft.tokens):
        require_drawn(draft, i)
        accept_probs.append(float(keep(target_probs[i], draft.probs[i])[token]))
        if not coins.accept(i, accept_probs[i]):
            recovered = coins.residual(i, replace(target_probs[i], draft.probs[i]))
            return Verdict(i, recovered, "recovered", tuple(accept_probs))
    if not draft.tokens:
        return Verdict(0, coins.sample(0, target_probs[0]), "plain")
    end = len(draft)
    bonus = coins.bonus(end, target_probs[end])
    return Verdict(end, bonus, "bonus", tuple(accept_probs))
