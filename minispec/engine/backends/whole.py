"""Beside stop 10: what a backend may do in one piece."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from minispec.engine.backends.storage import Storage
from minispec.engine.backends.types import Array, Block, Cache, Feed


class Whole(Storage):
    """A stack of layers and a whole forward; these bodies leave them to the operations, one after the other."""

    def fuses(self, blocks: Sequence[Block]) -> bool:
        """Return whether :meth:`layers` runs these layers in one call."""
        return False

    def layers(
        self,
        x: Array,
        blocks: Sequence[Block],
        cache: Cache,
        feed: Feed,
        scale: Callable[[int], float],
        activation: str,
    ) -> Array:
        """Run the layers in one call, with the bits of :func:`minispec.engine.model.forward.layers`."""
        raise NotImplementedError

    def run(self, compute: Callable[[Cache, Feed], Array], cache: Cache, feed: Feed) -> Array:
        """Run one forward, whose arithmetic is ``compute``, and return its logits.

        The door for a backend whose memory is elsewhere (a GPU): it takes the feed's arrays there, may record what
        ``compute`` asks of it and replay that next time, and brings the logits back.
        """
        return compute(cache, feed)
