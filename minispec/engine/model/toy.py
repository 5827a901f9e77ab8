"""Language models small enough to enumerate: a random table keyed by the *whole* prefix.

Proofs need a model with another distribution after every prefix, so that any mistake about positions, rows or stale
cache entries changes the law of the output, the distribution over whole texts. A table model writes each token and its
position into a real :class:`KVCache` and reads the prefix *back from it*: what it predicts depends on what the cache
really holds, not on what the caller believes it holds.
"""

from __future__ import annotations

import copy
import zlib
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from minispec.engine.backends.base import Array, Feed, NumpyBackend
from minispec.engine.backends.types import take_slots
from minispec.engine.model.cache import PAGE_SIZE, KVCache
from minispec.engine.model.language_model import FedCache
from minispec.engine.model.paged import PagedCache
from minispec.engine.model.pages import PagePool
from minispec.engine.model.session import Session


class TableModel:
    """A distribution of the next token for every prefix, drawn once and for all from a seed.

    Parameters
    ----------
    vocab_size, n_positions : int
    seed : int
        Two models of different seeds have unrelated distributions.
    eos_token_id : set of int, optional
    concentration : float
        Parameter of the Dirichlet distribution of the rows; small values give peaked rows.
    table : mapping from a prefix (tuple of int) to probabilities, optional
        Rows to use instead of drawn ones; a probability may be 0.
    """

    batch_invariant = True
    pool: PagePool | None = None

    def __init__(
        self,
        vocab_size: int,
        n_positions: int = 64,
        seed: int = 0,
        *,
        eos_token_id: frozenset[int] = frozenset(),
        concentration: float = 1.0,
        table: Mapping[tuple[int, ...], Sequence[float]] | None = None,
    ) -> None:
        self.name = f"table model {seed}"
        self.vocab_size = vocab_size
        self.n_positions = n_positions
        self.eos_token_id = frozenset(eos_token_id)
        self._seed = seed
        self._concentration = concentration
        self._table = {key: np.asarray(row, np.float64) for key, row in (table or {}).items()}

    def next_probs(self, prefix: Sequence[int]) -> NDArray[np.float64]:
        """Return the distribution of the token after ``prefix``, shape (V,), float64."""
        key = tuple(map(int, prefix))  # the row is drawn from the key as written: 1, never np.int64(1)
        if key not in self._table:
            generator = np.random.default_rng([self._seed, zlib.crc32(repr(key).encode()), len(key)])
            self._table[key] = generator.dirichlet([self._concentration] * self.vocab_size)
        return self._table[key]

    def new_cache(self, capacity: int | None = None) -> KVCache:
        """Return a cache of one layer and one head: a slot's key is its token, its value the token's position."""
        if self.pool is not None and capacity is None:
            return PagedCache(self.pool, self.n_positions)
        return KVCache(n_layer=1, n_head=1, head_size=1, capacity=capacity or self.n_positions)

    def with_pages(self, num_pages: int, page_size: int = PAGE_SIZE) -> TableModel:
        """Return this model with caches that share a pool of pages."""
        model = copy.copy(self)
        model.pool = PagePool(1, 1, 1, num_pages, page_size, backend=NumpyBackend())
        return model

    def session(self) -> Session:
        """Return a new session."""
        return Session(self)

    def forward(
        self,
        tokens: Sequence[int],
        cache: KVCache,
        num_logits: int | None = None,
        *,
        positions: Sequence[int] | None = None,
        visible: NDArray[np.bool_] | None = None,
    ) -> Array:
        """Write ``tokens`` into the cache and return the log probabilities after each prefix it then holds."""
        return self.run(cache.feed(tokens, positions=positions, visible=visible, num_logits=num_logits), cache)

    def run(self, feed: Feed, cache: FedCache) -> Array:
        """Run the forward of a feed, and count it in.

        A node of a tree reads the slots it sees, in order of their positions: its ancestors, if the mask is right.
        """
        token, position = (part.astype(np.float32)[:, None, None] for part in (feed.tokens, feed.positions))
        cache.store(0, feed, token, position)
        cache.extend(feed)
        rows = []
        for t in range(len(feed.tokens) - feed.num_logits, len(feed.tokens)):
            seen, places = (
                take_slots(kept[0], feed.pages[t], feed.ends[t])[:, 0, 0].astype(int)
                for kept in (cache.keys, cache.values)
            )
            if feed.visible is not None:
                order = np.argsort(places, kind="stable")
                seen = seen[order[feed.visible[t, : len(seen)][order]]]
            with np.errstate(divide="ignore"):
                rows.append(np.log(self.next_probs(seen.tolist())))
        return np.asarray(rows, np.float32).reshape(len(rows), self.vocab_size)
