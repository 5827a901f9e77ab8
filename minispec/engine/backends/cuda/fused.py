"""The fast GPU backend: five launches per layer, recorded once per shape and replayed as one CUDA graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from minispec.engine.backends.base import Array, Cache, Feed, Index, Linear, Norm
from minispec.engine.backends.cuda.device import DeviceBackend
from minispec.engine.backends.cuda.packing import TILE, pack_tiles, unpack_tiles
from minispec.engine.backends.cuda.recording import FeedBuffer, Recording
from minispec.engine.backends.cuda.source import options, source
from minispec.engine.backends.formats import encode
from minispec.engine.backends.types import Tensor
from minispec.errors import OptionError, explain

ROWS = 8
"""Rows that a block computes (common.cu)."""

THREADS = 256
"""Threads of a block."""

SPLIT = 64
"""Slots of the cache that a block of attention reads (common.cu)."""

MAX_HEAD_SIZE = 256
"""The longest head that attention takes (common.cu)."""

MAX_RECORDED_ROWS = 16
"""The most rows of a forward that is recorded. A prefill has more: its kernels are long, and launched one by one."""

KERNELS = ("linear", "attention", "embed", "layer_norm", "apply_activation")
ACTIVATIONS = {None: 0, "gelu_new": 1, "gelu": 2, "relu": 3, "silu": 4, "tanh": 5}

NULL = np.uintp(0)
"""A pointer to nothing, as a kernel's argument."""


@dataclass(frozen=True, slots=True)
class Tiles(Linear):
    """A matrix as :func:`pack_tiles` lays it out; ``num_inputs`` is K without the padding."""

    num_inputs: int = 0


