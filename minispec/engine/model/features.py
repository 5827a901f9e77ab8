"""Beside stop 8: a cache keeps hidden states too, for drafts that look inside the target.

A forward leaves the residual stream after chosen layers in the slots where it leaves keys and values. What moves, frees
or shares slots (a rollback, a tree's path, pages) then serves both, and nothing is kept until somebody reads.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from minispec.engine.backends.base import Array, Index
from minispec.engine.backends.types import Features, Kept
from minispec.errors import InvariantError


class FeatureKeeper:
    """The part of a cache that keeps hidden states; see :class:`minispec.engine.model.cache.KVCache`."""

    keys: Kept
    values: Kept
    _features = Features.none()

    @property
    @abstractmethod
    def length(self) -> int:
        """Slots that every layer has filled."""

    @property
    @abstractmethod
    def pages(self) -> Index:
        """The pages that the text lies in, in order."""

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
        self._features = add_layers(self._features, layers, self.keys)

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
            [kept.states[i, pages, slots % size] for i in np.searchsorted(kept.layers, layers)], axis=1
        )

    def arrays(self) -> list[Kept]:
        """Return what is kept of every slot: keys, values and features, each of shape (_, B, S, ...)."""
        return [self.keys, self.values, *([self.features.states] if len(self.features.layers) else [])]


def add_layers(features: Features, layers: Sequence[int], keys: Kept) -> Features:
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
    states = np.zeros((len(wanted), num_pages, size, num_heads * head_size), np.float32)
    for layer, kept in zip(features.layers, features.states, strict=True):
        states[wanted.index(layer)] = kept
    return Features(np.asarray(wanted, np.int64), states)
