"""The Numba backend: the kernels of ``_kernels`` behind the interface of ``base``."""

from __future__ import annotations

import os
from collections.abc import Callable

import llvmlite.binding
import numba
import numpy as np
from numpy.typing import NDArray

from minispec.engine.backends import _kernels, threads
from minispec.engine.backends.base import Array, Backend, Cache, Feed, Index, Linear, Norm
from minispec.engine.backends.formats import KV_TYPES, round_weights, view_bits
from minispec.engine.backends.types import Kept, Tensor
from minispec.engine.jit import cache_folder
from minispec.errors import OptionError

_NO_MASK = np.zeros((0, 0), np.bool_)


class NumbaBackend(Backend):
    """Plain Numba loops, batch-invariant: m rows at once give the bits of m rows one by one."""

    name = "numba"
    batch_invariant = True

    def pack(self, weight: Tensor, bias: Array | None, dtype: str = "float32") -> Linear:
        """Cut (K, N) into panels of 64 columns, (N/64, K, 64), the last one padded with zeros."""
        num_inputs, num_outputs = weight.shape
        num_panels = -(-num_outputs // _kernels.PANEL)
        panels = np.zeros((num_panels, num_inputs, _kernels.PANEL), np.float32)
        for panel in range(num_panels):
            columns = weight[:, panel * _kernels.PANEL : (panel + 1) * _kernels.PANEL]
            panels[panel, :, : columns.shape[1]] = round_weights(columns, dtype)
        bias = np.zeros(num_outputs, np.float32) if bias is None else bias
        return Linear(panels, np.ascontiguousarray(bias, np.float32), num_outputs)

    def unpack(self, matrix: Linear) -> Array:
        """See :meth:`Backend.unpack`."""
        num_inputs = matrix.weight.shape[1]
        return matrix.weight.transpose(1, 0, 2).reshape(num_inputs, -1)[:, : matrix.num_outputs]

    def columns(self, matrix: Linear, indices: Index) -> Array:
        """See :meth:`Backend.columns`."""
        columns: Array = matrix.weight[indices // _kernels.PANEL, :, indices % _kernels.PANEL]
        return columns

    def layer_norm(self, x: Array, norm: Norm) -> Array:
        """See :meth:`Backend.layer_norm`."""
        return _kernels.layer_norm(x, norm.weight, norm.bias, np.float32(norm.epsilon))

    def matmul(self, x: Array, matrix: Linear) -> Array:
        """See :meth:`Backend.matmul`."""
        return threads.launch(threads.choose_kernel(_kernels.matmul), x, matrix.weight, matrix.bias, matrix.num_outputs)

    def activation(self, x: Array, name: str) -> Array:
        """See :meth:`Backend.activation`."""
        if name.startswith("gelu"):
            return _kernels.gelu(x) if name == "gelu" else _kernels.gelu_new(x)
        return super().activation(x, name)  # the same whatever the order

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
        """See :meth:`Backend.attention`."""
        # One memory layout, one compiled body: another layout would be other machine code, and maybe other bits.
        mask = _NO_MASK if visible is None else np.ascontiguousarray(visible)
        return threads.launch(
            threads.choose_kernel(_kernels.attention),
            queries,
            view_bits(keys),
            view_bits(values),
            pages,
            ends,
            mask,
            visible is not None,
            np.float32(scale),
        )

    def run(self, compute: Callable[[Cache, Feed], Array], cache: Cache, feed: Feed) -> Array:
        """See :meth:`Backend.run`; a forward tells how threads should wait for each other."""
        return threads.run_watched(compute, cache, feed)

    def warm_up(self, dtype: str = "float32", kv_dtype: str = "float32") -> None:
        """Compile every kernel (or read it from Numba's cache) on inputs of a few elements."""
        x = np.ones((1, 4), np.float32)
        matrix = self.pack(np.ones((4, 4), np.float32), None)
        index = np.zeros(1, np.int64)
        self.linear(x, matrix, norm=Norm(x[0], x[0], 1e-5))
        self.activation(x, "gelu_new")
        self.activation(x, "gelu")
        cache = np.ones((1, 2, 2, 2), KV_TYPES[kv_dtype])
        self.attention(x.reshape(1, 2, 2), cache, cache, index[:, None], index + 1, None, 1.0)


def describe() -> dict[str, str]:
    """Return what Numba found on this machine, for ``minispec doctor``."""
    try:
        layer = threads.find_layer()
    except OptionError as error:
        layer = f"none: {error}"
    features = llvmlite.binding.get_host_cpu_features()
    known = ("sse4.2", "avx2", "fma", "avx512f", "neon", "sve")
    return {
        "numba": numba.__version__,
        "threads": f"{threads.num_threads()} of {os.cpu_count()} cores",
        "threading layer": layer,
        "cpu": llvmlite.binding.get_host_cpu_name(),
        "cpu features": " ".join(name for name in known if features.get(name)),
        "kernel cache": cache_folder(_kernels.matmul) or "none: kernels are compiled in memory in every process",
    }
