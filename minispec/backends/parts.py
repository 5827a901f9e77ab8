"""Beside stop 10: what a forward is made of, and what it is fed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]
Index = NDArray[np.int64]


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


@dataclass(frozen=True, slots=True)
class Feed:
    """What one forward is fed: its tokens, and where each belongs; arrays of shape (T,) unless another one is given.

    Parameters
    ----------
    tokens, positions : ndarray
        Token ids, and their places in the text.
    pages : ndarray of shape (T, M)
        The pages of the cache that hold each token's text, in the text's order.
    slots : ndarray
        Which slot of those pages each token's key and value go to.
    ends, visible : ndarray
        What each token attends to: see :meth:`Backend.attention`.
    num_layers : int
        Run the first so many.
    num_logits : int
        Logits are wanted of the last so many tokens.
    spans : dict of int to (int, int)
        Of each row, the first slot that the forward fills and the first one behind.
    """

    tokens: Index
    positions: Index
    pages: Index
    slots: Index
    ends: Index
    visible: NDArray[np.bool_] | None
    num_layers: int
    num_logits: int
    spans: dict[int, tuple[int, int]] = field(default_factory=dict)

    def places(self, size: int) -> tuple[Index, Index]:
        """Return, for pages of ``size`` slots, the page that each token goes to, and which of its slots."""
        return self.pages[np.arange(len(self.slots)), self.slots // size], self.slots % size


class Cache(Protocol):
    """What a backend sees of ``model.cache.KVCache``: keys and values, (L, N, S, H, D), and a place for its notes."""

    keys: Array
    values: Array
    recordings: dict[Any, Any]

    def store(self, layer: int, feed: Feed, keys: Array, values: Array) -> None:
        """Write keys and values of shape (T, H, D) at the slots of a feed."""
        ...


def take_slots(kept: Array, pages: Index, end: int) -> Array:
    """Return the first ``end`` slots of a text, (end, H, D), from keys or values of shape (B, S, H, D)."""
    size = kept.shape[1]
    if end <= size:
        return kept[pages[0], :end]
    text: Array = kept[pages[: -(-end // size)]].reshape(-1, *kept.shape[2:])
    return text[:end]
