"""The Numba backend: the kernels of ``_kernels`` behind the interface of ``base``."""

from __future__ import annotations

import os

import llvmlite.binding
import numba
import numpy as np
from numpy.typing import NDArray

# Read by libgomp when the first parallel kernel starts. Its default is to spin for milliseconds at every barrier:
# pleasant on an idle machine, but as soon as a neighbour takes a core each of a forward's regions waits out a whole
# time slice (measured here: a draft token went from 0.3 ms to 86 ms). A short spin, then sleep, costs next to nothing.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")

from minispec.backends import _kernels
from minispec.backends.base import Array, Backend, Index, Linear

_NO_RESIDUAL = np.zeros((0, 0), np.float32)
_NO_MASK = np.zeros((0, 0), np.bool_)


class NumbaBackend(Backend):
    """Plain Numba loops, batch-invariant: m rows at once give the bits of m rows one by one."""

    name = "numba"
    batch_invariant = True

    def pack(self, weight: Array, bias: Array | None) -> Linear:
        """Cut (K, N) into panels of 64 columns, (N/64, K, 64), the last one padded with zeros."""
        num_inputs, num_outputs = weight.shape
        num_panels = -(-num_outputs // _kernels.PANEL)
        panels = np.zeros((num_panels, num_inputs, _kernels.PANEL), np.float32)
        for panel in range(num_panels):
            columns = weight[:, panel * _kernels.PANEL : (panel + 1) * _kernels.PANEL]
            panels[panel, :, : columns.shape[1]] = columns
        bias = np.zeros(num_outputs, np.float32) if bias is None else bias
        return Linear(panels, np.ascontiguousarray(bias, np.float32), num_outputs)

    def layer_norm(self, x: Array, weight: Array, bias: Array, epsilon: float) -> Array:
        """See :meth:`Backend.layer_norm`."""
        return _kernels.layer_norm(x, weight, bias, np.float32(epsilon))

    def linear(self, x: Array, matrix: Linear, residual: Array | None = None) -> Array:
        """See :meth:`Backend.linear`."""
        has_residual = residual is not None
        return _kernels.linear(
            x, matrix.weight, matrix.bias, _NO_RESIDUAL if residual is None else residual, has_residual,
            matrix.num_outputs,
        )  # fmt: skip

    def activation(self, x: Array, name: str) -> Array:
        """See :meth:`Backend.activation`."""
        if name == "relu":
            return super().activation(x, name)  # exact whatever the order
        return _kernels.gelu(x) if name == "gelu" else _kernels.gelu_new(x)

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
        """See :meth:`Backend.attention`."""
        # One memory layout, one compiled body: another layout would be other machine code, and maybe other bits.
        mask = _NO_MASK if visible is None else np.ascontiguousarray(visible)
        return _kernels.attention(queries, keys, values, rows, ends, mask, visible is not None, np.float32(scale))

    def warm_up(self) -> None:
        """Compile every kernel (or read it from Numba's cache) on inputs of a few elements."""
        x = np.ones((1, 4), np.float32)
        matrix = self.pack(np.ones((4, 4), np.float32), None)
        index = np.zeros(1, np.int64)
        self.linear(self.layer_norm(x, x[0], x[0], 1e-5), matrix, residual=x)
        self.activation(x, "gelu_new")
        self.activation(x, "gelu")
        cache = np.ones((1, 2, 2, 2), np.float32)
        self.attention(x.reshape(1, 2, 2), cache, cache, index, index + 1, None, 1.0)


def describe() -> dict[str, str]:
    """Return what Numba found on this machine, for ``minispec doctor``."""
    x = np.ones((1, 4), np.float32)
    backend = NumbaBackend()
    backend.linear(x, backend.pack(np.ones((4, 4), np.float32), None))  # a threading layer is chosen at the first use
    features = llvmlite.binding.get_host_cpu_features()
    known = ("sse4.2", "avx2", "fma", "avx512f", "avx512bf16", "avx512vnni", "neon", "sve")
    cache = _kernels.linear.stats.cache_path if hasattr(_kernels.linear, "stats") else None
    return {
        "numba": numba.__version__,
        "threads": f"{numba.get_num_threads()} of {os.cpu_count()} cores",
        "threading layer": numba.threading_layer(),
        "cpu": llvmlite.binding.get_host_cpu_name(),
        "cpu features": " ".join(name for name in known if features.get(name)),
        "kernel cache": str(cache or "none: kernels are compiled in memory in every process"),
    }
