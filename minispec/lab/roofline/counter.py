"""Backends that watch another one's calls."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from minispec.engine.backends.base import Array, Backend, Cache, Feed, Index, Linear, Norm
from minispec.engine.backends.formats import ITEM_BYTES
from minispec.engine.backends.types import Kept, Tensor
from minispec.engine.model.weights import Weights
from minispec.errors import InvariantError
from minispec.lab.roofline.counts import Storage

if TYPE_CHECKING:
    from minispec.engine.backends.panel import PanelBackend


def storage_of(backend: Backend, dtype: str = "float32") -> Storage:
    """Find out how a backend keeps matrices, by having it pack a small one."""
    item = backend.pack(np.zeros((1, 1), np.float32), None, dtype).weight
    kept = dtype if item.itemsize == ITEM_BYTES[dtype] else "float32"  # a backend may round and keep the float32
    return Storage(kept, panel=item.size, always_biased=True)


def part_names(weights: Weights) -> dict[int, str]:
    """Return what every matrix and norm of a model is called, by the identity of the object."""
    names = {id(weights.ln_f): "ln_f", id(weights.lm_head): "lm_head"}
    for block in weights.h:
        names |= {id(block.ln_1): "ln_1", id(block.ln_2): "ln_2"}
        names |= {id(block.attn.c_attn): "attn.c_attn", id(block.attn.c_proj): "attn.c_proj"}
        names |= {id(block.mlp.c_fc): "mlp.c_fc", id(block.mlp.c_proj): "mlp.c_proj"}
    return names


class PassingBackend(Backend):
    """Passes every call on to another backend; what wraps one overrides the calls it wants to see.

    Parameters
    ----------
    inner : Backend
    names : mapping
        From :func:`part_names`: whose matrix or norm a call is about.
    """

    def __init__(self, inner: Backend, names: Mapping[int, str]) -> None:
        self.inner = inner
        self.names = names

    # A wrapper is as good as what it wraps; these are class attributes of an ordinary backend.
    name = property(lambda self: self.inner.name)  # type: ignore[assignment]
    batch_invariant = property(lambda self: self.inner.batch_invariant)  # type: ignore[assignment]
    dtypes = property(lambda self: self.inner.dtypes)  # type: ignore[assignment]

    def part_name(self, thing: Linear | Norm) -> str:
        """Return whose matrix or norm this is.

        Raises
        ------
        InvariantError
            If it belongs to no part of the model.
        """
        if id(thing) not in self.names:
            raise InvariantError("a call is about a matrix or norm that belongs to no part of the model")
        return self.names[id(thing)]

    def pack(self, weight: Tensor, bias: Array | None, dtype: str = "float32") -> Linear:
        """See :meth:`Backend.pack`."""
        return self.inner.pack(weight, bias, dtype)

    def unpack(self, matrix: Linear) -> Array:
        """See :meth:`Backend.unpack`."""
        return self.inner.unpack(matrix)

    def columns(self, matrix: Linear, indices: Index) -> Array:
        """See :meth:`Backend.columns`."""
        return self.inner.columns(matrix, indices)

    def kv_dtypes(self, dtype: str) -> tuple[str, ...]:
        """See :meth:`Backend.kv_dtypes`."""
        return self.inner.kv_dtypes(dtype)

    def zeros(self, shape: tuple[int, ...], kv_dtype: str = "float32") -> Kept:
        """See :meth:`Backend.zeros`."""
        return self.inner.zeros(shape, kv_dtype)

    def run(self, compute: Callable[[Cache, Feed], Array], cache: Cache, feed: Feed) -> Array:
        """See :meth:`Backend.run`: what the calls inside leave to it, the inner backend knows."""
        return self.inner.run(compute, cache, feed)

    def warm_up(self, dtype: str = "float32", kv_dtype: str = "float32") -> None:
        """See :meth:`Backend.warm_up`."""
        self.inner.warm_up(dtype, kv_dtype)


class TimingBackend(PassingBackend):
    """Adds up the seconds of its calls, by part; a fused norm or activation is timed with its matrix.

    Attributes
    ----------
    seconds : dict of str to float
    """

    def __init__(
        self, inner: Backend, names: Mapping[int, str], clock: Callable[[], float] = time.perf_counter
    ) -> None:
        super().__init__(inner, names)
        self.clock = clock
        self.seconds: dict[str, float] = {}

    def _time(self, name: str, call: Callable[[], Array]) -> Array:
        started = self.clock()
        out = call()
        self.seconds[name] = self.seconds.get(name, 0.0) + self.clock() - started
        return out

    def embed(self, wte: Linear, wpe: Array, tokens: Index, positions: Index) -> Array:
        """See :meth:`Backend.embed`."""
        return self._time("embed", lambda: self.inner.embed(wte, wpe, tokens, positions))

    def linear(
        self,
        x: Array,
        matrix: Linear,
        *,
        norm: Norm | None = None,
        activation: str | None = None,
        residual: Array | None = None,
    ) -> Array:
        """See :meth:`Backend.linear`."""
        return self._time(
            self.part_name(matrix),
            lambda: self.inner.linear(x, matrix, norm=norm, activation=activation, residual=residual),
        )

    def project(self, x: Array, matrix: Linear, norm: Norm, cache: Cache, layer: int, feed: Feed) -> Array:
        """See :meth:`Backend.project`."""
        return self._time(self.part_name(matrix), lambda: self.inner.project(x, matrix, norm, cache, layer, feed))

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
        return self._time("attention", lambda: self.inner.attention(queries, keys, values, pages, ends, visible, scale))


class RegionCounter(PassingBackend):
    """Counts the parallel regions of the panel backend: each wakes the other threads and waits for the last of them.

    Attributes
    ----------
    regions : int
    """

    inner: PanelBackend

    def __init__(self, inner: PanelBackend, names: Mapping[int, str]) -> None:
        super().__init__(inner, names)
        self.regions = 0

    def embed(self, wte: Linear, wpe: Array, tokens: Index, positions: Index) -> Array:
        """See :meth:`Backend.embed`."""
        return self.inner.embed(wte, wpe, tokens, positions)

    def linear(
        self,
        x: Array,
        matrix: Linear,
        *,
        norm: Norm | None = None,
        activation: str | None = None,
        residual: Array | None = None,
    ) -> Array:
        """See :meth:`Backend.linear`."""
        self.regions += self.inner.linear_shares(x, matrix) > 1
        return self.inner.linear(x, matrix, norm=norm, activation=activation, residual=residual)

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
        self.regions += self.inner.attention_shares(queries, ends) > 1
        return self.inner.attention(queries, keys, values, pages, ends, visible, scale)
