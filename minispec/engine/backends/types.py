"""Beside stop 10: what a forward is made of, and what it is fed."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from minispec.engine.frozen import record

Array = NDArray[np.float32]
Index = NDArray[np.int64]
Tensor = NDArray[np.float32 | np.float16]
"""What a checkpoint holds, before a backend packs it."""
Kept = NDArray[np.float32 | np.float16]
"""Keys or values, as a cache keeps them; sums over them are float32."""


@dataclass(frozen=True, slots=True)
class Norm:
    """A layer norm: scale and shift, each of shape (C,), and the epsilon under the root."""

    weight: Array
    bias: Array
    epsilon: float


@dataclass(frozen=True, slots=True)
class Linear:
    """A weight matrix in the layout its backend wants.

    Parameters
    ----------
    weight : ndarray
        Shape (K, N), float32 in the reference; a backend's own packing and number format otherwise.
    bias : ndarray of shape (N,)
    num_outputs : int
        N.
    scale : ndarray or None
        Factors of the columns, for a format that needs them.
    """

    weight: NDArray[Any]
    bias: Array
    num_outputs: int
    scale: Array | None = None


@dataclass(frozen=True, slots=True)
class Attention:
    """The two matrices around attention: ``c_attn`` maps C to 3C (queries, keys, values), ``c_proj`` C to C."""

    c_attn: Linear
    c_proj: Linear


@dataclass(frozen=True, slots=True)
class MLP:
    """The two matrices around the activation: ``c_fc`` maps C to n_inner, ``c_proj`` back."""

    c_fc: Linear
    c_proj: Linear


@dataclass(frozen=True, slots=True)
class Block:
    """One layer of the model."""

    ln_1: Norm
    attn: Attention
    ln_2: Norm
    mlp: MLP


@record(frozen=True, slots=True)
class Feed:
    """What one forward is fed: its tokens, and where each belongs; arrays of shape (T,) unless another one is given.

    Parameters
    ----------
    tokens, positions : ndarray
        Token ids, and their places in the text.
    pages : ndarray of shape (T, M)
        The pages of the cache that hold each token's text, in order: with S slots a page, slot s of the text is slot
        ``s % S`` of page ``pages[t, s // S]``.
    slots : ndarray
        Which slot of the text each token's key and value go to.
    ends : ndarray
        Token t sees the slots before ``ends[t]``.
    visible : ndarray of shape (T, M * S or less), bool, or None
        If given, token t sees of those slots only the ones marked True (a tree's ancestors).
    num_layers : int
        How many layers run, from the first on.
    num_logits : int
        Logits are wanted after this many tokens, the last ones.
    span : (int, int)
        The first slot of the text that the forward fills and the first one behind; of no use where texts are joined.
    """

    tokens: Index
    positions: Index
    pages: Index
    slots: Index
    ends: Index
    visible: NDArray[np.bool_] | None
    num_layers: int
    num_logits: int
    span: tuple[int, int] = (0, 0)

    def places(self, size: int) -> tuple[Index, Index]:
        """Return, for pages of ``size`` slots, the page that each token goes to, and which of its slots."""
        return self.pages[np.arange(len(self.slots)), self.slots // size], self.slots % size

    def take(self, rows: Index) -> Self:
        """Return the feed with these tokens alone, in this order; how many logits are wanted stays as it is."""
        return replace(self, **{name: array[rows] for name, array in self.arrays().items()})

    def arrays(self) -> dict[str, Any]:
        """Return by their names the fields that hold something of each token."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if isinstance(value, np.ndarray)}


@dataclass(slots=True)
class Features:
    """Hidden states that a forward leaves beside keys and values, for drafts that look inside the target.

    Parameters
    ----------
    layers : ndarray of shape (F,)
        Whose output is kept, from 1 to L, in increasing order; none unless somebody reads them.
    states : ndarray of shape (F, B, S, C)
        The residual stream after each of these layers, at the slots of a cache.
    """

    layers: Index
    states: Array

    @classmethod
    def none(cls) -> Features:
        """Return what is kept where nobody reads."""
        return cls(np.zeros(0, np.int64), np.zeros((0, 1, 1, 1), np.float32))

    def store(self, layer: int, feed: Feed, x: Array) -> None:
        """Keep the residual stream after ``layer`` layers, (T, C), at the slots of a feed, if it is to be kept."""
        for i in np.flatnonzero(self.layers == layer):
            pages, slots = feed.places(self.states.shape[2])
            self.states[i, pages, slots] = x


class Cache(Protocol):
    """What a backend sees of ``model.cache.KVCache``: keys and values, (L, N, S, H, D), and a place for its notes."""

    keys: Kept
    values: Kept
    recordings: dict[Any, Any]

    @property
    def features(self) -> Features:
        """Hidden states that are to be kept beside them."""
        ...

    def store(self, layer: int, feed: Feed, keys: Array, values: Array) -> None:
        """Write keys and values of shape (T, H, D) at the slots of a feed."""
        ...


def take_slots(kept: Kept, pages: Index, end: int) -> Array:
    """Return the first ``end`` slots of a text, (end, H, D), from keys or values of shape (B, S, H, D)."""
    size = kept.shape[1]
    text = kept[pages[0]] if end <= size else kept[pages[: -(-end // size)]].reshape(-1, *kept.shape[2:])
    return text[:end].astype(np.float32, copy=False)
