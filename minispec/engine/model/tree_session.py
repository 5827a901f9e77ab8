"""A session that can also hold a tree of candidates, which hangs on the end of its text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from minispec.engine.backends.base import Array, Feed
from minispec.engine.frozen import record
from minispec.engine.model.asks import Ask
from minispec.engine.model.language_model import LanguageModel
from minispec.engine.model.session import Session
from minispec.errors import InvariantError


class TreeSession(Session):
    """A session whose last forward may have left a tree pending.

    ``tokens`` counts the text alone. The nodes lie behind it in the cache, node i in slot ``length + i``, until
    :meth:`keep` commits a path of them; the next :meth:`score` or :meth:`rollback` forgets them.

    Parameters
    ----------
    model : LanguageModel
    """

    def __init__(self, model: LanguageModel) -> None:
        self._nodes: list[int] = []
        self._parents: list[int] = []
        super().__init__(model)

    def _forget_rest(self) -> None:
        """See :meth:`Session._forget_rest`; it forgets a pending tree as well."""
        self._nodes, self._parents = [], []
        super()._forget_rest()

    def score_tree(self, chain: Sequence[int], nodes: Sequence[int], parents: Sequence[int]) -> Array:
        """Feed a chain and a tree that hangs on its end, in one forward.

        Parameters
        ----------
        chain : sequence of int
            At least one token: the text the cache lacks.
        nodes : sequence of int, length N
        parents : sequence of int, length N
            The node each one follows, -1 for the end of the chain; a parent comes before its children.

        Returns
        -------
        ndarray of shape (1 + N, V), float32
            After the chain, and after each node given its ancestors.

        Raises
        ------
        InvariantError
            If the chain is empty or a parent does not come before its child.
        """
        if not chain:
            raise InvariantError("a tree hangs on the token whose logits it answers; feed at least that one")
        return self._score_nodes(chain, nodes, parents)

    def grow_tree(self, nodes: Sequence[int], parents: Sequence[int]) -> Array:
        """Add nodes to the pending tree; ``parents`` counts all of its nodes. Logits after each, shape (N, V)."""
        return self._score_nodes((), nodes, parents)

    def feed_tree(self, chain: Sequence[int], nodes: Sequence[int], parents: Sequence[int]) -> Feed:
        """Return what the forward of :meth:`score_tree`, or without a chain of :meth:`grow_tree`, is fed."""
        positions, visible = self._place(chain, nodes, parents)
        num_logits = len(nodes) + bool(chain)
        return self.cache.feed([*chain, *nodes], positions=positions, visible=visible, num_logits=num_logits)

    def note_tree(self, chain: Sequence[int], nodes: Sequence[int], parents: Sequence[int], logits: Array) -> None:
        """Count in what :meth:`feed_tree` was asked for, once it is all in the cache."""
        self.note(chain, logits[: bool(chain)])
        self._nodes, self._parents = [*self._nodes, *nodes], [*self._parents, *parents]

    def keep(self, path: Sequence[int]) -> None:
        """Commit a path of the pending tree, root first, and forget its other nodes.

        Raises
        ------
        InvariantError
            If it is no path from the root.
        """
        if any(not 0 <= node < len(self._nodes) for node in path) or any(
            self._parents[node] != before for before, node in zip([-1, *path], path, strict=False)
        ):
            raise InvariantError(f"nodes {list(path)} are no path from the root of a tree with parents {self._parents}")
        start = len(self.tokens)
        end, kept = start + len(self._nodes), [self._nodes[node] for node in path]
        self._nodes, self._parents = [], []  # first: an interruption must not find nodes that have moved
        if list(path) != list(range(len(path))):  # else the path already lies where it belongs
            self.cache.rollback(end)
            self.cache.keep([*range(start), *(start + node for node in path)])
        self.tokens = [*self.tokens, *kept]
        self._forget_rest()

    def find_path(self, tokens: Sequence[int]) -> list[int]:
        """Return the longest path of the pending tree that reads ``tokens``, as far as it goes."""
        path: list[int] = []
        for token in tokens:
            here = path[-1] if path else -1
            child = next((i for i, t in enumerate(self._nodes) if t == token and self._parents[i] == here), None)
            if child is None:
                break
            path.append(child)
        return path

    def _score_nodes(self, chain: Sequence[int], nodes: Sequence[int], parents: Sequence[int]) -> Array:
        positions, visible = self._place(chain, nodes, parents)
        fed, num_logits = [*chain, *nodes], len(nodes) + bool(chain)
        logits = self.model.forward(fed, self.cache, num_logits, positions=positions, visible=visible)
        self.note_tree(chain, nodes, parents, logits)
        return logits

    def _place(
        self, chain: Sequence[int], nodes: Sequence[int], parents: Sequence[int]
    ) -> tuple[list[int], NDArray[np.bool_]]:
        """Set the cache back to what counts, and return the position of each token, and which slots it sees."""
        if chain:
            self._forget_rest()
        self.cache.rollback(len(self.tokens) + len(self._nodes))  # an interrupted forward may have left more
        tree = [*self._parents, *parents]
        if any(not -1 <= parent < node for node, parent in enumerate(tree)):
            raise InvariantError(f"parents {tree} do not come before their children")
        start, text = len(self.tokens), len(self.tokens) + len(chain)
        slots = text + len(tree)
        in_chain = np.tri(len(chain), slots, start, dtype=np.bool_)  # token i sees the slots up to its own, start + i
        visible = np.concatenate([in_chain, mask_tree(tree, text)[len(self._nodes) :]])
        return (visible.sum(axis=1) - 1).tolist(), visible  # as many tokens come before as it sees besides itself


def mask_tree(parents: Sequence[int], start: int) -> NDArray[np.bool_]:
    """Return which slots the nodes of a tree see: all before ``start``, their ancestors', and their own.

    Parameters
    ----------
    parents : sequence of int, length N
        Node i lies in slot ``start + i``; -1 is the text before.

    Returns
    -------
    ndarray of shape (N, start + N), bool
    """
    visible = np.zeros((len(parents), start + len(parents)), np.bool_)
    visible[:, :start] = True
    for node, parent in enumerate(parents):
        if parent >= 0:
            visible[node] = visible[parent]
        visible[node, start + node] = True
    return visible


@record(frozen=True, slots=True)
class AskTree(Ask):
    """Logits of a tree: ``tokens`` is its chain (empty to add to the pending tree), see :class:`TreeSession`.

    Parameters
    ----------
    session : TreeSession
    tokens : sequence of int
    num_logits : int
    nodes, parents : tuple of int
    """

    session: TreeSession
    nodes: Sequence[int]
    parents: Sequence[int]

    @property
    def num_tokens(self) -> int:
        """Tokens and nodes to be fed."""
        return len(self.tokens) + len(self.nodes)

    def answer(self) -> Array:
        """Run a forward for this ask alone."""
        if not self.tokens:
            return self.session.grow_tree(self.nodes, self.parents)
        return self.session.score_tree(self.tokens, self.nodes, self.parents)

    def feed(self) -> Feed:
        """Return what that forward would be fed."""
        return self.session.feed_tree(self.tokens, self.nodes, self.parents)

    def note(self, logits: Array) -> None:
        """Tell the session that its nodes were fed."""
        self.session.note_tree(self.tokens, self.nodes, self.parents, logits)
