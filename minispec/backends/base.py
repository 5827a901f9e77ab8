"""The operations of a forward, in NumPy.

These bodies are the reference that every other backend is compared with, operation by operation. They are written to
be read; their matrix products go through BLAS, which sums in an order that depends on the number of rows, so this
backend is *not* batch-invariant and says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from minispec.backends import host
from minispec.backends.formats import DTYPES, round_weights

Array = NDArray[np.float32]
Index = NDArray[np.int64]

_SQRT_2_OVER_PI = math.sqrt(2.0 / math.pi)


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
    lengths_after : dict of int to int
        How many slots of each row are in use when the forward is through.
    """

    tokens: Index
    positions: Index
    rows: Index
    slots: Index
    ends: Index
    visible: NDArray[np.bool_] | None
    num_layers: int
    num_logits: int
    lengths_after: dict[int, int] = field(default_factory=dict)


class Cache(Protocol):
    """What a backend sees of ``model.cache.KVCache``: keys and values, (L, B, S, H, D), and a place for its notes."""

    keys: Array
    values: Array
    recordings: dict[Any, Any]

    def store(self, layer: int, feed: Feed, keys: Array, values: Array) -> None:
        """Write keys and values of shape (T, H, D) at the slots of a feed."""
        ...


class Backend:
    """The operation set, with reference bodies.

    Shapes: T rows (tokens), C channels, H heads, D head size, K inputs and N outputs of a matrix, B cache rows,
    S cache slots, V vocabulary. Activations are float32 and C-contiguous.

    A backend overrides what it does better: :meth:`matmul`, :meth:`layer_norm`, :meth:`activation` and
    :meth:`attention` one by one, :meth:`linear` if it fuses them, or :meth:`layers` as a whole.

    Attributes
    ----------
    name : str
    batch_invariant : bool
        Whether a row's result has the same bits whatever other rows are computed with it. A test holds it to that.
    dtypes : tuple of str
        The formats :meth:`pack` takes.
    exact_dtypes : tuple of str
        Those in which values that fit them give the bits that the same values give in float32.
    """

    name: ClassVar[str]
    batch_invariant: ClassVar[bool]
    dtypes: tuple[str, ...] = DTYPES
    exact_dtypes: ClassVar[tuple[str, ...]] = ("float32", "float16", "bfloat16")

    def pack(self, weight: Array, bias: Array | None, dtype: str = "float32") -> Linear:
        """Prepare a matrix of shape (K, N) for :meth:`linear`; a missing bias counts as zero.

        The reference keeps float32: ``dtype`` rounds the values and saves no memory.
        """
        num_outputs = weight.shape[1]
        bias = np.zeros(num_outputs, np.float32) if bias is None else bias
        return Linear(np.ascontiguousarray(round_weights(weight, dtype)), np.ascontiguousarray(bias), num_outputs)

    def unpack(self, matrix: Linear) -> Array:
        """Return the values of a packed matrix, shape (K, N), float32."""
        return matrix.weight

    def columns(self, matrix: Linear, indices: Index) -> Array:
        """Return columns of a packed matrix as rows, shape (T, K)."""
        return np.ascontiguousarray(matrix.weight[:, indices].T)

    def embed(self, wte: Linear, wpe: Array, tokens: Index, positions: Index) -> Array:
        """Return token plus position embeddings, shape (T, C).

        ``wte`` is packed as a head is, (C, V): a tied model keeps one table for both uses. ``wpe`` has shape
        (n_positions, C).
        """
        return self.columns(wte, tokens) + wpe[positions]

    def layer_norm(self, x: Array, norm: Norm) -> Array:
        """Normalise each row of ``x``, shape (T, C), to mean 0 and variance 1, then scale and shift."""
        mean = x.mean(axis=-1, keepdims=True)
        variance = np.square(x - mean).mean(axis=-1, keepdims=True)
        normed: Array = (x - mean) / np.sqrt(variance + np.float32(norm.epsilon))
        return normed * norm.weight + norm.bias

    def matmul(self, x: Array, matrix: Linear) -> Array:
        """Return ``x @ weight + bias``, shape (T, N), for ``x`` of shape (T, K)."""
        y: Array = x @ matrix.weight + matrix.bias
        return y

    def linear(
        self,
        x: Array,
        matrix: Linear,
        *,
        norm: Norm | None = None,
        activation: str | None = None,
        residual: Array | None = None,
    ) -> Array:
        """Return ``activation(norm(x) @ weight + bias) + residual``, shape (T, N), for ``x`` of shape (T, K).

        Each of the three is left out if it is None. All that a layer does besides attention is this one operation, so
        that a backend can do it in one pass.
        """
        y = self.matmul(x if norm is None else self.layer_norm(x, norm), matrix)
        if activation is not None:
            y = self.activation(y, activation)
        return y if residual is None else y + residual

    def activation(self, x: Array, name: str) -> Array:
        """Apply ``gelu_new`` (tanh form), ``gelu`` (exact) or ``relu`` to each element."""
        if name == "relu":
            return np.maximum(x, np.float32(0.0))
        if name == "gelu":
            erf = np.frompyfunc(math.erf, 1, 1)
            phi: Array = np.float32(0.5) * (np.float32(1.0) + erf(x / math.sqrt(2.0)).astype(np.float32))
            return x * phi
        inner = np.float32(_SQRT_2_OVER_PI) * (x + np.float32(0.044715) * x * x * x)
        gate: Array = np.float32(0.5) * (np.float32(1.0) + np.tanh(inner))
        return x * gate

    def project(self, x: Array, matrix: Linear, norm: Norm, cache: Cache, layer: int, feed: Feed) -> Array:
        """Compute queries, keys and values of norm(x); put the last two into the cache.

        Parameters
        ----------
        x : ndarray of shape (T, C)
        matrix : Linear
            (C, 3C): queries, keys, values side by side.

        Returns
        -------
        ndarray of shape (T, H, D)
            The queries.
        """
        qkv = self.linear(x, matrix, norm=norm)
        queries: Array
        queries, keys, values = np.ascontiguousarray(
            qkv.reshape(len(x), 3, *cache.keys.shape[-2:]).transpose(1, 0, 2, 3)
        )  # (T, 3C) -> 3 x (T, H, D)
        cache.store(layer, feed, keys, values)
        return queries

    def attention(
        self,
        queries: Array,
        keys: Array,
        values: Array,
        rows: Index,
        ends: Index,
        visible: NDArray[np.bool_] | None,
        scale: float,
    ) -> Array:
        """Attend from each token to the slots of its cache row.

        Parameters
        ----------
        queries : ndarray of shape (T, H, D)
        keys, values : ndarray of shape (B, S, H, D)
            One layer of the cache; the new tokens' own keys and values are already in it.
        rows : ndarray of shape (T,)
            The cache row of each token.
        ends : ndarray of shape (T,)
            Token t sees slots 0..ends[t]-1 of its row.
        visible : ndarray of shape (T, S) or None
            If given, token t sees of those slots only the ones marked True (a tree's ancestors).
        scale : float
            Multiplies the scores before the softmax.

        Returns
        -------
        ndarray of shape (T, H, D)
        """
        out = np.empty_like(queries)
        for t, (row, end) in enumerate(zip(rows, ends, strict=True)):
            scores = np.einsum("hd,shd->hs", queries[t], keys[row, :end]) * np.float32(scale)  # (H, S)
            if visible is not None:
                scores = np.where(visible[t, :end], scores, np.float32(-np.inf))
            weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
            weights /= weights.sum(axis=-1, keepdims=True)
            out[t] = np.einsum("hs,shd->hd", weights, values[row, :end])
        return out

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

    def place(self, array: Array) -> Array:
        """Put a float32 array where this backend computes."""
        return np.ascontiguousarray(array)

    def fetch(self, array: Array) -> Array:
        """Return an array of this backend as a NumPy array."""
        return array

    def zeros(self, shape: tuple[int, ...], dtype: str = "float32") -> Array:
        """Return keys or values of a new cache, for weights kept in ``dtype``; the reference keeps all in float32."""
        return np.zeros(shape, np.float32)

    def compact(self, array: Array, row: int, slots: Index) -> None:
        """Move these slots of one row of keys or values, (L, B, S, H, D), to the front, in every layer."""
        array[:, row, : len(slots)] = array[:, row, slots]

    def free_bytes(self) -> int | None:
        """Return how much memory is left where this backend computes, if it can tell."""
        return host.free_bytes()

    def warm_up(self, dtype: str = "float32") -> None:
        """Do now whatever the first forward over weights of this format would otherwise wait for (compilation)."""


class NumpyBackend(Backend):
    """The reference bodies, as they are."""

    name = "numpy"
    batch_invariant = False
