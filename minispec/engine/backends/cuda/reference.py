"""The readable GPU backend: the reference bodies on CuPy's arrays, products by cuBLAS.

CuPy's arrays answer NumPy's functions themselves (NEP 13 and NEP 18), so a body of ``base`` runs on the card as it is.
What remains is to bring indices along, and to keep weights and caches in half precision if asked to. It is not
batch-invariant, as cuBLAS chooses its kernel by the number of rows; and not fast: half-precision weights are widened at
each use, because CuPy's product of halves gives halves, and an oracle should not round its results.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minispec.engine.backends.base import Array, Cache, Feed, Index, Linear, Norm
from minispec.engine.backends.cuda.device import DeviceBackend
from minispec.engine.backends.formats import encode
from minispec.engine.backends.types import Features, Tensor

ROOT_HALF = 0.7071067811865476


class CupyBlasBackend(DeviceBackend):
    """The reference bodies on the card.

    Parameters
    ----------
    cupy : module
    """

    name = "cupy-blas"
    batch_invariant = False

    def __init__(self, cupy: Any) -> None:
        super().__init__(cupy, cupy.cuda.Stream.null)

    def pack(self, weight: Tensor, bias: Array | None, dtype: str = "float32") -> Linear:
        """Put (K, N) and the bias on the card as they are."""
        values, _ = encode(weight, dtype)
        bias = np.zeros(weight.shape[1], np.float32) if bias is None else bias
        return Linear(self._upload(np.ascontiguousarray(values)), self.place(bias), weight.shape[1])

    def unpack(self, matrix: Linear) -> Array:
        """See :meth:`Backend.unpack`."""
        return self.fetch(matrix.weight).astype(np.float32)

    def columns(self, matrix: Linear, indices: Index) -> Any:
        """See :meth:`Backend.columns`."""
        return matrix.weight[:, self._upload(indices)].T.astype(np.float32)

    def embed(self, wte: Linear, wpe: Any, tokens: Index, positions: Index) -> Any:
        """See :meth:`Backend.embed`."""
        return self.columns(wte, tokens) + wpe[self._upload(positions)]

    def matmul(self, x: Any, matrix: Linear) -> Any:
        """See :meth:`Backend.matmul`; half-precision weights meet inputs rounded to the same, as in a tensor core."""
        rounded = x.astype(matrix.weight.dtype).astype(np.float32)
        return rounded @ matrix.weight.astype(np.float32) + matrix.bias

    def activation(self, x: Any, name: str) -> Any:
        """See :meth:`Backend.activation`."""
        if name != "gelu":
            return super().activation(x, name)
        from cupyx.scipy.special import erf

        return x * (np.float32(0.5) * (np.float32(1.0) + erf(x * np.float32(ROOT_HALF))))

    def project(self, x: Any, matrix: Linear, norm: Norm, cache: Cache, layer: int, feed: Feed) -> Any:
        """See :meth:`Backend.project`."""
        qkv = self.linear(x, matrix, norm=norm).reshape(len(x), 3, *cache.keys.shape[-2:])
        pages, slots = (self._upload(part) for part in feed.places(cache.keys.shape[2]))
        cache.keys[layer][pages, slots] = qkv[:, 1].astype(cache.keys.dtype)
        cache.values[layer][pages, slots] = qkv[:, 2].astype(cache.values.dtype)
        return qkv[:, 0]

    def keep(self, features: Features, layer: int, feed: Feed, x: Any) -> None:
        """See :meth:`Backend.keep`."""
        for i in np.flatnonzero(features.layers == layer):
            pages, slots = (self._upload(part) for part in feed.places(features.states.shape[2]))
            features.states[int(i), pages, slots] = x

    def attention(
        self, queries: Any, keys: Any, values: Any, pages: Index, ends: Index, visible: Any, scale: float
    ) -> Any:
        """See :meth:`Backend.attention`."""
        seen = None if visible is None else self._upload(visible)
        out = self._cupy.empty(queries.shape, np.float32)
        for t, end in enumerate(ends.tolist()):
            one, mask = slice(t, t + 1), None if seen is None else seen[t : t + 1]
            of_text = self._upload(pages[t])
            key, value = (part[of_text].reshape(1, -1, *part.shape[2:]).astype(np.float32) for part in (keys, values))
            out[one] = super().attention(queries[one], key, value, np.zeros((1, 1), int), np.array([end]), mask, scale)
        return out
