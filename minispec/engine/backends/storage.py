"""Beside stop 10: where a backend keeps numbers, and in which format."""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np

from minispec.engine.backends import host
from minispec.engine.backends.formats import DTYPES, KV_DTYPES, KV_TYPES, round_weights
from minispec.engine.backends.types import Array, Index, Kept, Linear, Tensor


class Storage:
    """A backend's memory; these bodies keep everything in NumPy arrays, weights in float32.

    Attributes
    ----------
    dtypes : tuple of str
        The formats :meth:`pack` takes.
    exact_dtypes : tuple of str
        Those in which values that fit them give the bits that the same values give in float32.
    keeps_features : bool
        Whether its forwards keep hidden states beside keys and values.
    """

    dtypes: tuple[str, ...] = DTYPES
    exact_dtypes: ClassVar[tuple[str, ...]] = ("float32", "float16", "bfloat16")
    keeps_features: ClassVar[bool] = True

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
