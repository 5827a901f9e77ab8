"""How a matrix lies on the card: every 16 inputs x 16 outputs together, in the order in which a warp reads them.

Both layouts are read 16 bytes per thread, 512 consecutive bytes per warp. ``xp`` is NumPy or CuPy: only reshaping and
transposing happen here.
"""

from __future__ import annotations

from typing import Any

TILE = 16
"""Inputs and outputs per tile; sizes are padded to multiples of it with zeros."""


def pack_tiles(xp: Any, weight: Any) -> Any:
    """Cut a matrix into tiles.

    Parameters
    ----------
    xp : module
        NumPy or CuPy, whichever ``weight`` belongs to.
    weight : array of shape (K, N), float32 or float16

    Returns
    -------
    array
        float32: (N/16, K/16, 16, 16), [tile of outputs, tile of inputs, input, output]. float16: (N/16, K/16, 32, 8),
        where the last two axes are a thread of the warp and its 8 numbers of the left operand of the tensor-core
        instruction mma.m16n8k16, outputs being its rows and inputs its columns.
    """
    num_inputs, num_outputs = weight.shape
    padded = xp.zeros((-(-num_inputs // TILE) * TILE, -(-num_outputs // TILE) * TILE), weight.dtype)
    padded[:num_inputs, :num_outputs] = weight
    if weight.dtype == "float32":
        return padded.reshape(-1, TILE, padded.shape[1] // TILE, TILE).transpose(2, 0, 1, 3).copy()
    # The PTX manual: thread 4 g + p holds, as number 4 b + 2 h + e, the element in row 8 h + g and column 8 b + 2 p + e
    # of the tile. That row is output n = 16 i + 8 h + g. That column is input k = 16 j + 4 p + 2 b + e: which inputs go
    # to which columns is ours to choose, and so the four that a thread multiplies lie side by side.
    split = padded.T.reshape(padded.shape[1] // TILE, 2, 8, -1, 4, 2, 2)  # [i, h, g, j, p, b, e]
    return split.transpose(0, 3, 2, 4, 5, 1, 6).copy().reshape(split.shape[0], split.shape[3], 32, 8)


def unpack_tiles(tiles: Any, num_inputs: int, num_outputs: int) -> Any:
    """Undo :func:`pack_tiles`: return the matrix, shape (K, N)."""
    if tiles.dtype == "float32":
        padded = tiles.transpose(1, 2, 0, 3).reshape(tiles.shape[1] * TILE, -1)
    else:
        split = tiles.reshape(tiles.shape[0], tiles.shape[1], 8, 4, 2, 2, 2)  # [i, j, g, p, b, h, e]
        padded = split.transpose(0, 5, 2, 1, 3, 4, 6).reshape(-1, tiles.shape[1] * TILE).T
    return padded[:num_inputs, :num_outputs]
