"""What both GPU backends share: memory on the card, and the order of work on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from minispec.engine.backends.base import Array, Backend, Cache, Feed, Index, Linear, Norm, NumpyBackend
from minispec.errors import OptionError


class DeviceBackend(Backend):
    """A backend whose arrays are CuPy's.

    Parameters
    ----------
    cupy : module
        CuPy, or what stands in for it in a test.
    stream : cupy.cuda.Stream
        All that this backend does on the card goes through this stream, in the order in which it was asked for.
    """

    dtypes = ("float32", "float16")
    exact_dtypes = ("float32",)  # with half-precision weights go half-precision keys and values: see kv_dtypes

    def __init__(self, cupy: Any, stream: Any) -> None:
        self._cupy = cupy
        self.stream = stream

    def place(self, array: Array) -> Array:
        """See :meth:`Backend.place`."""
        placed: Array = self._upload(np.ascontiguousarray(array, np.float32))
        return placed

    def fetch(self, array: Any) -> Array:
        """See :meth:`Backend.fetch`; waits for the card."""
        fetched: Array = array.get(stream=self.stream)
        return fetched

    def gather(self, array: Any, pages: Index, slots: Index) -> Array:
        """See :meth:`Backend.gather`."""
        with self.stream:
            return self.fetch(array[self._upload(pages), self._upload(slots)])

    def from_host(self) -> Backend:
        """See :meth:`Backend.from_host`."""
        return cast("Backend", FromHost(self))

    def kv_dtypes(self, dtype: str) -> tuple[str, ...]:
        """See :meth:`Backend.kv_dtypes`; kernels are compiled for one format, of weights, keys and values."""
        return (dtype,)

    def zeros(self, shape: tuple[int, ...], kv_dtype: str = "float32") -> Any:
        """See :meth:`Backend.zeros`."""
        with self.stream:
            return self._allocating(lambda: self._cupy.zeros(shape, kv_dtype))

    def move(self, array: Any, sources: Index, targets: Index) -> None:
        """See :meth:`Backend.move`."""
        with self.stream:
            slots = array.reshape(len(array), -1, *array.shape[3:])
            slots[:, self._cupy.asarray(targets)] = slots[:, self._cupy.asarray(sources)]

    def free_bytes(self) -> int:
        """See :meth:`Backend.free_bytes`."""
        free, _ = self._cupy.cuda.Device().mem_info
        return int(free) + int(self._cupy.get_default_memory_pool().free_bytes())

    def run(self, compute: Callable[[Cache, Feed], Any], cache: Cache, feed: Feed) -> Array:
        """See :meth:`Backend.run`."""
        with self.stream:
            return self._run(compute, cache, feed)

    def _run(self, compute: Callable[[Cache, Feed], Any], cache: Cache, feed: Feed) -> Array:
        return self.fetch(compute(cache, feed))

    def _upload(self, array: Any) -> Any:
        with self.stream:
            return self._allocating(lambda: self._cupy.asarray(array))

    def _allocating(self, allocate: Callable[[], Any]) -> Any:
        try:
            return allocate()
        except MemoryError:  # CuPy's OutOfMemoryError is one
            free = self.free_bytes() / 1e9
            raise OptionError(
                f"the GPU has {free:.2f} GB left, too little. Try --dtype float16, a smaller model, or another backend"
            ) from None


class FromHost:
    """A backend's operations one by one, for whoever computes in NumPy between them, as the heads do.

    Matrices, keys and values are on the card; all other arrays are NumPy's and travel with each call. What has no
    matrix is not worth the way.
    """

    _AS_THEY_ARE = ("name", "kv_dtypes", "zeros", "move", "free_bytes", "warm_up", "unpack", "dtypes", "exact_dtypes",
                    "batch_invariant", "fuses", "pack")  # fmt: skip

    activation = NumpyBackend.activation

    def __init__(self, backend: DeviceBackend) -> None:
        self._backend = backend

    def run(self, compute: Callable[[Cache, Feed], Array], cache: Cache, feed: Feed) -> Array:
        """See :meth:`Backend.run`."""
        return compute(cache, feed)

    def layer_norm(self, x: Array, norm: Norm) -> Array:
        """See :meth:`Backend.layer_norm`; a head's norm is NumPy's, its target's is on the card."""
        weight, bias = (
            each if isinstance(each, np.ndarray) else self._backend.fetch(each) for each in (norm.weight, norm.bias)
        )
        return NumpyBackend.layer_norm(cast("NumpyBackend", self), x, Norm(weight, bias, norm.epsilon))

    def place(self, array: Array) -> Array:
        """See :meth:`Backend.place`."""
        return np.ascontiguousarray(array)

    fetch = place

    def keep(self, features: Any, layer: int, feed: Feed, x: Array) -> None:
        """See :meth:`Backend.keep`."""
        features.store(layer, feed, x)

    def gather(self, array: Array, pages: Index, slots: Index) -> Array:
        """See :meth:`Backend.gather`."""
        return array[pages, slots]

    def without(self, matrix: Linear) -> FromHost:
        """See :meth:`Backend.without`."""
        return self

    def from_host(self) -> FromHost:
        """See :meth:`Backend.from_host`."""
        return self

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._backend, name)
        if name in self._AS_THEY_ARE:
            return value

        def operation(*positional: Any, **named: Any) -> Array:
            placed = {key: self._send(given) for key, given in named.items()}
            return self._backend.fetch(value(*map(self._send, positional), **placed))

        return operation

    def _send(self, value: Any) -> Any:
        if isinstance(value, Norm):
            return Norm(self._send(value.weight), self._send(value.bias), value.epsilon)
        is_float = isinstance(value, np.ndarray) and value.dtype == np.float32
        return self._backend.place(value) if is_float else value
