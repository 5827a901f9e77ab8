"""What a backend owes: the reference's numbers, and the same bits whatever is computed beside them if it says so."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from minispec.engine.backends.base import (
    MLP,
    Array,
    Attention,
    Backend,
    Block,
    Cache,
    Feed,
    Index,
    Linear,
    Norm,
    NumpyBackend,
)
from minispec.engine.backends.formats import encode
from minispec.engine.backends.types import Kept
from minispec.engine.model.forward import layers
from minispec.engine.model.paged import PagedCache
from minispec.engine.model.pages import PagePool
from minispec.errors import InvariantError

Operation = Callable[[Backend, slice], Array]
"""Computes some rows of a fixed problem with a backend."""

TOLERANCE = 2e-5
"""Float32 sums of at most 70 products of numbers around 1, in another order: 70 x 6e-8 is 4e-6."""


def operations(
    num_rows: int, seed: int = 0, kv_dtypes: Sequence[str] = ("float32",)
) -> Iterator[tuple[str, Operation]]:
    """Yield every operation on a problem of ``num_rows`` rows; odd sizes, so that every loop has a tail.

    Attention comes once for each format of keys and values.
    """
    generator = np.random.default_rng(seed)

    def normal(*shape: int) -> Array:
        return generator.standard_normal(shape).astype(np.float32)

    x, norm = normal(num_rows, 70), Norm(normal(70), normal(70), 1e-5)
    weight, bias, residual = normal(70, 131) / np.float32(8.0), normal(131), normal(num_rows, 131)
    yield "layer_norm", lambda backend, rows: backend.layer_norm(x[rows], norm)
    yield "linear", lambda backend, rows: backend.linear(x[rows], backend.pack(weight, bias))
    yield "linear without bias", lambda backend, rows: backend.linear(x[rows], backend.pack(weight, None))
    yield (
        "linear with residual",
        lambda backend, rows: backend.linear(x[rows], backend.pack(weight, bias), residual=residual[rows]),
    )
    yield (
        "linear with everything",
        lambda backend, rows: backend.linear(
            x[rows], backend.pack(weight, bias), norm=norm, activation="gelu_new", residual=residual[rows]
        ),
    )
    for name in ("gelu_new", "gelu", "relu", "silu", "tanh"):
        yield name, _activation(3.0 * x, name)
    wte, wpe = normal(70, 9), normal(num_rows, 70)
    tokens, positions = generator.integers(0, 9, num_rows), np.arange(num_rows)[::-1].copy()
    yield "embed", lambda backend, rows: backend.embed(backend.pack(wte, None), wpe, tokens[rows], positions[rows])
    queries, keys, values = normal(num_rows, 3, 5), normal(2, num_rows, 3, 5), normal(2, num_rows, 3, 5)
    pages, ends = generator.integers(0, 2, (num_rows, 1)), np.arange(1, num_rows + 1)
    visible = generator.random((num_rows, num_rows)) < 0.5
    visible[np.arange(num_rows), np.arange(num_rows)] = True
    several = np.array([[1, 2, 0], [3, 0, 2]])[generator.integers(0, 2, num_rows)]
    more_keys, more_values = normal(4, num_rows, 3, 5), normal(4, num_rows, 3, 5)
    for kv_dtype in kv_dtypes:
        kept, more = (tuple(encode(part, kv_dtype)[0] for part in pair)
                      for pair in ((keys, values), (more_keys, more_values)))  # fmt: skip
        yield f"attention over {kv_dtype}", _attention(queries, kept, pages, ends, None)
        yield f"attention over {kv_dtype} in several pages", _attention(queries, more, several, 2 * ends, None)
        yield f"attention over {kv_dtype} with a mask", _attention(queries, kept, pages, ends, visible)


def _activation(x: Array, name: str) -> Operation:
    return lambda backend, rows: backend.activation(x[rows], name)


def _attention(queries: Array, kept: Sequence[Kept], pages: Index, ends: Index, visible: Any) -> Operation:
    def compute(backend: Backend, rows: slice) -> Array:
        keys, values = kept
        mask = None if visible is None else visible[rows]
        return backend.attention(queries[rows], keys, values, pages[rows], ends[rows], mask, 0.5)

    return compute


def check_reference(backend: Backend, num_rows: int = 7) -> None:
    """Hold every operation to the reference bodies.

    Raises
    ------
    InvariantError
        Naming the operation and the largest difference.
    """
    for name, compute in operations(num_rows, kv_dtypes=backend.kv_dtypes("float32")):
        found, wanted = compute(backend.from_host(), slice(None)), compute(NumpyBackend(), slice(None))
        if found.dtype != np.float32 or found.shape != wanted.shape:
            raise InvariantError(f"{backend.name}.{name} gives {found.dtype} {found.shape}, not float32 {wanted.shape}")
        error = float(np.max(np.abs(found - wanted) / np.maximum(1.0, np.abs(wanted))))
        if not error <= TOLERANCE:
            raise InvariantError(f"{backend.name}.{name} differs from the reference by {error:.1e}")
        if name.startswith("linear"):  # reading a prompt asks for logits of no row at all
            found, wanted = compute(backend.from_host(), slice(0)), wanted[:0]
            if found.shape != wanted.shape:
                raise InvariantError(f"{backend.name}.{name} of no rows has shape {found.shape}, not {wanted.shape}")


def check_batch_invariance(backend: Backend, num_rows: int = 19) -> None:
    """Hold a backend that declares itself batch-invariant to it: any block of rows alone has the bits it has in all.

    Raises
    ------
    InvariantError
        Naming the operation and the rows.
    """
    for name, compute in operations(num_rows, kv_dtypes=backend.kv_dtypes("float32")):
        together = compute(backend.from_host(), slice(None))
        for size in (1, 2, 5, 16):
            for start in range(0, num_rows, size):
                rows = slice(start, start + size)
                if compute(backend.from_host(), rows).tobytes() != together[rows].tobytes():
                    raise InvariantError(
                        f"{backend.name}.{name}: rows {start}..{start + size - 1} have other bits alone"
                    )


def check_layers(backend: Backend, seed: int = 0) -> None:
    """Hold a stack of layers run in one call to the forward's own lines: the same bits out, and the same in the cache.

    A backend that leaves the layers to those lines has nothing to be held to.

    Raises
    ------
    InvariantError
        Naming what differs.
    """
    generator = np.random.default_rng(seed)

    def normal(*shape: int) -> Array:
        return backend.place(generator.standard_normal(shape).astype(np.float32))

    def matrix(inputs: int, outputs: int) -> Linear:
        weight = generator.standard_normal((inputs, outputs)).astype(np.float32) / np.float32(inputs**0.5)
        return backend.pack(weight, generator.standard_normal(outputs).astype(np.float32))

    def norm() -> Norm:
        return Norm(normal(24), normal(24), 1e-5)

    blocks = tuple(
        Block(norm(), Attention(matrix(24, 72), matrix(24, 24)), norm(), MLP(matrix(24, 50), matrix(50, 24)))
        for _ in range(3)
    )
    if not backend.fuses(blocks):
        return
    for kv_dtype in backend.kv_dtypes("float32"):
        _check_layers(backend, blocks, normal, kv_dtype)


def _check_layers(backend: Backend, blocks: tuple[Block, ...], normal: Callable[..., Array], kv_dtype: str) -> None:
    pools = [PagePool(3, 3, 8, num_pages=2, page_size=12, backend=backend, kv_dtype=kv_dtype) for _ in range(2)]
    caches = [PagedCache(pool, 12) for pool in pools]
    for rows, slots, num_layers, masked in [
        ([0], [0], 3, False),
        ([0, 1, 0, 1], [1, 0, 2, 1], 3, False),
        ([0, 0], [3, 4], 3, True),
        ([1], [2], 2, False),
    ]:
        pages, slot_index = np.array(rows)[:, None], np.array(slots)
        visible = np.tri(len(rows), 12, slots[0], dtype=bool) if masked else None
        feed = Feed(slot_index, slot_index, pages, slot_index, slot_index + 1, visible, num_layers, 0)
        x = normal(len(rows), 24)

        def whole(run: Callable[..., Array], cache: Cache, x: Array = x, feed: Feed = feed) -> Array:
            def compute(cache: Cache, feed: Feed) -> Array:
                return run(backend, x, blocks, cache, feed, lambda layer: 0.3 / (layer + 1), "gelu_new")

            return np.array(backend.run(compute, cache, feed))

        if whole(type(backend).layers, caches[0]).tobytes() != whole(layers, caches[1]).tobytes():
            raise InvariantError(f"{backend.name}.layers has other bits than its operations, rows {rows}")
        for part in ("keys", "values"):
            if np.any(getattr(caches[0], part) != getattr(caches[1], part)):
                raise InvariantError(f"{backend.name}.layers leaves other {part} in the cache, rows {rows}")
