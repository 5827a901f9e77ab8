"""The memory that the caches of many texts share, in pages of a few slots each.

A page belongs to one text that writes to it, or to several that begin alike. A text takes a page when it needs one, and
gives it back when it goes back.

Source: PagedAttention (Kwon et al. 2023, "Efficient Memory Management for Large Language Model Serving with
PagedAttention").
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from minispec.engine.backends.base import Backend
from minispec.engine.backends.host import total_bytes
from minispec.engine.backends.types import Features, Kept
from minispec.engine.model.cache import add_layers
from minispec.errors import InvariantError, OptionError


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
    kv_dtype : str
        The format of keys and values.

    Attributes
    ----------
    num_pages, page_size : int
    keys, values : ndarray of shape (L, N, S, H, D)
    recordings : dict
        The backend's notes about forwards over this memory.
    features : Features
        Hidden states of the same tokens, once somebody reads them.
    beside : list of PagePool
        Pools that hold more of the same texts, for a head of the model.

    Raises
    ------
    OptionError
        If the machine has less memory than that.
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
        kv_dtype: str = "float32",
    ) -> None:
        self.backend, self.kv_dtype = backend, kv_dtype
        self.num_pages, self.page_size = num_pages, page_size
        shape = (n_layer, num_pages, page_size, n_head, head_size)
        page = backend.zeros((n_layer, 1, page_size, n_head, head_size), kv_dtype)
        _require_memory(num_pages, 2 * math.prod(page.shape) * np.dtype(page.dtype).itemsize)
        self.keys: Kept = backend.zeros(shape, kv_dtype)
        self.values: Kept = backend.zeros(shape, kv_dtype)
        self.recordings: dict[Any, Any] = {}
        self.features = Features.none()
        self.beside: list[PagePool] = []
        self.clear()

    def open_beside(self, n_layer: int, n_head: int, head_size: int, num_more: int) -> PagePool:
        """Return a new pool with as many pages as this one, and some more; it is cleared with this one."""
        num_pages = self.num_pages + num_more
        sizes = n_layer, n_head, head_size, num_pages, self.page_size
        self.beside.append(PagePool(*sizes, backend=self.backend, kv_dtype=self.kv_dtype))
        return self.beside[-1]

    def clear(self) -> None:
        """Free every page, whoever held it, and forget what was published: nobody may use the pages he had."""
        for pool in self.beside:
            pool.clear()
        self._holders: Counter[int] = Counter()
        self._blank = list(range(self.num_pages))[::-1]
        self._remembered: dict[int, None] = {}  # free but published, the longest free first
        self._published: dict[bytes, int] = {}
        self._beginnings: dict[int, bytes] = {}  # of each published page, its text up to its end
        self._lacking: set[int] = set()  # held since before features were kept: not to be published

    def keep_features(self, layers: Sequence[int]) -> None:
        """Keep the residual stream after these layers (from 1 on) of every token that is fed from now on.

        Pages that were filled before lack them. Nobody takes those up any more: a text would not know that it reads
        zeros, and drafts other than alone.
        """
        if set(layers) <= set(self.features.layers.tolist()):
            return
        self.features = add_layers(self.features, layers, self.keys, self.backend)
        self._blank += self._remembered
        self._remembered, self._published, self._beginnings = {}, {}, {}
        self._lacking = {page for page, count in self._holders.items() if count}

    @property
    def num_free(self) -> int:
        """Pages that nobody holds."""
        return len(self._blank) + len(self._remembered)

    @property
    def all_free(self) -> bool:
        """Whether nobody holds a page, here or beside."""
        return self.num_free == self.num_pages and all(pool.all_free for pool in self.beside)

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
        self._lacking.discard(page)
        return page

    def take_for_copy(self, page: int) -> int:
        """Take a free page that another one is to be copied to: what that lacks, the copy lacks too.

        Raises
        ------
        OutOfPagesError
            If there is none.
        """
        own = self.take()
        if page in self._lacking:
            self._lacking.add(own)
        return own

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
            known = page in self._beginnings or page in self._lacking
            if not known and beginning not in self._published:
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


def _require_memory(num_pages: int, page_bytes: int) -> None:
    needed, there = num_pages * page_bytes, total_bytes()
    if there is not None and needed > there:
        raise OptionError(
            f"keys and values of {num_pages} pages take {needed / 1e9:,.1f} GB, and this machine has "
            f"{there / 1e9:,.1f} GB of memory. Run fewer requests at a time, or give kv-memory less"
        )
