"""Beside stop 10: what a backend may do in one piece."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from minispec.backends.parts import Array, Block, Cache, Feed
from minispec.backends.storage import Storage


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
        """Run the layers in one call, with the same bits as :func:`minispec.model.forward.layers`, if it fuses them."""
        raise NotImplementedError

    def run(self, compute: Callable[[Cache, Feed], Array], cache: Cache, feed: Feed) -> Array:
        """Run one forward, whose arithmetic is ``compute``, and return its logits.

        The door for a backend whose memory is elsewhere (a GPU): it takes the feed's arrays there, may record what
        ``compute`` asks of it and replay that next time, and brings the logits back.
        """
        return compute(cache, feed)
