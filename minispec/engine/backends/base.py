"""Stop 10 of 13: the operations of a forward, in NumPy.

These bodies are the reference that every other backend is compared with, operation by operation. They are written to
be read; their matrix products go through BLAS, which sums in an order that depends on the number of rows, so this
backend is *not* batch-invariant and says so.

The same operations as plain loops are in ``_kernels``, beside the course; those of a default run in ``panel``.

Next: `sampling/processors.py`, what becomes of the logits.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from minispec.engine.backends.types import (
    MLP,
    Array,
    Attention,
    Block,
    Cache,
    Feed,
    Index,
    Kept,
    Linear,
    Norm,
    take_slots,
)
from minispec.engine.backends.whole import Whole

__all__ = ["MLP", "Array", "Attention", "Backend", "Block", "Cache", "Feed", "Index", "Linear", "Norm", "NumpyBackend"]

_SQRT_2_OVER_PI = math.sqrt(2.0 / math.pi)


class Backend(Whole):
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
    """

    name: ClassVar[str]
    batch_invariant: ClassVar[bool]

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


class NumpyBackend(Backend):
    """The reference bodies, as they are."""

    name = "numpy"
    batch_invariant = False
