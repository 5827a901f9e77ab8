"""A forward recorded as a CUDA graph, and the buffers that it reads its step from.

A graph replays launches with the arguments they had. So whatever changes from step to step lies in memory at a fixed
address: token ids, positions, rows, slots, ends, and the mask of a tree.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from minispec.backends.base import Cache, Step

_INDICES = ("tokens", "positions", "rows", "slots", "ends")


class StepBuffer:
    """A step's arrays on the card, in two pieces: one upload each.

    Parameters
    ----------
    cupy : module
    step : Step
        Its sizes, and the numbers of layers and logits, are those of every step that will be filled in.
    num_slots : int
        Of the cache, S; a mask has a column for each.

    Attributes
    ----------
    step : Step
        The same with arrays on the card: int32, and uint8 of shape (T, S) for the mask.
    """

    def __init__(self, cupy: Any, step: Step, num_slots: int) -> None:
        num_tokens = len(step.tokens)
        self._indices = cupy.empty((len(_INDICES), num_tokens), np.int32)
        self._mask = None if step.visible is None else cupy.empty((num_tokens, num_slots), np.uint8)
        views = {name: self._indices[i] for i, name in enumerate(_INDICES)}
        self.step = dataclasses.replace(step, visible=self._mask, **views)

    def fill(self, step: Step, stream: Any) -> None:
        """Upload another step of the same sizes."""
        self._indices.set(np.stack([getattr(step, name) for name in _INDICES]).astype(np.int32), stream=stream)
        if self._mask is not None and step.visible is not None:
            mask = np.zeros(self._mask.shape, np.uint8)
            seen = step.visible[:, : mask.shape[1]]
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
    step : Step

    Attributes
    ----------
    graph : cupy.cuda.Graph
        The launches alone, without upload and download.
    num_tokens : int
    """

    def __init__(self, cupy: Any, stream: Any, compute: Callable[[Cache, Step], Any], cache: Cache, step: Step) -> None:
        self._stream = stream
        self.num_tokens = len(step.tokens)
        self._buffer = StepBuffer(cupy, step, cache.keys.shape[2])
        stream.begin_capture()
        try:
            self._logits = compute(cache, self._buffer.step)
        finally:
            self.graph = stream.end_capture()

    def replay(self, step: Step) -> Any:
        """Run the recorded launches on this step; the logits stay on the card until the next replay."""
        self._buffer.fill(step, self._stream)
        self.graph.launch(self._stream)
        return self._logits