class CupyBackend(DeviceBackend):
    """Kernels of our own, batch-invariant: m rows at once give the bits of m rows one by one.

    Parameters
    ----------
    cupy : module
    record : bool
        Replay a forward whose shape has come before as a CUDA graph; the bits are the same either way.
    """

    name = "cupy"
    batch_invariant = True

    def __init__(self, cupy: Any, *, record: bool = True) -> None:
        # A stream that waits for no other: recording on it cannot be disturbed by work on the default stream.
        super().__init__(cupy, cupy.cuda.Stream(non_blocking=True))
        self._record = record
        self._compiled: dict[str, dict[str, Any]] = {}
        # Temporaries have a pool of their own. A replay writes to the addresses that were temporary when it was
        # recorded; here nobody but this backend can get them, and its forwards follow one another on one stream.
        self._kept: list[Any] = []
        self._pool = cupy.cuda.MemoryPool(self._allocate_for_good)
        self._counters: Any = None

    def pack(self, weight: Tensor, bias: Array | None, dtype: str = "float32") -> Tiles:
        """Cut (K, N) into tiles on the card: see :func:`pack_tiles`."""
        self._functions(dtype)  # a card that cannot compile says so before the weights are on their way
        num_inputs, num_outputs = weight.shape
        values, _ = encode(weight, dtype)
        bias = np.zeros(num_outputs, np.float32) if bias is None else bias
        on_card = self._upload(np.ascontiguousarray(values))
        with self.stream:
            tiles = self._allocating(lambda: pack_tiles(self._cupy, on_card))
        return Tiles(tiles, self.place(bias), num_outputs, None, num_inputs)

    def unpack(self, matrix: Linear) -> Array:
        """See :meth:`Backend.unpack`."""
        num_inputs = matrix.num_inputs if isinstance(matrix, Tiles) else 0
        values: Array = unpack_tiles(self.fetch(matrix.weight), num_inputs, matrix.num_outputs)
        return np.ascontiguousarray(values, np.float32)

    def columns(self, matrix: Linear, indices: Index) -> Any:
        """See :meth:`Backend.columns`. It goes by way of the host: the forward itself embeds with a kernel."""
        return self.place(self.unpack(matrix)[:, indices].T)

    def embed(self, wte: Linear, wpe: Any, tokens: Any, positions: Any) -> Any:
        """See :meth:`Backend.embed`."""
        num_tokens, width = len(tokens), wpe.shape[1]
        x = self._empty(num_tokens, width)
        self._launch(
            "embed", wte.weight.dtype, (-(-width // THREADS), num_tokens), wte.weight, wpe, self._indices(tokens),
            self._indices(positions), x, np.int32(width),
        )  # fmt: skip
        return x

    def linear(
        self,
        x: Any,
        matrix: Linear,
        *,
        norm: Norm | None = None,
        activation: str | None = None,
        residual: Any = None,
    ) -> Any:
        """See :meth:`Backend.linear`."""
        y = self._empty(len(x), matrix.num_outputs)
        self._launch_linear(
            x, matrix, norm, activation, residual, y, (NULL, NULL, NULL, NULL, np.int32(0), np.int32(0))
        )
        return y

    def matmul(self, x: Any, matrix: Linear) -> Any:
        """See :meth:`Backend.matmul`."""
        return self.linear(x, matrix)

    def project(self, x: Any, matrix: Linear, norm: Norm, cache: Cache, layer: int, feed: Feed) -> Any:
        """See :meth:`Backend.project`; keys and values go from the product straight into the cache."""
        _, _, size, num_heads, head_size = cache.keys.shape
        queries = self._empty(len(x), num_heads, head_size)
        pages, slots = self._indices(feed.pages), self._indices(feed.slots)
        places = (cache.keys[layer], cache.values[layer], pages, slots, np.int32(pages.shape[1]), np.int32(size))
        self._launch_linear(x, matrix, norm, None, None, queries, places)
        return queries

    def attention(self, queries: Any, keys: Any, values: Any, pages: Any, ends: Any, visible: Any, scale: float) -> Any:
        """See :meth:`Backend.attention`; here ``visible`` has a column for every slot of the pages."""
        num_tokens, num_heads, head_size = queries.shape
        if head_size > MAX_HEAD_SIZE:
            raise OptionError(f"a head has {head_size} numbers; backend cupy takes {MAX_HEAD_SIZE}. Try cupy-blas")
        num_pages, size = pages.shape[1], keys.shape[1]
        num_splits, num_groups = -(-num_pages * size // SPLIT), -(-num_tokens // ROWS)
        out = self._empty(*queries.shape)
        self._launch(
            "attention", keys.dtype, (num_splits, num_heads, num_groups), queries, keys, values, self._indices(pages),
            self._indices(ends), NULL if visible is None else self._indices(visible, np.uint8), np.float32(scale),
            self._empty(num_tokens, num_heads, num_splits, 2 + head_size), self._zero_counters(num_groups * num_heads),
            out, np.int32(num_tokens), np.int32(num_heads), np.int32(head_size), np.int32(num_pages), np.int32(size),
            np.int32(num_splits),
        )  # fmt: skip
        return out

    def layer_norm(self, x: Any, norm: Norm) -> Any:
        """See :meth:`Backend.layer_norm`."""
        y = self._empty(*x.shape)
        sizes = np.int32(len(x)), np.int32(x.shape[1])
        self._launch(
            "layer_norm", "float32", (-(-len(x) // ROWS),), x, norm.weight, norm.bias, np.float32(norm.epsilon), y,
            *sizes,
        )  # fmt: skip
        return y

    def activation(self, x: Any, name: str) -> Any:
        """See :meth:`Backend.activation`."""
        y = self._empty(*x.shape)
        kind, size = np.int32(ACTIVATIONS[name]), np.int32(x.size)
        self._launch("apply_activation", "float32", (-(-x.size // THREADS),), x, kind, y, size)
        return y

    def warm_up(self, dtype: str = "float32", kv_dtype: str = "float32") -> None:
        """Compile the kernels for this format; CuPy keeps the result on disk."""
        self._functions(dtype)

    def _run(self, compute: Callable[[Cache, Feed], Any], cache: Cache, feed: Feed) -> Array:
        """Launch a shape that is new one by one, record it when it comes again, and replay it from then on."""
        num_tokens = len(feed.tokens)
        shape = (num_tokens, feed.pages.shape[1], feed.num_layers, feed.num_logits, feed.visible is None)
        if not self._record or num_tokens > MAX_RECORDED_ROWS or shape not in cache.recordings:
            cache.recordings[shape] = None
            buffer = FeedBuffer(self._cupy, feed, cache.keys.shape[2])
            buffer.fill(feed, self.stream)
            return self.fetch(compute(cache, buffer.feed))
        if cache.recordings[shape] is None:
            cache.recordings[shape] = Recording(self._cupy, self.stream, compute, cache, feed)
        return self.fetch(cache.recordings[shape].replay(feed))

    def _launch_linear(
        self, x: Any, matrix: Linear, norm: Norm | None, activation: str | None, residual: Any, y: Any,
        places: tuple[Any, ...],
    ) -> None:  # fmt: skip
        """Launch ``linear``; ``places`` are its arguments about the cache."""
        num_rows, num_inputs = x.shape
        scale, shift, epsilon = (NULL, NULL, 0.0) if norm is None else (norm.weight, norm.bias, norm.epsilon)
        self._launch(
            "linear", matrix.weight.dtype, (-(-num_rows // ROWS), -(-matrix.num_outputs // TILE)), matrix.weight,
            matrix.bias, x, scale, shift, np.float32(epsilon), np.int32(ACTIVATIONS[activation]),
            NULL if residual is None else residual, y, *places, np.int32(num_rows), np.int32(num_inputs),
            np.int32(matrix.num_outputs),
        )  # fmt: skip

    def _launch(self, name: str, dtype: Any, grid: tuple[int, ...], *arguments: Any) -> None:
        """Launch a kernel; CuPy checks neither types nor sizes, so arrays must be contiguous and scalars NumPy's."""
        if 0 not in grid:
            with self.stream:
                self._functions(str(dtype))[name](grid, (THREADS,), arguments)

    def _functions(self, dtype: str) -> dict[str, Any]:
        """Return the kernels for weights and caches in ``dtype``, compiled when first asked for."""
        if dtype not in self._compiled:
            try:
                module = self._cupy.RawModule(code=source(), options=options(dtype))
                module.compile()
                self._compiled[dtype] = {name: module.get_function(name) for name in KERNELS}
            except Exception as error:  # many classes: no compiler library, no headers, too old a driver
                raise OptionError(
                    f"the GPU kernels do not compile: {explain(error)}. Try pip install 'cupy-cuda12x[ctk]', or "
                    "--backend cupy-blas"
                ) from error
        return self._compiled[dtype]

    def _indices(self, array: Any, dtype: Any = np.int32) -> Any:
        """Return indices, or a mask, on the card; those of a :class:`FeedBuffer` are there already."""
        return self._upload(array.astype(dtype)) if isinstance(array, np.ndarray) else array

    def _empty(self, *shape: int) -> Any:
        with self.stream, self._cupy.cuda.using_allocator(self._pool.malloc):
            return self._allocating(lambda: self._cupy.empty(shape, np.float32))

    def _zero_counters(self, count: int) -> Any:
        """Return counters that are zero now and that every launch leaves zero."""
        if self._counters is None or self._counters.size < count:
            with self.stream:
                self._counters = self._cupy.zeros(max(count, 4096), np.uint32)
            self._kept.append(self._counters)  # a recording may hold its address
        return self._counters

    def _allocate_for_good(self, size: int) -> Any:
        """Allocate for the pool, and never give back: a recording may hold the address."""
        pointer = self._cupy.cuda.MemoryPointer(self._cupy.cuda.Memory(size), 0)
        self._kept.append(pointer)
        return pointer
