"""A backend and a cache that count what passes through them: the check on what the roofline computes from sizes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from minispec.engine.backends.base import Array, Backend, Feed, Index, Linear, Norm
from minispec.engine.backends.types import Kept
from minispec.engine.model.cache import KVCache
from minispec.lab.roofline import counts
from minispec.lab.roofline.counter import PassingBackend
from minispec.lab.roofline.counts import Part


class CountingBackend(PassingBackend):
    """Adds up what the arrays of its calls amount to.

    Operations are counted by the formula of each call, from the shapes of its arguments; bytes are those of the
    arrays. Counting changes no result.

    Attributes
    ----------
    counts : dict of str to Part
    """

    def __init__(self, inner: Backend, names: Mapping[int, str]) -> None:
        super().__init__(inner, names)
        self.counts: dict[str, Part] = {}

    def add(self, part: Part) -> None:
        """Count a call."""
        known = self.counts.get(part.name)
        self.counts[part.name] = part if known is None else known.plus(part)

    def embed(self, wte: Linear, wpe: Array, tokens: Index, positions: Index) -> Array:
        """See :meth:`Backend.embed`."""
        out = self.inner.embed(wte, wpe, tokens, positions)
        row = out.shape[1] * (wte.weight.itemsize + wpe.itemsize) + _scale_bytes(wte) // wte.num_outputs
        self.add(
            Part(
                "embed",
                flops=out.size,
                weight_bytes=len(tokens) * row,
                input_bytes=tokens.nbytes + positions.nbytes,
                output_bytes=out.nbytes,
            )
        )
        return out

    def linear(
        self,
        x: Array,
        matrix: Linear,
        *,
        norm: Norm | None = None,
        activation: str | None = None,
        residual: Array | None = None,
    ) -> Array:
        """See :meth:`Backend.linear`; the norm and the activation count as parts of their own, fused or not."""
        out = self.inner.linear(x, matrix, norm=norm, activation=activation, residual=residual)
        if norm is not None:
            self._count_norm(x, norm)
        if activation is not None:
            self._count_activation(out, activation)
        (num_rows, num_inputs), num_outputs = x.shape, matrix.num_outputs
        additions = 1 if residual is None else 2  # every matrix has a bias, of zeros if need be
        self.add(
            Part(
                self.part_name(matrix),
                flops=num_rows * num_outputs * (2 * num_inputs + additions),
                weight_bytes=matrix.weight.nbytes + matrix.bias.nbytes + _scale_bytes(matrix),
                input_bytes=x.nbytes + (0 if residual is None else residual.nbytes),
                output_bytes=out.nbytes,
                padding_bytes=matrix.weight.nbytes - num_inputs * num_outputs * matrix.weight.itemsize,
            )
        )
        return out

    def matmul(self, x: Array, matrix: Linear) -> Array:
        """See :meth:`Backend.matmul`."""
        return self.linear(x, matrix)

    def layer_norm(self, x: Array, norm: Norm) -> Array:
        """See :meth:`Backend.layer_norm`."""
        self._count_norm(x, norm)
        return self.inner.layer_norm(x, norm)

    def activation(self, x: Array, name: str) -> Array:
        """See :meth:`Backend.activation`."""
        self._count_activation(x, name)
        return self.inner.activation(x, name)

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
        """See :meth:`Backend.attention`; a text's keys and values count once, up to the last slot a token sees."""
        out = self.inner.attention(queries, keys, values, pages, ends, visible, scale)
        _, num_heads, head_size = queries.shape
        slots = int(ends.sum())
        read = sum(int(ends[pages[:, 0] == first].max()) for first in np.unique(pages[:, 0])) * keys[0, 0].nbytes
        self.add(
            Part(
                "attn.scores",
                flops=num_heads * slots * (2 * head_size + counts.SCORE_OPERATIONS),
                cache_bytes=read,
                input_bytes=queries.nbytes,
            )
        )
        self.add(
            Part(
                "attn.values",
                flops=2 * num_heads * head_size * slots + out.size,
                cache_bytes=read,
                output_bytes=out.nbytes,
            )
        )
        return out

    def _count_norm(self, x: Array, norm: Norm) -> None:
        self.add(
            Part(
                self.part_name(norm),
                flops=counts.NORM_OPERATIONS * x.size,
                weight_bytes=norm.weight.nbytes + norm.bias.nbytes,
                input_bytes=x.nbytes,
                output_bytes=x.nbytes,
            )
        )

    def _count_activation(self, x: Array, name: str) -> None:
        flops = counts.ACTIVATION_OPERATIONS[name] * x.size
        self.add(Part("mlp.activation", flops=flops, input_bytes=x.nbytes, output_bytes=x.nbytes))


def _scale_bytes(matrix: Linear) -> int:
    return 0 if matrix.scale is None else matrix.scale.nbytes


class CountingCache(KVCache):
    """A cache that counts what is stored in it with a :class:`CountingBackend`."""

    counter: CountingBackend

    def store(self, layer: int, feed: Feed, keys: Array, values: Array) -> None:
        """See :meth:`KVCache.store`."""
        written = keys.size * self.keys.itemsize + values.size * self.values.itemsize
        self.counter.add(Part("attn.store", input_bytes=keys.nbytes + values.nbytes, output_bytes=written))
        super().store(layer, feed, keys, values)
