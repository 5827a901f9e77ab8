"""Beside stop 2: the protocol of a rule, its promises, and what every rule first requires of a draft."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from minispec.engine.noise import Coins
from minispec.engine.records import Draft, Probs, Verdict
from minispec.errors import InvariantError

Survival = Callable[[float, Probs, Probs, int], float]
"""``survival(before, target_probs, draft_probs, token)``: the probability, given the drafted tokens up to ``token``,
that they all stay; ``before`` is the same for the tokens before it. See :func:`expected.expected_accepted`."""


class Verify(Protocol):
    """A rule that turns a draft and the target's distributions into a verdict."""

    def __call__(self, draft: Draft, target_probs: NDArray[np.float64], coins: Coins) -> Verdict:
        """Decide.

        Parameters
        ----------
        draft : Draft
            G tokens.
        target_probs : ndarray of shape (G + 1, V)
            For a chain, row i is the target's distribution of the token at place i, given the drafts before it. For a
            tree, row 0 is the target's distribution after the committed text, and row i + 1 after node i.
        coins : Coins
            The step's noise.
        """
        ...


@dataclass(frozen=True, slots=True)
class Verifier:
    """A rule and what it promises.

    Parameters
    ----------
    name : str
        What the user wrote, say ``"lenient:lenience=0.5"``.
    verify : Verify
    lossless : bool
        The text has the target's law, the distribution over whole texts, whatever the draft. (At temperature 0 every
        rule here emits the target's argmax, also a lossy one: its rows are one-hot.)
    same_seed : bool
        Stronger: they *are* the tokens plain sampling emits with the same seed.
    coupled : bool
        Made for a drafter that draws with the target's own ``sample`` noise. The two read the same addresses: that is
        the coupling, and an audit must expect it.
    trees : bool
        Judges trees as well as chains.
    counts_siblings : bool
        Of a tree, it judges a candidate by how many siblings there are: they must be drawn independently of each other,
        and which of them are there must not depend on what any of them drew.
    survival : Survival or None
        For the exact expected length on a chain.
    """

    name: str
    verify: Verify
    lossless: bool = True
    same_seed: bool = False
    coupled: bool = False
    trees: bool = False
    counts_siblings: bool = False
    survival: Survival | None = None


def require_drawn(draft: Draft, i: int) -> float:
    """Check that draft ``i`` can have been drawn from its row, and return q(x), its probability.

    Raises
    ------
    InvariantError
        If it is not positive: then ``draft.probs`` is not what the token was drawn from.
    """
    q = float(draft.probs[i, draft.tokens[i]])
    if not q > 0.0:
        raise InvariantError(f"the drafter proposed token {draft.tokens[i]} as number {i} with probability {q}")
    return q


def require_chain(draft: Draft) -> None:
    """Refuse a tree where the rule is one for chains.

    Raises
    ------
    InvariantError
        If some token does not follow the one before it.
    """
    if draft.parents is not None and draft.parents != tuple(range(-1, len(draft) - 1)):
        raise InvariantError(f"a rule for chains was handed a tree with parents {draft.parents}")


def list_children(draft: Draft) -> list[list[int]]:
    """Return the children of each node in the order they are tried: entry 0 the root's, entry i + 1 those of node i.

    Raises
    ------
    InvariantError
        If a node does not come after its parent.
    """
    parents = tuple(range(-1, len(draft) - 1)) if draft.parents is None else draft.parents
    following: list[list[int]] = [[] for _ in range(len(draft) + 1)]
    for node, parent in enumerate(parents):
        if not -1 <= parent < node:
            raise InvariantError(f"node {node} of a draft follows node {parent}; a parent comes before its children")
        following[parent + 1].append(node)
    return following


def to_path(draft: Draft, path: list[int]) -> tuple[int, ...] | None:
    """Return accepted nodes as ``Verdict.path`` holds them: None for a chain."""
    return None if draft.parents is None else tuple(path)
