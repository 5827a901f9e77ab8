"""Stop 2 of 12 · the KV cache. Before: model/forward. Next: backends/base.

Preallocated: storing is writing at the next free slots, going back is setting a length. Nothing is erased by a
rollback; what lies beyond the length is never read.

A *slot* is a place in the cache, a *position* is the token's place in the text. They agree until a tree of candidates
puts several tokens at one position; :meth:`KVCache.keep` then compacts the accepted path, and they agree again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minispec.backends.base import Array, Backend, Index, NumpyBackend
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
        Where keys and values live; in NumPy arrays by default. Positions and lengths are always NumPy's.
    dtype : str
        Of the model's weights; a backend may keep keys and values in it too.

    Attributes
    ----------
    keys, values : ndarray of shape (L, B, S, H, D)
    positions : ndarray of shape (B, S), int64
        The position in the text of the token in each slot.
    lengths : ndarray of shape (L, B), int64
        Slots in use, per layer: a self-draft's first layers may run ahead of the rest.
    recordings : dict
        Whatever the backend remembers about forwards over this cache.
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
        self.positions: Index = np.zeros((rows, capacity), np.int64)
        self.lengths: Index = np.zeros((n_layer, rows), np.int64)

    @property
    def capacity(self) -> int:
        """Slots per row."""
        return int(self.keys.shape[2])

    def length(self, row: int = 0) -> int:
        """Return how many slots of ``row`` every layer has filled."""
        return int(self.lengths[:, row].min())

    def store(self, layer: int, rows: Index, slots: Index, keys: Array, values: Array) -> None:
        """Write keys and values of shape (T, H, D) at (rows[t], slots[t]) and lengthen the layer to the last slot.

        Raises
        ------
        InvariantError
            If a slot lies outside the capacity or would leave a gap.
        """
        ends = self._ends_after(self.lengths[layer], rows, slots)
        self.keys[layer, rows, slots] = keys
        self.values[layer, rows, slots] = values
        for row, end in ends.items():
            self.lengths[layer, row] = end

    def advance(self, layer: int | slice, rows: Index, slots: Index) -> None:
        """Lengthen a layer, or several, to slots that the backend has written itself.

        Raises
        ------
        InvariantError
            If a slot lies outside the capacity or would leave a gap.
        """
        lengths = np.atleast_2d(self.lengths[layer])  # a view; the shortest layer is the strictest about gaps
        for row, end in self._ends_after(lengths.min(axis=0), rows, slots).items():
            np.maximum(lengths[:, row], end, out=lengths[:, row])

    def _ends_after(self, lengths: Index, rows: Index, slots: Index) -> dict[int, int]:
        """Return each row's length with these slots filled; refuse slots outside, or with a gap before them."""
        wanted = sorted(zip(slots.tolist(), rows.tolist(), strict=True))
        ends = {row: int(lengths[row]) for _, row in wanted}
        capacity = self.capacity
        for slot, row in wanted:
            if not 0 <= slot < capacity:
                raise InvariantError(f"slots {slots.tolist()} do not fit the cache's capacity of {self.capacity}")
            if slot > ends[row]:
                raise InvariantError(f"storing at slots {slots.tolist()} would leave a gap")
            ends[row] = max(ends[row], slot + 1)
        return ends

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
        count = len(kept)
        self._backend.compact(self.keys, row, kept)
        self._backend.compact(self.values, row, kept)
        self.positions[row, :count] = self.positions[row, kept]
        self.lengths[:, row] = count
