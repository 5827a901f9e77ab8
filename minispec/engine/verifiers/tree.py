"""Multi-round rejection over a tree: several candidates for one position, tried in turn.

SpecInfer (Miao et al. 2023) for candidates drawn independently, Sequoia (Chen et al. 2024) for candidates drawn without
replacement. At each node the target's distribution p is what is *wanted*. A candidate x drawn from q is accepted with
probability min(1, wanted(x) / q(x)); after a rejection the next one is judged by what is wanted still,

    wanted <- normalise(max(wanted - q, 0)),

and if all are rejected the token is drawn from that. Why it is lossless: one round is rejection sampling with target
``wanted``, whose recovered token may come from *any* procedure that draws from ``wanted`` after the update, another
round of rejection sampling for one. By induction on the rounds the token has distribution p; by induction on the depth
the whole text has the target's law.

The rule needs only the q that each candidate was really drawn from. Independent candidates share a row; without
replacement each row is what was left when its turn came; a deterministic candidate has a one-hot row, is accepted
with probability wanted(x), and a rejection takes x out: a set S of them is accepted with probability p(S). A candidate
that was drawn twice is tested twice: omitting the repetition would bias the text.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from minispec.engine.noise import Coins
from minispec.engine.records import Draft, Probs, Verdict
from minispec.engine.verifiers.base import list_children, require_drawn, to_path
from minispec.engine.verifiers.rejection import residual
from minispec.theory import acceptance_probability as one_round


def acceptance_probability(target_probs: Probs, candidate_probs: Sequence[Probs]) -> float:
    """Return the probability that one of several candidates is accepted: 1 - prod_k (1 - sum_x min(wanted_k, q_k)).

    Parameters
    ----------
    target_probs : ndarray of shape (V,)
    candidate_probs : sequence of ndarray of shape (V,)
        What each candidate is drawn from; none may depend on which candidates came before (without replacement they
        do: average over them).

    Examples
    --------
    >>> p, q = np.array([0.5, 0.3, 0.15, 0.05]), np.array([0.2, 0.5, 0.1, 0.2])
    >>> [round(acceptance_probability(p, [q] * k), 3) for k in (1, 2, 3)]
    [0.65, 0.755, 0.819]
    """
    wanted, all_rejected = target_probs, 1.0
    for probs in candidate_probs:
        all_rejected *= 1.0 - one_round(wanted, probs)
        wanted = residual(wanted, probs)
    return 1.0 - all_rejected


def verify(draft: Draft, target_probs: NDArray[np.float64], coins: Coins) -> Verdict:
    """Walk down the accepted candidates; see :class:`verifiers.base.Verify`. On a chain it is rejection sampling.

    Raises
    ------
    InvariantError
        If a node does not come after its parent, or the drafter gives a token it proposed probability 0.
    """
    if not len(draft):
        return Verdict(0, coins.sample(0, target_probs[0]), "plain")
    following = list_children(draft)
    path: list[int] = []
    accept_probs: list[float] = []
    here = 0  # the row of the target, and the entry of ``following``, for the node we are at
    while following[here]:
        wanted = target_probs[here]
        for node in following[here]:
            p, q = float(wanted[draft.tokens[node]]), require_drawn(draft, node)
            accept_probs.append(min(1.0, p / q))
            if coins.accept(len(path), accept_probs[-1], node):
                path.append(node)
                here = node + 1
                break
            wanted = residual(wanted, draft.probs[node])
        else:
            recovered = coins.residual(len(path), wanted)
            return Verdict(
                num_accepted=len(path),
                next_token=recovered,
                source="recovered",
                accept_probs=tuple(accept_probs),
                path=to_path(draft, path),
            )
    bonus = coins.bonus(len(path), target_probs[here])
    return Verdict(
        num_accepted=len(path),
        next_token=bonus,
        source="bonus",
        accept_probs=tuple(accept_probs),
        path=to_path(draft, path),
    )
