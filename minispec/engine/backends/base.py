"""Stop 10 of 13: the operations of a forward, in NumPy.

These bodies are the reference that every other backend is compared with, operation by operation. They are written to
be read; their matrix products go through BLAS, which sums in an order that depends on the number of rows, so this
backend is *not* batch-invariant and says so.

The same operations as plain loops are in ``_kernels``, beside the course; those of a default run in ``panel``.

Next: `sampling/processors.py`, what becomes of the logits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from minispec.engine.backends import host
from minispec.engine.backends.formats import DTYPES, KV_DTYPES, KV_TYPES, round_weights
from minispec.engine.backends.types import (
    MLP,
    Array,
    Attention,
    Block,
    Cache,
    Features,
    Feed,
    Index,
    Kept,
    Linear,
    Norm,
    Tensor,
    take_slots,
)

__all__ = ["MLP", "Array", "Attention", "Backend", "Block", "Cache", "Feed", "Index", "Linear", "Norm", "NumpyBackend"]

_SQRT_2_OVER_PI = math.sqrt(2.0 / math.pi)


class Backend:
    """The operation set, with reference bodies.

    Shapes: T rows (tokens), C channels, H heads, D head size, K inputs and N outputs of a matrix, V vocabulary; a cache
    of B pages of S slots each, M of which hold a text. Activations are float32 and C-contiguous.

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
        """Apply ``gelu_new`` (tanh form), ``gelu`` (exact), ``relu``, ``silu`` or ``tanh`` to each element."""
        if name == "relu":
            return np.maximum(x, np.float32(0.0))
        if name in ("tanh", "silu"):
            bend: Array = np.tanh(x if name == "tanh" else np.float32(0.5) * x)
            return bend if name == "tanh" else x * (np.float32(0.5) + np.float32(0.5) * bend)  # x * sigmoid(x)
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
        keys: Kept,
        values: Kept,
        pages: Index,
        ends: Index,
        visible: NDArray[np.bool_] | None,
        scale: float,
    ) -> Array:
        """Attend from each token to the slots of its text that it sees: see :class:`parts.Feed`.

        Parameters
        ----------
        queries : ndarray of shape (T, H, D)
        keys, values : ndarray of shape (B, S, H, D)
            One layer of the cache, float32 or float16; the new tokens' own keys and values are already in it.
        pages, ends, visible
            Of a feed.
        scale : float
            Multiplies the scores before the softmax.

        Returns
        -------
        ndarray of shape (T, H, D)
        """
        out = np.empty_like(queries)
        for t, end in enumerate(ends):
            seen_keys, seen_values = (take_slots(kept, pages[t], end) for kept in (keys, values))  # (end, H, D)
            scores = np.einsum("hd,shd->hs", queries[t], seen_keys) * np.float32(scale)  # (H, end)
            if visible is not None:
                scores = np.where(visible[t, :end], scores, np.float32(-np.inf))
            weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
            weights /= weights.sum(axis=-1, keepdims=True)
            out[t] = np.einsum("hs,shd->hd", weights, seen_values)
        return out

    def keep(self, features: Features, layer: int, feed: Feed, x: Array) -> None:
        """Keep the residual stream after ``layer`` layers, (T, C), at the slots of a feed, if it is to be kept."""
        features.store(layer, feed, x)

    # ── in one piece: a stack of layers, and a whole forward ──

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

    # ── memory: these bodies keep everything in NumPy arrays, weights in float32 ──

    def pack(self, weight: Tensor, bias: Array | None, dtype: str = "float32") -> Linear:
        """Prepare a matrix of shape (K, N) for :meth:`linear`; a missing bias counts as zero.

        The reference keeps float32: ``dtype`` rounds the values and saves no memory.
        """
        num_outputs = weight.shape[1]
        bias = np.zeros(num_outputs, np.float32) if bias is None else bias
        return Linear(np.ascontiguousarray(round_weights(weight, dtype)), np.ascontiguousarray(bias), num_outputs)

    def unpack(self, matrix: Linear) -> Array:
        """Return the values of a packed matrix, shape (K, N), float32."""
        return matrix.weight

    def without(self, matrix: Linear) -> Self:
        """Return the backend of a model that lacks ``matrix``: this one, unless it counts what it has packed."""
        return self

    def columns(self, matrix: Linear, indices: Index) -> Array:
        """Return columns of a packed matrix as rows, shape (T, K)."""
        return np.ascontiguousarray(matrix.weight[:, indices].T)

    def place(self, array: Array) -> Array:
        """Put a float32 array where this backend computes."""
        return np.ascontiguousarray(array)

    def fetch(self, array: Array) -> Array:
        """Return an array of this backend as a NumPy array."""
        return array

    def gather(self, array: Array, pages: Index, slots: Index) -> Array:
        """Return what is kept at some slots, (T, C), from hidden states of shape (B, S, C), as a NumPy array."""
        return array[pages, slots]

    def from_host(self) -> Backend:
        """Return a backend that takes and gives NumPy arrays, and runs operations one by one: this one, if it does."""
        return self

    def kv_dtypes(self, dtype: str) -> tuple[str, ...]:
        """Return the formats that keys and values can have beside weights kept in ``dtype``, the usual one first."""
        return KV_DTYPES

    def zeros(self, shape: tuple[int, ...], kv_dtype: str = "float32") -> Kept:
        """Return keys or values of a new cache, in one of :meth:`kv_dtypes`."""
        return np.zeros(shape, KV_TYPES[kv_dtype])

    def move(self, array: Kept, sources: Index, targets: Index) -> None:
        """Copy slots of keys or values, (L, B, S, H, D), in every layer; slot s of page b has number b * S + s."""
        slots = array.reshape(len(array), -1, *array.shape[3:])
        slots[:, targets] = slots[:, sources]

    def free_bytes(self) -> int | None:
        """Return how much memory is left where this backend computes, if it can tell."""
        return host.free_bytes()

    def warm_up(self, dtype: str = "float32", kv_dtype: str = "float32") -> None:
        """Do now whatever the first forward in these formats would otherwise wait for (compilation)."""


class NumpyBackend(Backend):
    """The reference bodies, as they are."""

    name = "numpy"
    batch_invariant = False
