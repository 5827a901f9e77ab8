"""Pages: the caches of many texts in one memory; a text takes pages of a few slots each when it needs them.

A cache that sets a whole context aside for every text wastes what the text never fills. Here a text has a table of
pages and wastes less than one page. A rollback gives pages back. Texts that begin alike share what they have in common.
Attention reads the slots in the text's order, so a text's bits are those it has in a :class:`KVCache` of its own.

Source: PagedAttention (Kwon et al. 2023, "Efficient Memory Management for Large Language Model Serving with
PagedAttention").
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from minispec.backends.base import Array, Backend, Index
from minispec.errors import InvariantError
from minispec.model.cache import KVCache
from minispec.model.language_model import LanguageModel

PAGE_SIZE = 16
"""Slots per page: a text wastes 7.5 slots on average, and its table is short."""


class OutOfPagesError(Exception):
    """No page is free: some text must go, or wait."""


class PagePool:
    """The memory that the caches of one model share, and the account of who has which page.

    A page that nobody holds is free. If it was published, it keeps its contents until it is needed for another text: a
    new text that begins with the same tokens takes it up again.

    Parameters
    ----------
    n_layer, n_head, head_size : int
    num_pages, page_size : int
        N pages of S slots.
    backend : Backend
        Where keys and values live.
    dtype : str
        Of the model's weights.

    Attributes
    ----------
    keys, values : ndarray of shape (L, N, S, H, D)
    recordings : dict
        The backend's notes about forwards over this memory.
    """

    def __init__(
        self,
        n_layer: int,
        n_head: int,
        head_size: int,
        num_pages: int,
        page_size: int,
        *,
        backend: Backend,
        dtype: str = "float32",
    ) -> None:
        self.backend = backend
        shape = (n_layer, num_pages, page_size, n_head, head_size)
        self.keys: Array = backend.zeros(shape, dtype)
        self.values: Array = backend.zeros(shape, dtype)
        self.recordings: dict[Any, Any] = {}
        self.clear()

    def clear(self) -> None:
        """Free every page, whoever held it, and forget what was published: nobody may use his pages any more."""
        self._holders: Counter[int] = Counter()
        self._blank = list(range(self.num_pages))[::-1]
        self._remembered: dict[int, None] = {}  # free but published, the longest free first
        self._published: dict[bytes, int] = {}
        self._beginnings: dict[int, bytes] = {}  # of each published page, its text up to its end

    @property
    def num_pages(self) -> int:
        """N."""
        return int(self.keys.shape[1])

    @property
    def page_size(self) -> int:
        """S."""
        return int(self.keys.shape[2])

    @property
    def num_free(self) -> int:
        """Pages that nobody holds."""
        return len(self._blank) + len(self._remembered)

    @property
    def num_bytes(self) -> int:
        """Bytes of keys and values."""
        return int(self.keys.nbytes + self.values.nbytes)

    def take(self) -> int:
        """Take a free page to write to.

        Raises
        ------
        OutOfPagesError
            If there is none.
        """
        if self._blank:
            page = self._blank.pop()
        elif self._remembered:
            page = next(iter(self._remembered))
            del self._remembered[page]
            del self._published[self._beginnings.pop(page)]
        else:
            raise OutOfPagesError
        self._holders[page] = 1
        return page

    def give_back(self, page: int) -> None:
        """Let go of a page; the last holder frees it.

        Raises
        ------
        InvariantError
            If nobody holds it.
        """
        if not self._holders[page]:
            raise InvariantError(f"page {page} is given back by one who does not hold it")
        self._holders[page] -= 1
        if not self._holders[page]:
            if page in self._beginnings:
                self._remembered[page] = None
            else:
                self._blank.append(page)

    def is_shared(self, page: int) -> bool:
        """Return whether a page must not be written to: others hold it, or may take it up."""
        return self._holders[page] > 1 or page in self._beginnings

    def publish(self, tokens: Sequence[int], pages: Sequence[int]) -> None:
        """Let other texts share the pages that these tokens fill.

        Parameters
        ----------
        tokens : sequence of int
            *Verified* tokens whose keys and values are in the pages, in every layer. A drafted token that is rejected
            later would be a false beginning for others.
        pages : sequence of int
        """
        size, text = self.page_size, np.asarray(tokens, np.int64)
        for page, end in zip(pages, range(size, len(text) + 1, size), strict=False):
            beginning = text[:end].tobytes()
            if page not in self._beginnings and beginning not in self._published:
                self._published[beginning] = page
                self._beginnings[page] = beginning

    def share(self, tokens: Sequence[int]) -> list[int]:
        """Take up the published pages that ``tokens`` begin with, as many as there are."""
        size, text = self.page_size, np.asarray(tokens, np.int64)
        pages: list[int] = []
        for end in range(size, len(text) + 1, size):
            page = self._published.get(text[:end].tobytes())
            if page is None:
                break
            self._remembered.pop(page, None)
            self._holders[page] += 1
            pages.append(page)
        return pages


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
        self.keys, self.values, self.recordings = pool.keys, pool.values, pool.recordings
        self.lengths = np.zeros((len(pool.keys), 1), np.int64)

    @property
    def capacity(self) -> int:
        """Longest text, in slots."""
        return self._capacity

    def pages(self, row: int = 0) -> Index:
        """See :meth:`KVCache.pages`."""
        return np.array(self._table or [0])

    def rollback(self, length: int, row: int = 0) -> None:
        """Keep at most the first ``length`` slots, and give back the pages behind them."""
        super().rollback(length, row)
        filled = -(-int(self.lengths.max()) // self._pool.page_size)
        while len(self._table) > filled:
            self._pool.give_back(self._table.pop())

    def keep(self, slots: Sequence[int] | Index, row: int = 0) -> None:
        """See :meth:`KVCache.keep`; pages that are left empty are given back."""
        super().keep(slots, row)
        self.rollback(len(slots), row)

    def adopt(self, tokens: Sequence[int]) -> int:
        """Take up the pages that others have published of ``tokens``; return how many tokens they hold.

        Raises
        ------
        InvariantError
            If the cache holds something already.
        """
        if self._table:
            raise InvariantError("only an empty cache can take up the beginning of another text")
        self._table = self._pool.share(tokens)
        self.lengths[:] = len(self._table) * self._pool.page_size
        return int(self.lengths.min())

    def publish(self, tokens: Sequence[int]) -> None:
        """Let others take up what this cache holds of ``tokens``, which must be verified: see :class:`PagePool`."""
        self._pool.publish(tokens[: self.length()], self._table)

    def _ready(self, row: int, first: int, last: int) -> Index:
        """See :meth:`KVCache._ready`; takes pages, and copies those that others share before they are written to."""
        size = self._pool.page_size
        while len(self._table) * size < last:
            self._table.append(self._pool.take())
        for i in range(first // size, -(-last // size)):
            if self._pool.is_shared(self._table[i]):
                self._copy(i)
        return self.pages()

    def _copy(self, i: int) -> None:
        """Put a page of our own in the place of a shared one."""
        own, slots = self._pool.take(), np.arange(self._pool.page_size)
        for array in (self.keys, self.values):
            self._backend.move(array, self._table[i] * len(slots) + slots, own * len(slots) + slots)
        self._pool.give_back(self._table[i])
        self._table[i] = own


class PagedModel(LanguageModel, Protocol):
    """A language model whose caches can share a pool of pages."""

    @property
    def pool(self) -> PagePool | None:
        """The pool, or None if each cache has memory of its own."""
        ...

    def paged(self, num_pages: int, page_size: int = PAGE_SIZE) -> PagedModel:
        """Return this model with caches that share a pool."""
        ...
