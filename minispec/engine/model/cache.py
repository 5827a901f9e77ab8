"""Stop 8 of 13: the KV cache, keys and values of the tokens seen so far, so that no forward computes them again.

Preallocated: storing is writing at the next free slots, going back is setting a length. A rollback erases nothing;
what lies beyond the length is never read.

One rule says who may lengthen it. A forward asks :meth:`KVCache.feed` where its tokens go, a backend writes keys and
values there, and only when all layers are through does the forward call :meth:`KVCache.extend`. So a forward that was
interrupted has not happened.

A *slot* is a place in the cache, a *position* is the token's place in the text. They agree until a tree of candidates
puts several tokens at one position; :meth:`KVCache.keep` then compacts the accepted path, and they agree again.

Drafts that look inside the target need its hidden states. A forward leaves the residual stream after chosen layers in
the slots where it leaves keys and values, so that what moves, frees or shares slots serves both. Nothing is kept until
somebody asks for it.

Next: `model/forward.py`, which fills the slots.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minispec.engine.backends.base import Array, Backend, Feed, Index, NumpyBackend
from minispec.engine.backends.formats import encode
from minispec.engine.backends.types import Features, Kept
from minispec.errors import InvariantError

PAGE_SIZE = 16
"""Slots per page where texts share pages: one wastes 7.5 slots on average, and its table is short."""

_ONE_PAGE = np.zeros(1, np.int64)


class KVCache:
    """Keys and values of every layer for one text.

    Parameters
    ----------
    n_layer, n_head, head_size : int
    capacity : int
        Slots, S.
    backend : Backend, optional
        Where keys and values live; in NumPy arrays by default.
    kv_dtype : str
        The format that keys and values are kept in. Half the bytes are half the reading, and round every number once.

    Attributes
    ----------
    keys, values : ndarray of shape (L, 1, S, H, D)
        One page of S slots here; :class:`minispec.engine.model.paged.PagedCache` has many small ones.
    lengths : list of int, length L
        Slots in use, per layer: a self-draft's first layers may run ahead of the rest, and none falls behind it.
    recordings : dict
        The backend's own notes about forwards over this cache.
    """

    _features = Features.none()

    def __init__(
        self,
        n_layer: int,
        n_head: int,
        head_size: int,
        capacity: int,
        *,
        backend: Backend | None = None,
        kv_dtype: str = "float32",
    ) -> None:
        self._backend = backend or NumpyBackend()
        shape = (n_layer, 1, capacity, n_head, head_size)
        self.keys, self.values = (self._backend.zeros(shape, kv_dtype) for _ in range(2))
        self.recordings: dict[Any, Any] = {}
        self.lengths = [0] * n_layer

    @property
    def capacity(self) -> int:
        """Slots that a text may fill."""
        return int(self.keys.shape[2])

    @property
    def length(self) -> int:
        """Slots that every layer has filled."""
        return self.lengths[-1]

    @property
    def pages(self) -> Index:
        """The pages that the text lies in, in order."""
        return _ONE_PAGE

    def adopt(self, tokens: Sequence[int]) -> int:
        """Take up what other texts that begin like ``tokens`` left to share, and return how many tokens that is."""
        return 0

    def publish(self, tokens: Sequence[int]) -> None:
        """Let other texts share what this cache holds of ``tokens``, which must be verified; here nobody does."""

    def feed(
        self,
        tokens: Sequence[int],
        *,
        positions: Sequence[int] | None = None,
        visible: NDArray[np.bool_] | None = None,
        num_layers: int | None = None,
        num_logits: int | None = None,
    ) -> Feed:
        """Give each of T tokens the next free slot, and say what it sees.

        Parameters
        ----------
        tokens, positions : sequence of int
            A token's position in the text is its slot unless given.
        visible : ndarray of shape (T, S), bool, optional
            Which slots each token attends to, itself included; by default every slot up to its own.
        num_layers, num_logits : int, optional
            Run only the first layers (a self-draft), and return the logits of the last tokens; by default all.

        Raises
        ------
        InvariantError
            If there is no room, the mask lacks columns, or a count is out of range.
        """
        count, depth = len(tokens), len(self.lengths) if num_layers is None else num_layers
        wanted = count if num_logits is None else num_logits
        if not 0 < depth <= len(self.lengths) or not 0 <= wanted <= count:
            raise InvariantError(f"cannot run {num_layers} layers and return {num_logits} logits of {count} tokens")
        first = self.lengths[depth - 1]
        last = first + count
        if last > self.capacity:
            raise InvariantError(f"{count} tokens need slot {last - 1} of a cache of {self.capacity}")
        if visible is not None and (visible.shape[0] != count or visible.shape[1] < last):
            raise InvariantError(f"the mask has shape {visible.shape}; it must cover {count} tokens, all {last} slots")
        slots, table = np.arange(first, last), self._ready(first, last)[None]
        return Feed(
            tokens=np.asarray(tokens, np.int64),
            positions=slots if positions is None else np.asarray(positions, np.int64),
            pages=table if count == 1 else table.repeat(count, axis=0),
            slots=slots,
            ends=slots + 1 if visible is None else np.full(count, last),
            visible=visible,
            num_layers=depth,
            num_logits=wanted,
            span=(first, last),
        )

    def store(self, layer: int, feed: Feed, keys: Array, values: Array) -> None:
        """Write keys and values of shape (T, H, D) at the slots of a feed."""
        pages, slots = feed.places(self.keys.shape[2])
        for kept, computed in ((self.keys, keys), (self.values, values)):
            kept[layer, pages, slots], _ = encode(computed, kept.dtype.name)

    def extend(self, feed: Feed) -> None:
        """Count a feed in: every layer that ran has written its slots.

        Raises
        ------
        InvariantError
            If the cache was set back since the feed was made: slots in between would hold nothing.
        """
        first, last = feed.span
        ran = self.lengths[: feed.num_layers]
        if first > ran[-1]:
            raise InvariantError(f"slots from {first} on leave a gap behind the {ran[-1]} that are filled")
        self.lengths[: len(ran)] = [max(length, last) for length in ran]

    def rollback(self, length: int) -> None:
        """Keep at most the first ``length`` slots, in every layer.

        Raises
        ------
        InvariantError
            If ``length`` is negative.
        """
        if length < 0:
            raise InvariantError(f"cannot roll a cache back to length {length}")
        if self.lengths[0] > length:
            self.lengths = [min(filled, length) for filled in self.lengths]

    def keep(self, slots: Sequence[int] | NDArray[np.int64]) -> None:
        """Keep only these slots, in this order, moved to the front.

        Raises
        ------
        InvariantError
            If the slots are not strictly increasing or not all filled.
        """
        kept = np.asarray(slots, np.int64)
        if np.any(np.diff(kept) <= 0) or (len(kept) and (kept[0] < 0 or kept[-1] >= self.length)):
            raise InvariantError(f"cannot keep slots {kept.tolist()} of {self.length}")
        moved = np.flatnonzero(kept != np.arange(len(kept)))  # the others lie where they belong
        sources, targets = (self._number(slots) for slots in (kept[moved], moved))
        for array in self.arrays():
            self._backend.move(array, sources, targets)
        self.lengths = [len(kept)] * len(self.lengths)

    @property
    def features(self) -> Features:
        """Hidden states that forwards leave here, in the slots of their tokens."""
        return self._features

    def keep_features(self, layers: Sequence[int]) -> None:
        """Keep the residual stream after these layers (from 1 on) of every token that is fed from now on.

        Raises
        ------
        InvariantError
            If there is no such layer.
        """
        self._features = add_layers(self._features, layers, self.keys, self._backend)

    def read_features(self, layers: Sequence[int], first: int, last: int) -> Array:
        """Return what was kept after some layers, side by side, for slots ``first`` to before ``last``.

        Returns
        -------
        ndarray of shape (last - first, F * C)

        Raises
        ------
        InvariantError
            If a slot is not filled, or a layer's output is not kept.
        """
        kept = self.features
        if not 0 <= first <= last <= self.length or not set(layers) <= set(kept.layers.tolist()):
            raise InvariantError(f"no features of layers {list(layers)} for slots {first} to {last} of {self.length}")
        slots, size = np.arange(first, last), self.keys.shape[2]
        pages = self.pages[slots // size]
        return np.concatenate(
            [self._backend.gather(kept.states[i], pages, slots % size) for i in np.searchsorted(kept.layers, layers)],
            axis=1,
        )

    def arrays(self) -> list[Kept]:
        """Return what is kept of every slot: keys, values and features, each of shape (_, B, S, ...)."""
        return [self.keys, self.values, *([self.features.states] if len(self.features.layers) else [])]

    def _number(self, slots: Index) -> Index:
        """Return the numbers of the text's slots among all slots of the memory."""
        pages, size = self.pages, self.keys.shape[2]
        numbers: Index = pages[slots // size] * size + slots % size
        return numbers

    def _ready(self, first: int, last: int) -> Index:
        """Return the pages, ready to be written from slot ``first`` to before slot ``last``."""
        return self.pages


def add_layers(features: Features, layers: Sequence[int], keys: Kept, backend: Backend) -> Features:
    """Return features with room for more layers beside the keys of a cache, (L, B, S, H, D); what is there stays.

    Raises
    ------
    InvariantError
        If there is no such layer.
    """
    depth, num_pages, size, num_heads, head_size = keys.shape
    wanted = sorted({*features.layers.tolist(), *layers})
    if wanted and not (wanted[0] >= 1 and wanted[-1] <= depth):
        raise InvariantError(f"cannot keep the output of layers {list(layers)} of {depth}")
    states = backend.place(np.zeros((len(wanted), num_pages, size, num_heads * head_size), np.float32))
    for layer, kept in zip(features.layers, features.states, strict=True):
        states[wanted.index(layer)] = kept
    return Features(np.asarray(wanted, np.int64), states)
