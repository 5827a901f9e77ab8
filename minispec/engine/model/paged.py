"""Pages: the caches of many texts in one memory; a text takes pages of a few slots each when it needs them.

A cache that sets a whole context aside for every text wastes what the text never fills. Here a text has a table of
pages and wastes less than one page. A rollback gives pages back. Texts that begin alike share what they have in common.
Attention reads the slots in the text's order, so a text's bits are those it has in a :class:`KVCache` of its own.

Source: PagedAttention (Kwon et al. 2023, "Efficient Memory Management for Large Language Model Serving with
PagedAttention").
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from minispec.engine.backends.base import Index
from minispec.engine.backends.types import Features
from minispec.engine.model.cache import PAGE_SIZE, KVCache
from minispec.engine.model.language_model import LanguageModel
from minispec.engine.model.pages import PagePool
from minispec.errors import InvariantError


class PagedCache(KVCache):
    """Keys and values of one text in a pool's pages.

    Parameters
    ----------
    pool : PagePool
    capacity : int
        Longest text, in slots.
    """

    def __init__(self, pool: PagePool, capacity: int) -> None:
        # not KVCache's: the memory is there already
        self._backend, self._pool, self._capacity = pool.backend, pool, capacity
        self._table: list[int] = []
        self._pages: Index | None = None  # the table as an array, made when it is asked for; few tokens change it
        self.keys, self.values, self.recordings = pool.keys, pool.values, pool.recordings
        self.lengths = [0] * len(pool.keys)

    @property
    def capacity(self) -> int:
        """Longest text, in slots."""
        return self._capacity

    @property
    def pool(self) -> PagePool:
        """Whose pages it takes."""
        return self._pool

    @property
    def features(self) -> Features:
        """See :attr:`KVCache.features`; one memory for all texts."""
        return self._pool.features

    def keep_features(self, layers: Sequence[int]) -> None:
        """See :meth:`PagePool.keep_features`."""
        self._pool.keep_features(layers)

    @property
    def pages(self) -> Index:
        """See :attr:`KVCache.pages`."""
        if self._pages is None:
            self._pages = np.array(self._table or [0])
        return self._pages

    def rollback(self, length: int) -> None:
        """Keep at most the first ``length`` slots, and give back the pages behind them."""
        super().rollback(length)
        filled = -(-self.lengths[0] // self._pool.page_size)
        while len(self._table) > filled:
            self._pages = None
            self._pool.give_back(self._table.pop())

    def keep(self, slots: Sequence[int] | Index) -> None:
        """See :meth:`KVCache.keep`; pages that are left empty are given back."""
        super().keep(slots)
        self.rollback(len(slots))

    def adopt(self, tokens: Sequence[int]) -> int:
        """Take up the pages that others have published of ``tokens``; return how many tokens they hold.

        Raises
        ------
        InvariantError
            If the cache holds something already.
        """
        if self._table:
            raise InvariantError("only an empty cache can take up the beginning of another text")
        self._pages = None
        self._table = self._pool.share(tokens)
        self.lengths = [len(self._table) * self._pool.page_size] * len(self.lengths)
        return self.length

    def publish(self, tokens: Sequence[int]) -> None:
        """Let others take up what this cache holds of ``tokens``, which must be verified: see :class:`PagePool`."""
        self._pool.publish(tokens[: self.length], self._table)

    def _ready(self, first: int, last: int) -> Index:
        """See :meth:`KVCache._ready`; takes pages, and copies those that others share before they are written to."""
        size = self._pool.page_size
        while len(self._table) * size < last:
            self._pages = None
            self._table.append(self._pool.take())
        for i in range(first // size, -(-last // size)):
            if self._pool.is_shared(self._table[i]):
                self._copy(i)
        return self.pages

    def _copy(self, i: int) -> None:
        """Put a page of our own in the place of a shared one."""
        own, slots = self._pool.take_for_copy(self._table[i]), np.arange(self._pool.page_size)
        for array in self.arrays():
            self._backend.move(array, self._table[i] * len(slots) + slots, own * len(slots) + slots)
        self._pool.give_back(self._table[i])
        self._pages = None
        self._table[i] = own


class PagedModel(LanguageModel, Protocol):
    """A language model whose caches can share a pool of pages."""

    @property
    def pool(self) -> PagePool | None:
        """The pool, or None if each cache has memory of its own."""
        ...

    def with_pages(self, num_pages: int, page_size: int = PAGE_SIZE) -> PagedModel:
        """Return this model with caches that share a pool."""
        ...
