"""The fast GPU backend: a forward is one launch of one kernel, which goes through a table of steps.

An operation asked for inside a forward appends its step to the table; asked for alone, it is a table of one step. The
table of a forward of few rows is kept beside the cache that it reads, and launched again whenever its shape comes back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from minispec.engine.backends.base import Array, Cache, Feed, Index, Linear, Norm
from minispec.engine.backends.cuda.device import DeviceBackend
from minispec.engine.backends.cuda.feeding import FeedBuffer, feed_record, pinned
from minispec.engine.backends.cuda.packing import TILE, pack_tiles, unpack_tiles
from minispec.engine.backends.cuda.program import (
    ADDRESSES,
    ATTENTION,
    EMBED,
    KEEP,
    LINEAR,
    MAX_HEAD_SIZE,
    ROWS,
    THREADS,
    Program,
    Ring,
)
from minispec.engine.backends.cuda.source import options, source
from minispec.engine.backends.formats import KV_DTYPES, encode
from minispec.engine.backends.types import Features, Tensor
from minispec.errors import MinispecError, OptionError, explain

MAX_KEPT_ROWS = 16
"""The most rows of a forward whose table is kept. A prefill has more, and its table takes little of its time."""

ACTIVATIONS = {None: 0, "gelu_new": 1, "gelu": 2, "relu": 3, "silu": 4, "tanh": 5}


@dataclass(frozen=True, slots=True)
class Tiles(Linear):
    """A matrix as :func:`pack_tiles` lays it out; ``num_inputs`` is K without the padding."""

    num_inputs: int = 0


@dataclass(slots=True)
class Making:
    """A table that grows: its steps, the formats of the weights, keys and values that they read, and odd sizes."""

    program: Program
    dtype: str | None = None
    kv_dtype: str | None = None
    odd: bool = False

    def settle(self, dtype: str | None, kv_dtype: str | None) -> None:
        """Note the formats of a step; one kernel reads one of each."""
        if (dtype and self.dtype not in (None, dtype)) or (kv_dtype and self.kv_dtype not in (None, kv_dtype)):
            raise OptionError(f"backend cupy runs one format at a time: {self.dtype}, then {dtype}. Try cupy-blas")
        self.dtype, self.kv_dtype = self.dtype or dtype, self.kv_dtype or kv_dtype


@dataclass(frozen=True, slots=True)
class Recording:
    """A forward, ready to be launched: its feed, what to call, and the logits' memory and shape."""

    buffer: FeedBuffer
    launch: Callable[[], None]
    logits: Any
    address: int
    shape: tuple[int, ...]


