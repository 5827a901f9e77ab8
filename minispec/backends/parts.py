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
    """What one forward is fed: its tokens, and where each belongs; all arrays of shape (T,) but the mask.

    Parameters
    ----------
    tokens, positions : ndarray
        Token ids, and their places in the text.
    rows, slots : ndarray
        Where in the cache each token's key and value go.
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
    rows: Index
    slots: Index
    ends: Index
    visible: NDArray[np.bool_] | None
    num_layers: int
    num_logits: int
    spans: dict[int, tuple[int, int]] = field(default_factory=dict)


class Cache(Protocol):
    """What a backend sees of ``model.cache.KVCache``: keys and values, (L, B, S, H, D), and a place for its notes."""

    keys: Array
    values: Array
    recordings: dict[Any, Any]

    def store(self, layer: int, feed: Feed, keys: Array, values: Array) -> None:
        """Write keys and values of shape (T, H, D) at the slots of a feed."""
        ...
