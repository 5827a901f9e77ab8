"""A forward recorded as a CUDA graph, and the buffers that it reads its feed from.

A graph replays launches with the arguments they had. So whatever changes from one forward to the next lies in memory at
a fixed address: token ids, positions, slots, ends, pages, and the mask of a tree.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from minispec.engine.backends.base import Cache, Feed

_INDICES = ("tokens", "positions", "slots", "ends")


class FeedBuffer:
    """A feed's arrays on the card, in three pieces: one upload each.

    Parameters
    ----------
    cupy : module
    feed : Feed
        Its sizes, and the numbers of layers and logits, are those of every feed that will be filled in.
    size : int
        Slots of a page, S; a mask has a column for each slot of a text's pages.

    Attributes
    ----------
    feed : Feed
        The same with arrays on the card: int32, and uint8 of shape (T, S) for the mask.
    """

    def __init__(self, cupy: Any, feed: Feed, size: int) -> None:
        num_tokens = len(feed.tokens)
        self._indices = cupy.empty((len(_INDICES), num_tokens), np.int32)
        self._pages = cupy.empty(feed.pages.shape, np.int32)
        columns = feed.pages.shape[1] * size
        self._mask = None if feed.visible is None else cupy.empty((num_tokens, columns), np.uint8)
        views = {name: self._indices[i] for i, name in enumerate(_INDICES)}
        self.feed = dataclasses.replace(feed, pages=self._pages, visible=self._mask, **views)

    def fill(self, feed: Feed, stream: Any) -> None:
        """Upload another feed of the same sizes."""
        self._indices.set(np.stack([getattr(feed, name) for name in _INDICES]).astype(np.int32), stream=stream)
        self._pages.set(feed.pages.astype(np.int32), stream=stream)
        if self._mask is not None and feed.visible is not None:
            mask = np.zeros(self._mask.shape, np.uint8)
            seen = feed.visible[:, : mask.shape[1]]
            mask[:, : seen.shape[1]] = seen
            self._mask.set(mask, stream=stream)


class Recording:
    """One forward's launches, ready to be replayed.

    Parameters
    ----------
    cupy : module
    stream : cupy.cuda.Stream
        Not the default stream, and in use.
    compute : callable
        Launches the forward and returns its logits; must have run before, so that nothing is left to compile.
    cache : Cache
        The keys and values that this recording, and no other, will read and write.
    feed : Feed

    Attributes
    ----------
    graph : cupy.cuda.Graph
        The launches alone, without upload and download.
    num_tokens : int
    """

    def __init__(self, cupy: Any, stream: Any, compute: Callable[[Cache, Feed], Any], cache: Cache, feed: Feed) -> None:
        self._stream = stream
        self.num_tokens = len(feed.tokens)
        self._buffer = FeedBuffer(cupy, feed, cache.keys.shape[2])
        stream.begin_capture()
        try:
            self._logits = compute(cache, self._buffer.feed)
        finally:
            self.graph = stream.end_capture()

    def replay(self, feed: Feed) -> Any:
        """Run the recorded launches on this feed; the logits stay on the card until the next replay."""
        self._buffer.fill(feed, self._stream)
        self.graph.launch(self._stream)
        return self._logits