class CupyBackend(DeviceBackend):
    """A kernel of our own, batch-invariant: m rows at once give the bits of m rows one by one.

    Parameters
    ----------
    cupy : module
    ring : Ring, optional
        How many weights are on their way; left out, what fits the card.
    """

    name = "cupy"
    batch_invariant = True

    def __init__(self, cupy: Any, ring: Ring | None = None) -> None:
        # A stream that waits for no other.
        super().__init__(cupy, cupy.cuda.Stream(non_blocking=True))
        attributes = cupy.cuda.Device().attributes
        self.blocks: int = attributes["MultiProcessorCount"]
        self._limit: int = attributes["MaxSharedMemoryPerBlockOptin"]
        self._ring = ring
        self._compiled: dict[tuple[str, str, bool], tuple[Any, Ring]] = {}
        self._making: Making | None = None
        # Temporaries have a pool of their own. A table holds the addresses that were temporary when it was made; here
        # nobody but this backend can get them, and its forwards follow one another on one stream.
        self._kept: list[Any] = []
        self._pool = cupy.cuda.MemoryPool(self._allocate_for_good)
        with self.stream:
            self._arrived = cupy.zeros(32, np.uint32)  # counts blocks that have finished a step; every launch leaves 0

    def kv_dtypes(self, dtype: str) -> tuple[str, ...]:
        """See :meth:`Backend.kv_dtypes`."""
        return (dtype, *(kind for kind in KV_DTYPES if kind != dtype))

    def pack(self, weight: Tensor, bias: Array | None, dtype: str = "float32") -> Tiles:
        """Cut (K, N) into tiles on the card: see :func:`pack_tiles`."""
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
        """See :meth:`Backend.columns`: embeddings without positions."""
        num_inputs = matrix.num_inputs if isinstance(matrix, Tiles) else 0
        nowhere = self.place(np.zeros((1, num_inputs), np.float32))
        return self.embed(matrix, nowhere, indices, np.zeros(len(indices), np.int64))

    def embed(self, wte: Linear, wpe: Any, tokens: Any, positions: Any) -> Any:
        """See :meth:`Backend.embed`."""
        y = self._empty(len(tokens), wpe.shape[1])
        feed = {"tokens": self._indices(tokens), "positions": self._indices(positions)}
        self._step(
            EMBED, 0, feed, str(wte.weight.dtype), num_rows=len(y), num_outputs=y.shape[1],
            weight=wte.weight, bias=wpe, y=y,
        )  # fmt: skip
        return y

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
        self._multiply(x, matrix, norm, y, None, activation=ACTIVATIONS[activation], residual=residual)
        return y

    def matmul(self, x: Any, matrix: Linear) -> Any:
        """See :meth:`Backend.matmul`."""
        return self.linear(x, matrix)

    def project(self, x: Any, matrix: Linear, norm: Norm, cache: Cache, layer: int, feed: Feed) -> Any:
        """See :meth:`Backend.project`; keys and values go from the product straight into the cache."""
        _, _, size, num_heads, head_size = cache.keys.shape
        queries = self._empty(len(x), num_heads, head_size)
        read = {"size": size, "pages": self._indices(feed.pages), "slots": self._indices(feed.slots)}
        self._multiply(x, matrix, norm, queries, read, keys=cache.keys[layer], values=cache.values[layer])
        return queries

    def attention(self, queries: Any, keys: Any, values: Any, pages: Any, ends: Any, visible: Any, scale: float) -> Any:
        """See :meth:`Backend.attention`; here ``visible`` has a column for every slot of the pages."""
        num_tokens, num_heads, head_size = queries.shape
        if head_size > MAX_HEAD_SIZE:
            raise OptionError(f"a head has {head_size} numbers; backend cupy takes {MAX_HEAD_SIZE}. Try cupy-blas")
        keys, values = (self._upload(kept) if isinstance(kept, np.ndarray) else kept for kept in (keys, values))
        y = self._empty(*queries.shape)
        size = keys.shape[1]
        feed = {"size": size, "pages": self._indices(pages), "ends": self._indices(ends),
                "visible": self._mask(visible, pages.shape[1] * size)}  # fmt: skip
        self._step(
            ATTENTION, num_tokens * num_heads, feed, kv_dtype=str(keys.dtype), num_rows=num_tokens,
            num_inputs=head_size, num_outputs=num_heads, number=scale,
            x=queries, y=y, keys=keys, values=values,
        )  # fmt: skip
        return y

    def keep(self, features: Features, layer: int, feed: Feed, x: Any) -> None:
        """See :meth:`Backend.keep`."""
        for i in np.flatnonzero(features.layers == layer):
            states = features.states[int(i)]
            read = {"size": states.shape[1], "pages": self._indices(feed.pages), "slots": self._indices(feed.slots)}
            self._step(KEEP, 0, read, num_rows=len(x), num_outputs=x.shape[1], x=x, y=states)

    def warm_up(self, dtype: str = "float32", kv_dtype: str = "float32") -> None:
        """Compile the kernel for these formats; CuPy keeps the result on disk."""
        self._kernel(dtype, kv_dtype, odd=False)

    def _run(self, compute: Callable[[Cache, Feed], Any], cache: Cache, feed: Feed) -> Array:
        """Make the table of a shape that is new, and launch it; few rows keep theirs."""
        features: Any = cache.features
        kept = (*features.layers.tolist(), features.states.data.ptr) if len(features.layers) else ()
        shape = (feed.pages.shape, feed.num_layers, feed.num_logits, feed.visible is None, kept)
        recording = cache.recordings.get(shape)
        if recording is None:
            recording = self._record(compute, cache, feed)
            if len(feed.tokens) <= MAX_KEPT_ROWS:
                cache.recordings[shape] = recording
        out: Array
        out, address = pinned(self._cupy, recording.shape, np.float32)
        runtime = self._cupy.cuda.runtime

        def work() -> None:
            recording.buffer.fill(feed)
            recording.launch()
            if out.size:
                runtime.memcpyAsync(address, recording.address, out.nbytes, runtime.memcpyDeviceToHost, self.stream.ptr)

        self._complete(work)
        return out

    def _complete(self, work: Callable[[], None]) -> None:
        """Have the card do something, and wait for it."""
        try:
            try:
                work()
            finally:
                self.stream.synchronize()  # also on Ctrl-C: the card must not read or write memory that others get
        except RuntimeError as error:  # CuPy's, of several classes
            raise MinispecError(
                f"the GPU gave up ({explain(error)}), and with it this process. Start again; if it comes back, please "
                "report it, and leave --backend cupy out"
            ) from error

    def _record(self, compute: Callable[[Cache, Feed], Any], cache: Cache, feed: Feed) -> Recording:
        buffer = FeedBuffer(self._cupy, self.stream, feed, cache.keys.shape[2])
        making = self._making = Making(Program(self.blocks), kv_dtype=str(cache.keys.dtype))
        try:
            logits = compute(cache, buffer.feed)
        finally:
            self._making = None
        return Recording(buffer, self._prepare(making, buffer.record), logits, logits.data.ptr, logits.shape)

    def _multiply(self, x: Any, matrix: Linear, norm: Norm | None, y: Any, feed: Any, **fields: Any) -> None:
        """Add the step of a product; ``feed`` and ``fields`` are about the cache, or what follows the product."""
        if norm is not None:
            fields |= {"norm_weight": norm.weight, "norm_bias": norm.bias, "number": norm.epsilon}
        keys, num_items = fields.get("keys"), -(-len(x) // ROWS) * -(-matrix.num_outputs // TILE)
        self._step(
            LINEAR, num_items, feed, str(matrix.weight.dtype), None if keys is None else str(keys.dtype),
            num_rows=len(x), num_inputs=x.shape[1], num_outputs=matrix.num_outputs, weight=matrix.weight,
            bias=matrix.bias, x=x, y=y, **fields,
        )  # fmt: skip

    def _step(
        self, kind: int, num_items: int, feed: dict[str, Any] | None, dtype: str | None = None,
        kv_dtype: str | None = None, **fields: Any,
    ) -> None:  # fmt: skip
        """Append a step to the table that is being made, or run it now on a feed of its own; no rows are no step."""
        if 0 in (fields["num_rows"], fields["num_outputs"]):
            return
        making = self._making or Making(Program(self.blocks))
        making.settle(dtype, kv_dtype)
        making.odd |= fields.get("num_inputs", 0) % (8 if kind == ATTENTION else 4) > 0
        given = {name: value for name, value in fields.items() if value is not None}
        values = {name: value.data.ptr if name in ADDRESSES else value for name, value in given.items()}
        making.program.add(kind, num_items, **values)
        if self._making is None:
            with self.stream:
                self._complete(self._prepare(making, feed_record(**(feed or {}))))  # what it reads may be gone later

    def _prepare(self, making: Making, record: Any) -> Callable[[], None]:
        """Return a function that launches a table."""
        dtype, num_steps = making.dtype or "float32", len(making.program)
        kernel, ring = self._kernel(dtype, making.kv_dtype or "float32", making.odd)
        shared = ring.shared_bytes(dtype, num_steps)
        if shared > self._limit:
            raise OptionError(f"{num_steps} steps of a forward need {shared} bytes of shared memory; the GPU gives a "
                              f"block {self._limit}. Try --backend cupy-blas")  # fmt: skip
        arguments = (self._upload(making.program.table()), np.int32(num_steps), self._upload(record), self._arrived)

        def launch() -> None:
            # Blocks wait for one another, so all must be on the card at once: a cooperative launch sees to it.
            kernel((self.blocks,), (THREADS,), arguments, shared_mem=shared, enable_cooperative_groups=True)

        return launch

    def _kernel(self, dtype: str, kv_dtype: str, odd: bool) -> tuple[Any, Ring]:
        """Return the kernel for weights and caches in these formats, compiled when first asked for, and its ring."""
        if (dtype, kv_dtype, odd) not in self._compiled:
            ring = self._ring or Ring.fit(dtype, self._limit)
            try:
                # CuPy's own option for cooperative groups links a library that wheels lack; only the launch needs them.
                module = self._cupy.RawModule(code=source(), options=options(dtype, kv_dtype, odd, ring))
                function = module.get_function("run")
                function.max_dynamic_shared_size_bytes = self._limit
            except Exception as error:  # many classes: no compiler library, no headers, too old a driver
                raise OptionError(
                    f"the GPU kernels do not compile: {explain(error)}. Try pip install 'cupy-cuda12x[ctk]', or "
                    "--backend cupy-blas"
                ) from error
            self._compiled[dtype, kv_dtype, odd] = function.kernel, ring
        return self._compiled[dtype, kv_dtype, odd]

    def _indices(self, array: Any) -> Any:
        """Return indices on the card; those of a :class:`FeedBuffer` are there already."""
        return self._upload(array.astype(np.int32)) if isinstance(array, np.ndarray) else array

    def _mask(self, visible: Any, columns: int) -> Any:
        """Return a mask on the card, with a column for every slot."""
        if not isinstance(visible, np.ndarray):
            return visible
        whole = np.zeros((len(visible), columns), np.uint8)
        whole[:, : visible.shape[1]] = visible[:, :columns]
        return self._upload(whole)

    def _empty(self, *shape: int) -> Any:
        with self.stream, self._cupy.cuda.using_allocator(self._pool.malloc):
            return self._allocating(lambda: self._cupy.empty(shape, np.float32))

    def _allocate_for_good(self, size: int) -> Any:
        """Allocate for the pool, and never give back: a table may hold the address."""
        pointer = self._cupy.cuda.MemoryPointer(self._cupy.cuda.Memory(size), 0)
        self._kept.append(pointer)
        return pointer
