"""Traversal verification: a tree is judged from its leaves to its root, each path as a whole.

Weng et al., "Traversal Verification for Speculative Tree Decoding" (2025, arXiv 2505.12398). To a tree what block
verification is to a chain, and on a chain the same: ratios along a path are multiplied and clipped only at 1, and a
node that fails is dropped alone, its parent and its siblings still in play.

Each node has a *rate* r, the probability, given the tokens up to it, that the text is to run through it, and a row p,
the target's distribution after it. The root has rate 1. Its children are tried in turn, each with all that hangs on
it. A child x that was drawn from q has the rate

    min(1, r p(x) / q(x)).

If the text does not run through it, the node itself is left with what is missing,

    r <- Z / (Z + 1 - r),     p <- max(r p - q, 0) / Z,     Z = sum_x max(r p(x) - q(x), 0),

and the next child is tried against that. A node without further children is kept with probability r, and the next token
is drawn from its p.

Why this is the target's law. Suppose that the text runs through a child x with probability exactly its rate, and goes
on from there as the target does. Then x is next with probability q(x) min(1, r p(x) / q(x)) = min(r p(x), q(x)), of the
r p(x) that are wanted. What is wanted still is max(r p - q, 0), of mass Z, and it is wanted only where the child
failed, which has probability 1 - sum_x min(r p(x), q(x)) = 1 - r + Z: that is the new rate, and the new row. By
induction on the children, and on the height of the tree, the text runs through every node with its rate, and through
the root always. As in :mod:`~minispec.engine.verifiers.tree`, all the rule needs to know is which row each token was
really drawn from.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from minispec.engine.noise import Coins
from minispec.engine.records import Draft, Probs, Verdict
from minispec.engine.verifiers.base import list_children, require_drawn, to_path
from minispec.engine.verifiers.block import block_residual, survival


@dataclass(slots=True)
class _Place:
    """A node on the path that is being tried: -1 is the root."""

    node: int
    rate: float
    wanted: Probs
    untried: list[int]


def verify(draft: Draft, target_probs: NDArray[np.float64], coins: Coins) -> Verdict:
    """Keep the first node, in the order of a traversal, whose coin says yes; see :class:`verifiers.base.Verify`.

    ``accept_probs`` holds the rate of every node that was tried, when it was reached: the probability that the text
    runs through it, given the tokens up to it and that its elder siblings failed.

    Raises
    ------
    InvariantError
        If a node does not come after its parent, or the drafter gives a token it proposed probability 0.
    """
    if not len(draft):
        return Verdict(0, coins.sample(0, target_probs[0]), "plain")
    following = list_children(draft)
    accept_probs: list[float] = []
    path = [_Place(-1, 1.0, target_probs[0], list(following[0]))]
    while True:
        here = path[-1]
        if here.untried:
            child = here.untried.pop(0)
            require_drawn(draft, child)
            rate = survival(here.rate, here.wanted, draft.probs[child], draft.tokens[child])
            accept_probs.append(rate)
            path.append(_Place(child, rate, target_probs[child + 1], list(following[child + 1])))
            continue
        if here.node < 0 or coins.accept(len(path) - 2, here.rate, here.node):
            break
        path.pop()
        _miss(path[-1], draft.probs[here.node])

    kept = [place.node for place in path[1:]]
    is_leaf = not following[here.node + 1]
    draw = coins.bonus if is_leaf else coins.residual
    return Verdict(
        num_accepted=len(kept),
        next_token=draw(len(kept), here.wanted),
        source="bonus" if is_leaf else "recovered",
        accept_probs=tuple(accept_probs),
        path=to_path(draft, kept),
    )


def _miss(place: _Place, draft_probs: Probs) -> None:
    """Leave a node with what is missing after a child of it failed."""
    missing = block_residual(place.rate, place.wanted, draft_probs)
    mass = float(missing.sum())
    # 0/0 is a sure yes: nothing is missing, and only rounding can have led here
    place.rate = 1.0 if place.rate == 1.0 else mass / (mass + 1.0 - place.rate)
    if mass > 0.0:
        place.wanted = missing / mass
