"""Where the arrays of a stack of layers begin, for one call that runs them all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minispec.engine.backends.panel.products import columns_for
from minispec.engine.backends.types import Block
from minispec.errors import InvariantError


class Layout:
    """The addresses of a stack of layers, for :func:`stack.layers`. A cache keeps it from one forward to the next.

    Parameters
    ----------
    blocks : sequence of Block
        Packed by the backend, all in one format and of the same sizes.
    scale : callable
        See :meth:`Backend.layers`.
    """

    def __init__(self, blocks: Sequence[Block], scale: Callable[[int], float]) -> None:
        self.blocks = blocks  # keeps the arrays alive, whose addresses follow
        layers = []
        for block in blocks:
            arrays: list[Any] = [block.ln_1.weight, block.ln_1.bias, block.ln_2.weight, block.ln_2.bias]
            for matrix in (block.attn.c_attn, block.attn.c_proj, block.mlp.c_fc, block.mlp.c_proj):
                arrays += [matrix.weight, matrix.scale, matrix.bias]
            layers.append(arrays)
        if len({tuple((array.dtype, array.shape) for array in arrays) for arrays in layers}) > 1:
            raise InvariantError("layers of different formats or sizes cannot be run as one stack")
        self.addresses = np.array([[array.ctypes.data for array in arrays] for arrays in layers], np.int64)
        self.epsilons = np.array([(block.ln_1.epsilon, block.ln_2.epsilon) for block in blocks], np.float32)
        self.scales = np.array([scale(layer) for layer in range(len(blocks))], np.float32)
        matrix = blocks[0].mlp.c_fc
        self.empty_panels = matrix.weight[:0, :0, :0].copy()
        self.columns = columns_for(matrix.weight.dtype)
        self.scaled = matrix.scale is not None and matrix.scale.size > 0
        self.num_inner = matrix.num_outputs
