"""K-SEQ: several independent candidates for one position, all judged alike.

Source: Sun et al. 2023, "SpecTr". K candidates were drawn from q, independently. Each in turn is accepted
with probability min(1, p / (rho q)), and if none is, the token is drawn from what is missing,

    normalise(max(p - rho q, 0)).

rho is such that this is lossless: one candidate is accepted with probability b = sum min(p / rho, q), one of K with 1 -
(1 - b)**K, so that x comes out as a candidate with probability min(p / rho, q)(x) (1 - (1 - b)**K) / b. With 1 - (1 -
b)**K = rho b that is min(p, rho q)(x): never more than p(x), and what is missing is p - min(p, rho q), whose mass is
1 - rho b, the probability that none is accepted. By induction on the depth, so is the law of a path. With one candidate
rho = 1, and it is rejection sampling.

Unlike multi-round rejection (:mod:`~minispec.engine.verifiers.tree`) it has to know that the candidates are independent
and of one law: siblings drawn without replacement, or chosen, would bias it. It also has to know how many there are
before any is drawn. In a tree that grows (:mod:`~minispec.engine.drafters.trees.dynamic`) a sibling stays or goes by
what its elder drew. Then K, and with it rho, depends on the first candidate x, which is kept with probability min(1, p
/ (rho(x) q)); there is no one b, and the sum above fails. So that tree is refused.

It accepts at least 1 - (1 - 1/K)**K of what is possible (:func:`minispec.theory.optimal_acceptance`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from minispec.engine.noise import Coins
from minispec.engine.records import Draft, Verdict
from minispec.engine.verifiers.base import list_children, require_drawn, to_path
from minispec.engine.verifiers.rejection import residual
from minispec.errors import InvariantError
from minispec.theory import k_seq_divisor


def verify(draft: Draft, target_probs: NDArray[np.float64], coins: Coins) -> Verdict:
    """Walk down the accepted candidates; see :class:`verifiers.base.Verify`. On a chain it is rejection sampling.

    Raises
    ------
    InvariantError
        If a node does not come after its parent, the drafter gives a token it proposed probability 0, or siblings were
        not drawn from one law.
    """
    if not len(draft):
        return Verdict(0, coins.sample(0, target_probs[0]), "plain")
    following = list_children(draft)
    path: list[int] = []
    accept_probs: list[float] = []
    here = 0  # the row of the target, and the entry of ``following``, for the node we are at
    while siblings := following[here]:
        p, q = target_probs[here], draft.probs[siblings[0]]
        if any(not np.array_equal(draft.probs[node], q) for node in siblings[1:]):
            raise InvariantError("K-SEQ was handed siblings of several laws; they must be drawn with replacement")
        rho = k_seq_divisor(p, q, len(siblings))
        for node in siblings:
            accept_probs.append(min(1.0, float(p[draft.tokens[node]]) / (rho * require_drawn(draft, node))))
            if coins.accept(len(path), accept_probs[-1], node):
                path.append(node)
                here = node + 1
                break
        else:
            recovered = coins.residual(len(path), residual(p, rho * q))
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
