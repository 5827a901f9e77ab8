"""What changes from forward to forward, at addresses that do not: ids, positions, slots, ends, pages, a mask.

All of it is one piece of pinned memory and one of the card's, and one copy brings it there.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from minispec.engine.backends.base import Feed
from minispec.engine.backends.cuda.program import FEED

_INDICES = ("tokens", "positions", "slots", "ends")


def pinned(cupy: Any, shape: tuple[int, ...], dtype: Any) -> tuple[Any, int]:
    """Return an array that the card can reach, and its address; a pool gets it back when nobody has it any more."""
    count = math.prod(shape)
    memory = cupy.cuda.alloc_pinned_memory(max(count * np.dtype(dtype).itemsize, 1))
    return np.frombuffer(memory, dtype, count).reshape(shape), memory.ptr


class FeedBuffer:
    """A feed's arrays on the card.

    Parameters
    ----------
    cupy : module
    stream : cupy.cuda.Stream
    feed : Feed
        Its sizes, and the numbers of layers and logits, are those of every feed that will be filled in.
    size : int
        Slots of a page, S; a mask has a column for each slot of a text's pages.

    Attributes
    ----------
    feed : Feed
        The same with arrays on the card: int32, and uint8 of shape (T, M * S) for the mask.
    record : ndarray of bytes
        Where they are, as the kernel reads it.
    """

    def __init__(self, cupy: Any, stream: Any, feed: Feed, size: int) -> None:
        rows, num_pages = feed.pages.shape
        self._cupy = cupy
        self._num_bytes = 4 * rows * (len(_INDICES) + num_pages)
        self._columns = 0 if feed.visible is None else num_pages * size
        whole, address = pinned(cupy, (self._num_bytes + rows * self._columns,), np.uint8)
        with stream:
            self._card = cupy.empty(whole.shape, np.uint8)
        runtime = cupy.cuda.runtime
        self._copy = (self._card.data.ptr, address, whole.nbytes, runtime.memcpyHostToDevice, stream.ptr)
        words = whole[: self._num_bytes].view(np.int32)
        self._rows = words[: len(_INDICES) * rows].reshape(len(_INDICES), rows)
        self._pages = words[len(_INDICES) * rows :].reshape(rows, num_pages)
        self._mask = whole[self._num_bytes :].reshape(rows, self._columns)
        on_card = self._card[: self._num_bytes].view(np.int32)
        views: dict[str, Any] = {name: on_card[i * rows : (i + 1) * rows] for i, name in enumerate(_INDICES)}
        views["pages"] = on_card[len(_INDICES) * rows :].reshape(rows, num_pages)
        views["visible"] = self._card[self._num_bytes :].reshape(rows, self._columns) if self._columns else None
        self.feed = dataclasses.replace(feed, **views)
        self.record = feed_record(size, **views)

    def fill(self, feed: Feed) -> None:
        """Send another feed of the same sizes; the stream must not be reading the one before."""
        rows = self._rows
        rows[0], rows[1], rows[2], rows[3] = feed.tokens, feed.positions, feed.slots, feed.ends
        self._pages[...] = feed.pages
        if feed.visible is not None:
            seen = feed.visible[:, : self._columns]
            self._mask[:, : seen.shape[1]] = seen
            self._mask[:, seen.shape[1] :] = 0
        self._cupy.cuda.runtime.memcpyAsync(*self._copy)


def feed_record(size: int = 1, pages: Any = None, **arrays: Any) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Return ``struct Feed`` for arrays on the card; those that a step does not read are left out."""
    record = np.zeros(1, FEED)
    for name, array in {"pages": pages, **arrays}.items():
        if array is not None:
            record[name] = array.data.ptr
    record["num_pages"], record["size"] = (0 if pages is None else pages.shape[1]), size
    return record.view(np.uint8)
