"""Stop 5 of 12 · a session: a cache and the tokens it has seen. Before: backends/_kernels. Next: sampling/draw.

Two rules keep drafts and targets in step: *feeding is giving the cache what it lacks*, and *going back is setting a
length*. A session may be behind the committed text by any number of tokens; the next :meth:`Session.score` catches up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from minispec.backends.base import Array
from minispec.errors import InvariantError
from minispec.model.cache import KVCache

PREFILL_CHUNK = 64
"""Tokens per forward of a prefill: enough rows to reuse every weight, few enough for a progress bar to move."""


class LanguageModel(Protocol):
    """What decoding needs of a model: GPT-2 has it, and so has a table small enough to enumerate."""

    @property
    def name(self) -> str:
        """How messages call it."""
        ...

    @property
    def vocab_size(self) -> int:
        """V."""
        ...

    @property
    def n_positions(self) -> int:
        """Longest sequence, in tokens."""
        ...

    @property
    def eos_token_id(self) -> frozenset[int]:
        """Tokens that end a text."""
        ...

    @property
    def batch_invariant(self) -> bool:
        """Whether a row's logits have the same bits whatever other rows are computed with it."""
        ...

    def new_cache(self, rows: int = 1, capacity: int | None = None) -> KVCache:
        """Return an empty cache."""
        ...

    def forward(
        self,
        tokens: Sequence[int],
        cache: KVCache,
        num_logits: int | None = None,
        *,
        positions: Sequence[int] | None = None,
        visible: NDArray[np.bool_] | None = None,
    ) -> Array:
        """Feed tokens to the cache and return logits of shape (T or num_logits, V).

        ``positions`` of shape (T,) and ``visible`` of shape (T, S) are for trees; without them the tokens are a chain.
        """
        ...


class Session:
    """A model, a cache, and the tokens that are in it.

    Parameters
    ----------
    model : LanguageModel

    Attributes
    ----------
    tokens : list of int
        What the cache holds, in order. Read it; change it only through the methods.
    num_forwards, num_fed : int
        Forwards run and tokens fed so far (prefill included): the cost, in the units that matter.
    """

    def __init__(self, model: LanguageModel) -> None:
        self.model = model
        self.cache = model.new_cache()
        self.tokens: list[int] = []
        self.num_forwards = 0
        self.num_fed = 0
        self._nodes: list[
            int
        ] = []  # tokens of a tree that hangs on the last of ``tokens``; node i is in slot length + i
        self._parents: list[int] = []

    @property
    def length(self) -> int:
        """Number of tokens in the cache."""
        return len(self.tokens)

    def score(self, tokens: Sequence[int], num_logits: int | None = None) -> Array:
        """Feed ``tokens`` in one forward and return the logits after each, or after the last ``num_logits``.

        An interrupted forward (Ctrl-C) leaves the session as it was: ``tokens`` counts them only once they are all in,
        and the layers that ran ahead are set back first thing next time.

        Returns
        -------
        ndarray of shape (T or num_logits, V), float32
        """
        self._drop_tree()
        logits = self.model.forward(tokens, self.cache, num_logits)
        self.tokens = [*self.tokens, *tokens]
        self.num_forwards += 1
        self.num_fed += len(tokens)
        return logits

    def prefill(self, tokens: Sequence[int], progress: Callable[[int], None] | None = None) -> None:
        """Feed a prompt chunk by chunk, logits unused.

        Parameters
        ----------
        tokens : sequence of int
            The whole prefix; what the cache already holds of it is not fed again.
        progress : callable, optional
            Called with the number of tokens in the cache after each chunk.
        """
        self.rollback(common_prefix(self.tokens, tokens))
        for start in range(self.length, len(tokens), PREFILL_CHUNK):
            self.score(tokens[start : start + PREFILL_CHUNK], num_logits=0)
            if progress is not None:
                progress(self.length)

    def rollback(self, length: int) -> None:
        """Keep at most the first ``length`` tokens.

        Raises
        ------
        InvariantError
            If ``length`` is negative.
        """
        if length < 0:
            raise InvariantError(f"cannot roll a session back to length {length}")
        self.tokens = self.tokens[:length]
        self._drop_tree()

    def score_tree(self, chain: Sequence[int], nodes: Sequence[int], parents: Sequence[int]) -> Array:
        """Feed a chain and a tree that hangs on its end, in one forward.

        ``tokens`` takes in the chain alone; the nodes are pending until :meth:`keep` commits a path of them, and the
        next :meth:`score` or :meth:`rollback` forgets them.

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
        self._drop_tree()
        return self._feed_tree(chain, nodes, parents, 1 + len(nodes))

    def grow_tree(self, nodes: Sequence[int], parents: Sequence[int]) -> Array:
        """Add nodes to the pending tree; ``parents`` counts all of its nodes. Logits after each, shape (N, V)."""
        self.cache.rollback(len(self.tokens) + len(self._nodes))
        return self._feed_tree((), nodes, parents, len(nodes))

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
        kept = [self._nodes[node] for node in path]
        if list(path) != list(range(len(path))):  # else the path already lies where it belongs
            self.cache.rollback(start + len(self._nodes))
            self.cache.keep([*range(start), *(start + node for node in path)])
        self._nodes, self._parents = [], []
        self.tokens = [*self.tokens, *kept]
        self.cache.rollback(len(self.tokens))

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

    def _feed_tree(self, chain: Sequence[int], nodes: Sequence[int], parents: Sequence[int], num_logits: int) -> Array:
        tree = [*self._parents, *parents]
        if any(not -1 <= parent < node for node, parent in enumerate(tree)):
            raise InvariantError(f"parents {tree} do not come before their children")
        text = len(self.tokens) + len(chain)  # slots of the text; node i sits in slot text + i
        positions = list(range(len(self.tokens), text))
        visible = np.zeros((len(chain) + len(nodes), text + len(tree)), np.bool_)
        for row, slot in enumerate(positions):
            visible[row, : slot + 1] = True
        depths: list[int] = []
        for node, parent in enumerate(tree):
            depths.append(1 if parent < 0 else depths[parent] + 1)
            row = len(chain) + node - len(self._nodes)
            if row < len(chain):
                continue  # fed earlier
            positions.append(text - 1 + depths[node])
            visible[row, :text] = True
            while node >= 0:
                visible[row, text + node] = True
                node = tree[node]
        logits = self.model.forward([*chain, *nodes], self.cache, num_logits, positions=positions, visible=visible)
        self.tokens = [*self.tokens, *chain]
        self._nodes, self._parents = [*self._nodes, *nodes], tree
        self.num_forwards += 1
        self.num_fed += len(chain) + len(nodes)
        return logits

    def _drop_tree(self) -> None:
        """Forget pending nodes, and whatever layers an interrupted forward or a self-draft has run ahead."""
        self._nodes, self._parents = [], []
        self.cache.rollback(len(self.tokens))


def common_prefix(a: Sequence[int], b: Sequence[int]) -> int:
    """Return how many leading tokens two sequences share."""
    shared = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        shared += 1
    return shared
