"""Stop 3 of 12 · the operations of a forward, in NumPy. Before: model/cache. Next: backends/_kernels.

These bodies are the reference that every other backend is compared with, operation by operation. They are written to
be read; their matrix products go through BLAS, which sums in an order that depends on the number of rows, so this
backend is *not* batch-invariant and says so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]
Index = NDArray[np.int64]

_SQRT_2_OVER_PI = math.sqrt(2.0 / math.pi)


@dataclass(frozen=True, slots=True)
class Linear:
    """A weight matrix in the layout its backend wants.

    Parameters
    ----------
    weight : ndarray
        Shape (K, N) in the reference; a backend's own packing otherwise.
    bias : ndarray of shape (N,)
    num_outputs : int
        N.
    """

    weight: Array
    bias: Array
    num_outputs: int


class Backend:
    """The operation set, with reference bodies.

    Shapes: T rows (tokens), C channels, H heads, D head size, K inputs and N outputs of a matrix, B cache rows,
    S cache slots, V vocabulary. All arrays are float32 and C-contiguous.

    Attributes
    ----------
    name : str
    batch_invariant : bool
        Whether a row's result has the same bits whatever other rows are computed with it. A test holds it to that.
    """

    name: ClassVar[str]
    batch_invariant: ClassVar[bool]

    def pack(self, weight: Array, bias: Array | None) -> Linear:
        """Prepare a matrix of shape (K, N) for :meth:`linear`; a missing bias counts as zero."""
        num_outputs = weight.shape[1]
        bias = np.zeros(num_outputs, np.float32) if bias is None else bias
        return Linear(np.ascontiguousarray(weight), np.ascontiguousarray(bias), num_outputs)

    def embed(self, wte: Array, wpe: Array, tokens: Index, positions: Index) -> Array:
        """Return token plus position embeddings, shape (T, C), of tables (V, C) and (n_positions, C)."""
        return np.add(wte[tokens], wpe[positions])

    def layer_norm(self, x: Array, weight: Array, bias: Array, epsilon: float) -> Array:
        """Normalise each row of ``x``, shape (T, C), to mean 0 and variance 1, then scale and shift."""
        mean = x.mean(axis=-1, keepdims=True)
        variance = np.square(x - mean).mean(axis=-1, keepdims=True)
        normed: Array = (x - mean) / np.sqrt(variance + np.float32(epsilon))
        return normed * weight + bias

    def linear(self, x: Array, matrix: Linear, residual: Array | None = None) -> Array:
        """Return ``x @ weight + bias (+ residual)``, shape (T, N), for ``x`` of shape (T, K)."""
        y: Array = x @ matrix.weight + matrix.bias
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

    def warm_up(self) -> None:
        """Do now whatever the first call would otherwise wait for (compilation)."""


class NumpyBackend(Backend):
    """The reference bodies, as they are."""

    name = "numpy"
    batch_invariant = False
