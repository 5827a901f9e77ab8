"""Stop 8 of 14: the KV cache, keys and values of the tokens seen so far, so that no forward computes them again.

Preallocated: storing is writing at the next free slots, going back is setting a length. A rollback erases nothing;
what lies beyond the length is never read.

One rule says who may lengthen it. A forward asks :meth:`KVCache.feed` where its tokens go, a backend writes keys and
values there, and only when all layers are through does the forward call :meth:`KVCache.extend`. So a forward that was
interrupted has not happened.

A *slot* is a place in the cache, a *position* is the token's place in the text. They agree until a tree of candidates
puts several tokens at one position; :meth:`KVCache.keep` then compacts the accepted path, and they agree again.

Next: `model/forward.py`, which fills the slots.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minispec.backends.base import Array, Backend, Feed, Index, NumpyBackend
from minispec.errors import InvariantError


class KVCache:
    """Keys and values of every layer for a few sequences.

    Parameters
    ----------
    n_layer, n_head, head_size : int
    capacity : int
        Slots per row, S.
    rows : int
        Sequences, B.
    backend : Backend, optional
        Where keys and values live; in NumPy arrays by default. Lengths are always NumPy's.
    dtype : str
        Of the model's weights; a backend may keep keys and values in it too.

    Attributes
    ----------
    keys, values : ndarray of shape (L, B, S, H, D)
        A row is one page of S slots here; :class:`minispec.model.paged.PagedCache` cuts it into small ones.
    lengths : ndarray of shape (L, B), int64
        Slots in use, per layer: a self-draft's first layers may run ahead of the rest.
    recordings : dict
        The backend's own notes about forwards over this cache.
    """

    def __init__(
        self,
        n_layer: int,
        n_head: int,
        head_size: int,
        capacity: int,
        rows: int = 1,
        *,
        backend: Backend | None = None,
        dtype: str = "float32",
    ) -> None:
        self._backend = backend or NumpyBackend()
        shape = (n_layer, rows, capacity, n_head, head_size)
        self.keys: Array = self._backend.zeros(shape, dtype)
        self.values: Array = self._backend.zeros(shape, dtype)
        self.recordings: dict[Any, Any] = {}
        self.lengths: Index = np.zeros((n_layer, rows), np.int64)

    @property
    def capacity(self) -> int:
        """Slots per row."""
        return int(self.keys.shape[2])

    def length(self, row: int = 0) -> int:
        """Return how many slots of ``row`` every layer has filled."""
        return int(self.lengths[:, row].min())

    def pages(self, row: int = 0) -> Index:
        """Return the pages that the text of ``row`` lies in, in order."""
        return np.array([row])

    def adopt(self, tokens: Sequence[int]) -> int:
        """Take up what other texts that begin like ``tokens`` left to share, and return how many tokens that is."""
        return 0

    def publish(self, tokens: Sequence[int]) -> None:
        """Let other texts share what this cache holds of ``tokens``, which must be verified; here nobody does."""

    def feed(
        self,
        tokens: Sequence[int],
        row: int = 0,
        *,
        positions: Sequence[int] | None = None,
        visible: NDArray[np.bool_] | None = None,
        num_layers: int | None = None,
        num_logits: int | None = None,
    ) -> Feed:
        """Give each token the next free slot of ``row``, and say what it sees.

        Parameters
        ----------
        tokens : sequence of int, length T
        row : int
        positions : sequence of int, length T, optional
            Positions in the text; by default each token's slot.
        visible : ndarray of shape (T, S), bool, optional
            Which slots each token attends to, itself included; by default every slot up to its own.
        num_layers : int, optional
            Run only the first layers (a self-draft); by default all.
        num_logits : int, optional
            Logits are wanted of the last so many tokens; by default of all.

        Raises
        ------
        InvariantError
            If the row has no room, the mask lacks columns, or a count is out of range.
        """
        count, depth = len(tokens), len(self.lengths) if num_layers is None else num_layers
        wanted = count if num_logits is None else num_logits
        if not 0 < depth <= len(self.lengths) or not 0 <= wanted <= count:
            raise InvariantError(f"cannot run {num_layers} layers and return {num_logits} logits of {count} tokens")
        first = int(self.lengths[depth - 1, row])
        last = first + count
        if last > self.capacity:
            raise InvariantError(f"{count} tokens need slot {last - 1} of a cache of {self.capacity}")
        if visible is not None and (visible.shape[0] != count or visible.shape[1] < last):
            raise InvariantError(f"the mask has shape {visible.shape}; it must cover {count} tokens, all {last} slots")
        slots = np.arange(first, last)
        return Feed(
            tokens=np.asarray(tokens, np.int64),
            positions=slots if positions is None else np.asarray(positions, np.int64),
            pages=self._ready(row, first, last)[None].repeat(count, axis=0),
            slots=slots,
            ends=slots + 1 if visible is None else np.full(count, last),
            visible=visible,
            num_layers=depth,
            num_logits=wanted,
            spans={row: (first, last)},
        )

    def store(self, layer: int, feed: Feed, keys: Array, values: Array) -> None:
        """Write keys and values of shape (T, H, D) at the slots of a feed."""
        pages, slots = feed.places(self.keys.shape[2])
        self.keys[layer, pages, slots] = keys
        self.values[layer, pages, slots] = values

    def extend(self, feed: Feed) -> None:
        """Count a feed in: every layer that ran has written its slots.

        Raises
        ------
        InvariantError
            If a row was set back since the feed was made: slots in between would hold nothing.
        """
        lengths = self.lengths[: feed.num_layers]
        for row, (first, _) in feed.spans.items():
            if first > lengths[-1, row]:  # the first layers hold no less
                raise InvariantError(f"slots from {first} on leave a gap behind the {lengths[-1, row]} of row {row}")
        for row, (_, end) in feed.spans.items():
            np.maximum(lengths[:, row], end, out=lengths[:, row])

    def rollback(self, length: int, row: int = 0) -> None:
        """Keep at most the first ``length`` slots of ``row``, in every layer.

        Raises
        ------
        InvariantError
            If ``length`` is negative.
        """
        if length < 0:
            raise InvariantError(f"cannot roll a cache back to length {length}")
        np.minimum(self.lengths[:, row], length, out=self.lengths[:, row])

    def keep(self, slots: Sequence[int] | NDArray[np.int64], row: int = 0) -> None:
        """Keep only these slots of ``row``, in this order, moved to the front.

        Raises
        ------
        InvariantError
            If the slots are not strictly increasing or not all filled.
        """
        kept = np.asarray(slots, np.int64)
        if np.any(np.diff(kept) <= 0) or (len(kept) and (kept[0] < 0 or kept[-1] >= self.length(row))):
            raise InvariantError(f"cannot keep slots {kept.tolist()} of {self.length(row)}")
        moved = np.flatnonzero(kept != np.arange(len(kept)))  # the others lie where they belong
        sources, targets = (self._number(row, slots) for slots in (kept[moved], moved))
        for array in (self.keys, self.values):
            self._backend.move(array, sources, targets)
        self.lengths[:, row] = len(kept)

    def _number(self, row: int, slots: Index) -> Index:
        """Return the numbers of a row's slots among all slots of the cache."""
        pages, size = self.pages(row), self.keys.shape[2]
        numbers: Index = pages[slots // size] * size + slots % size
        return numbers

    def _ready(self, row: int, first: int, last: int) -> Index:
        """Return the pages of a row, ready to be written from slot ``first`` to before slot ``last``."""
        return self.pages(row)
