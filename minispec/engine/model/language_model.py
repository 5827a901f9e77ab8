"""Beside stop 7: what decoding needs of a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from minispec.engine.backends.base import Array, Cache, Feed
from minispec.engine.model.cache import KVCache


class FedCache(Cache, Protocol):
    """A cache, or several with one memory, that a forward fills."""

    def extend(self, feed: Feed) -> None:
        """Count a feed in: every layer that ran has written its slots."""
        ...


class LanguageModel(Protocol):
    """What decoding needs of a model: GPT-2 has it, and so has a table small enough to enumerate."""

    @property
    def name(self) -> str:
        """The name in messages."""
        ...

    @property
    def vocab_size(self) -> int:
        """V."""
        ...

    @property
    def n_positions(self) -> int:
        """Longest sequence, in tokens."""
        ...

    @property
    def eos_token_id(self) -> frozenset[int]:
        """Tokens that end a text."""
        ...

    @property
    def batch_invariant(self) -> bool:
        """Whether a row's logits have the same bits whatever other rows are computed with it."""
        ...

    def new_cache(self, capacity: int | None = None) -> KVCache:
        """Return an empty cache."""
        ...

    def forward(
        self,
        tokens: Sequence[int],
        cache: KVCache,
        num_logits: int | None = None,
        *,
        positions: Sequence[int] | None = None,
        visible: NDArray[np.bool_] | None = None,
    ) -> Array:
        """Feed tokens to the cache and return logits of shape (T or num_logits, V).

        ``positions`` of shape (T,) and ``visible`` of shape (T, S) are for trees; without them the tokens are a chain.
        """
        ...

    def run(self, feed: Feed, cache: FedCache) -> Array:
        """Run the forward of a feed, and count it in; logits of shape (num_logits, V)."""
        ...
