"""The panel backend where the CPU has dot-product instructions: two more formats."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from minispec.backends import formats
from minispec.backends.arrays import allocate_weights
from minispec.backends.base import Array, Backend, Block, Index, Linear
from minispec.backends.panel.backend import PanelBackend
from minispec.backends.panel.emit import PANEL
from minispec.backends.panel.isa import ISA
from minispec.backends.parts import Tensor

_BIAS = np.int16(128)


@dataclass(frozen=True, slots=True)
class DotLinear(Linear):
    """A matrix for a dot-product instruction.

    ``weight`` has shape (P, W, columns, numbers per word): uint16, the bits of bfloat16, two per word; or uint8, an
    int8 plus 128, four per word.

    Parameters
    ----------
    num_inputs : int
        K; the last word may hold more.
    """

    num_inputs: int = 0


class DotPanelBackend(PanelBackend):
    """The panel backend with ``bfloat16-dot``, ``int8-dot`` or both.

    Parameters
    ----------
    isa : ISA
        This machine's.
    dot_dtypes : tuple of str
        Those of :data:`formats.DOT_DTYPES` this machine has the instruction for.
    """

    def __init__(self, isa: ISA, dot_dtypes: tuple[str, ...]) -> None:
        super().__init__(isa)
        self.dtypes = (*formats.DTYPES, *dot_dtypes)

    def pack(self, weight: Tensor, bias: Array | None, dtype: str = "float32") -> Linear:
        """See :meth:`PanelBackend.pack`; the numbers of a word are neighbours along K."""
        if dtype not in formats.DOT_DTYPES or dtype not in self.dtypes:
            return super().pack(weight, bias, dtype)
        num_inputs, num_outputs = weight.shape
        self._num_weights += num_inputs * num_outputs
        kept = formats.drop_dot(dtype)
        per_word = 4 // formats.ITEM_BYTES[dtype]
        num_panels, num_words = -(-num_outputs // PANEL), -(-num_inputs // per_word)
        panels = allocate_weights((num_panels, num_words, PANEL, per_word), np.uint8 if per_word == 4 else np.uint16)
        scale = np.empty(num_outputs if kept == "int8" else 0, np.float32)
        for panel in range(num_panels):
            columns = slice(panel * PANEL, (panel + 1) * PANEL)
            values, factors = formats.encode(weight[:, columns], kept)
            if factors is not None:
                scale[columns] = factors
                values = (values + _BIAS).astype(np.uint8)
            padded = np.zeros((num_words * per_word, values.shape[1]), values.dtype)
            padded[:num_inputs] = values
            panels[panel, :, : values.shape[1]] = padded.reshape(num_words, per_word, -1).transpose(0, 2, 1)
        bias = np.zeros(num_outputs, np.float32) if bias is None else np.ascontiguousarray(bias, np.float32)
        return DotLinear(panels, bias, num_outputs, scale, num_inputs)

    def columns(self, matrix: Linear, indices: Index) -> Array:
        """See :meth:`Backend.columns`."""
        if not isinstance(matrix, DotLinear):
            return super().columns(matrix, indices)
        values = matrix.weight[indices // PANEL, :, indices % PANEL]  # (T, W, numbers per word)
        values = values.reshape(len(indices), -1)[:, : matrix.num_inputs]
        if matrix.scale is None or not matrix.scale.size:
            return formats.decode(values, None)
        decoded: Array = (values - _BIAS) * matrix.scale[indices, None]
        return decoded

    def embed(self, wte: Linear, wpe: Array, tokens: Index, positions: Index) -> Array:
        """See :meth:`Backend.embed`."""
        embed = Backend.embed if isinstance(wte, DotLinear) else PanelBackend.embed
        return embed(self, wte, wpe, tokens, positions)

    def fuses(self, blocks: Sequence[Block]) -> bool:
        """See :meth:`Backend.fuses`; with these formats each layer takes several calls."""
        return not isinstance(blocks[0].mlp.c_fc, DotLinear)

    def _kernel(self, matrix: Linear) -> tuple[Callable[..., Array], int]:
        if isinstance(matrix, DotLinear):
            from minispec.backends.panel import (
                dot_products,  # for these formats only: a command's start is counted in ms
            )

            return dot_products.linear, dot_products.columns_for(matrix.weight.dtype)
        return super()._kernel(matrix)
