"""The panel backend: the kernels of this folder behind the interface of ``base``."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from minispec.engine.backends import formats, threads
from minispec.engine.backends.arrays import allocate_aligned, allocate_weights
from minispec.engine.backends.base import MLP, Array, Attention, Backend, Block, Cache, Feed, Index, Linear, Norm
from minispec.engine.backends.panel import attention, elements, products, stack
from minispec.engine.backends.panel.emit import PANEL
from minispec.engine.backends.panel.isa import ISA
from minispec.engine.backends.panel.layout import Layout
from minispec.engine.backends.types import Features, Kept, Tensor

_SHORT_FORWARD = 4_000_000  # multiply-adds: a draft of 1.6M parameters decoding, or catching up by a second token
_NONE_1D = np.zeros(0, np.float32)
_NONE_2D = np.zeros((0, 0), np.float32)
_NO_MASK = np.zeros((0, 0), np.bool_)


class PanelBackend(Backend):
    """Register tiles over packed panels, in the weights' own number format; batch-invariant.

    Parameters
    ----------
    isa : ISA
        This machine's.
    """

    name = "panel"
    batch_invariant = True

    def __init__(self, isa: ISA) -> None:
        self.isa = isa
        self._num_weights = 0  # of all matrices packed so far, i.e. of the model

    def pack(self, weight: Tensor, bias: Array | None, dtype: str = "float32") -> Linear:
        """Cut (K, N) into panels, (P, K, columns), the last one padded with zeros, panel by panel."""
        num_inputs, num_outputs = weight.shape
        self._num_weights += num_inputs * num_outputs
        width = PANEL
        num_panels = -(-num_outputs // width)
        panels = allocate_weights((num_panels, num_inputs, width), formats.STORED[dtype])
        scale = np.empty(num_outputs if dtype == "int8" else 0, np.float32)
        for panel in range(num_panels):
            columns = slice(panel * width, (panel + 1) * width)
            values, factors = formats.encode(weight[:, columns], dtype)
            panels[panel, :, : values.shape[1]] = values
            if factors is not None:
                scale[columns] = factors
        bias = np.zeros(num_outputs, np.float32) if bias is None else bias
        return Linear(formats.view_bits(panels), np.ascontiguousarray(bias, np.float32), num_outputs, scale)

    def unpack(self, matrix: Linear) -> Array:
        """See :meth:`Backend.unpack`."""
        return self.columns(matrix, np.arange(matrix.num_outputs)).T

    def without(self, matrix: Linear) -> Self:
        """See :meth:`Backend.without`: how many threads a forward gets follows from the weights that it reads."""
        rest = copy.copy(self)
        num_inputs = self.columns(matrix, np.zeros(1, np.int64)).shape[1]
        rest._num_weights -= num_inputs * matrix.num_outputs
        return rest

    def columns(self, matrix: Linear, indices: Index) -> Array:
        """See :meth:`Backend.columns`."""
        width = PANEL
        values = matrix.weight[indices // width, :, indices % width]
        columns = formats.decode(values.view(np.float16) if values.dtype == np.int16 else values, None)
        return columns * matrix.scale[indices, None] if matrix.scale is not None and matrix.scale.size else columns

    def layer_norm(self, x: Array, norm: Norm) -> Array:
        """See :meth:`Backend.layer_norm`."""
        y = np.empty_like(x)
        elements.normalise(x, norm.weight, norm.bias, np.float32(norm.epsilon), y)
        return y

    def activation(self, x: Array, name: str) -> Array:
        """See :meth:`Backend.activation`."""
        y = x.copy()
        elements.activate(y.reshape(-1), elements.ACTIVATIONS[name])
        return y

    def matmul(self, x: Array, matrix: Linear) -> Array:
        """See :meth:`Backend.matmul`."""
        return self.linear(x, matrix)

    def linear(
        self,
        x: Array,
        matrix: Linear,
        *,
        norm: Norm | None = None,
        activation: str | None = None,
        residual: Array | None = None,
    ) -> Array:
        """See :meth:`Backend.linear`: one compiled call, one parallel region."""
        return threads.launch(
            products.linear,
            x,
            _NONE_1D if norm is None else norm.weight,
            _NONE_1D if norm is None else norm.bias,
            np.float32(0.0 if norm is None else norm.epsilon),
            products.columns_for(matrix.weight.dtype),
            matrix.weight,
            matrix.scale,
            matrix.bias,
            elements.ACTIVATIONS[activation],
            _NONE_2D if residual is None else residual,
            matrix.num_outputs,
            self._num_threads(len(x)),
        )

    def embed(self, wte: Linear, wpe: Array, tokens: Index, positions: Index) -> Array:
        """See :meth:`Backend.embed`."""
        return stack.embed(wte.weight, wte.scale, wte.num_outputs, wpe, tokens, positions)

    def project(self, x: Array, matrix: Linear, norm: Norm, cache: Cache, layer: int, feed: Feed) -> Array:
        """See :meth:`Backend.project`."""
        qkv = self.linear(x, matrix, norm=norm)
        keys, values = formats.view_bits(cache.keys[layer]), formats.view_bits(cache.values[layer])
        return attention.split(qkv, keys, values, feed.pages, feed.slots)

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
        mask = _NO_MASK if visible is None else np.ascontiguousarray(visible)
        keys, values = formats.view_bits(keys), formats.view_bits(values)
        return threads.launch(
            attention.attention,
            attention.attend_for(keys.dtype),
            queries,
            keys,
            values,
            pages,
            ends,
            mask,
            np.float32(scale),
            self._num_threads(len(queries)),
        )

    def fuses(self, blocks: Sequence[Block]) -> bool:
        """See :meth:`Backend.fuses`."""
        return True

    def layers(
        self,
        x: Array,
        blocks: Sequence[Block],
        cache: Cache,
        feed: Feed,
        scale: Callable[[int], float],
        activation: str,
    ) -> Array:
        """See :meth:`Backend.layers`: one compiled call for all of them."""
        layout = cache.recordings.get("layout")
        if layout is None or layout.blocks is not blocks:
            layout = cache.recordings["layout"] = Layout(blocks, scale)
        keys, values = formats.view_bits(cache.keys), formats.view_bits(cache.values)
        return threads.launch(
            stack.layers,
            x,
            layout.columns,
            attention.attend_for(keys.dtype),
            layout.addresses,
            layout.epsilons,
            layout.scales,
            layout.empty_panels,
            layout.scaled,
            layout.num_inner,
            feed.num_layers,
            elements.ACTIVATIONS[activation],
            keys,
            values,
            cache.features.layers,
            cache.features.states,
            feed.pages,
            feed.slots,
            feed.ends,
            _NO_MASK if feed.visible is None else np.ascontiguousarray(feed.visible),
            self._num_threads(len(x)),
        )

    def run(self, compute: Callable[[Cache, Feed], Array], cache: Cache, feed: Feed) -> Array:
        """See :meth:`Backend.run`; a forward of several threads tells how they should wait for each other."""
        if self._is_short(len(feed.tokens)):
            return compute(cache, feed)
        return threads.run_watched(compute, cache, feed)

    def linear_shares(self, x: Array, matrix: Linear) -> int:
        """Return how many threads share the work of :meth:`linear`; more than one is a parallel region."""
        work = x.size * matrix.num_outputs
        return int(products.num_shares(work, len(matrix.weight), self._num_threads(len(x))))

    def attention_shares(self, queries: Array, ends: Index) -> int:
        """Return the same for :meth:`attention`."""
        tokens, heads, size = queries.shape
        return int(products.num_shares(2 * heads * size * int(ends.sum()), tokens * heads, self._num_threads(tokens)))

    def _num_threads(self, rows: int) -> int:
        """Return the threads of a forward: one if it is so short that waking others gains nothing."""
        return 1 if self._is_short(rows) else threads.num_threads()

    def _is_short(self, rows: int) -> bool:
        return rows * self._num_weights < _SHORT_FORWARD

    def zeros(self, shape: tuple[int, ...], kv_dtype: str = "float32") -> Kept:
        """See :meth:`Backend.zeros`."""
        return allocate_aligned(shape, formats.KV_TYPES[kv_dtype])

    def warm_up(self, dtype: str = "float32", kv_dtype: str = "float32") -> None:
        """Compile the kernels for these formats (or read them from Numba's cache) on inputs of a few elements."""
        norm, index = Norm(np.ones(2, np.float32), np.ones(2, np.float32), 1e-5), np.zeros(1, np.int64)
        square, wide = (self.pack(np.ones((2, outputs), np.float32), None, dtype) for outputs in (2, 6))
        block = Block(norm, Attention(wide, square), norm, MLP(square, square))
        kept = np.ones((1, 1, 1, 1, 2), formats.KV_TYPES[kv_dtype])
        cache = SimpleNamespace(keys=kept, values=kept, features=Features.none(), recordings={})
        feed = Feed(index, index, index[:, None], index, index + 1, None, 1, 1)
        x = self.embed(square, norm.weight[None], index, index)
        if self.fuses((block,)):
            self.layers(x, (block,), cache, feed, float, "relu")
        else:
            queries = self.project(x, wide, norm, cache, 0, feed)
            self.attention(queries, kept[0], kept[0], feed.pages, feed.ends, None, 1.0)
        self.linear(x, square, norm=norm)
