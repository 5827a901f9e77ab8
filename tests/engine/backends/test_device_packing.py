"""How matrices lie on the card: nothing is lost, and a warp finds what the tensor-core instruction asks for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispec.engine.backends.cuda.packing import pack_tiles, unpack_tiles
from minispec.engine.backends.cuda.program import Ring
from minispec.errors import OptionError


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@given(st.integers(1, 70), st.integers(1, 70))
def test_unpacking_gives_the_matrix_back(dtype, num_inputs, num_outputs):
    weight = np.arange(num_inputs * num_outputs).reshape(num_inputs, num_outputs).astype(dtype)
    tiles = pack_tiles(np, weight)
    assert tiles.flags.c_contiguous
    assert tiles.size == -(-num_inputs // 16) * -(-num_outputs // 16) * 256
    np.testing.assert_array_equal(unpack_tiles(tiles, num_inputs, num_outputs), weight)


def input_of(column):
    """Return which of 16 inputs is in a column: the columns of a thread p have inputs 4 p to 4 p + 3."""
    return 4 * (column % 8 // 2) + 2 * (column // 8) + column % 2


def product_by_fragments(tiles, x):
    """Return x @ W as 32 lanes compute it, by the tables of the PTX manual for mma.m16n8k16 with halves.

    The rows of the left operand are outputs, its columns inputs; x, (8, K), is the right operand, transposed.
    """
    num_tiles, num_steps = tiles.shape[:2]
    out = np.zeros((8, num_tiles * 16))
    for tile in range(num_tiles):
        for step in range(num_steps):
            left, right = np.zeros((16, 16)), np.zeros((16, 8))
            for lane in range(32):
                group, thread = lane >> 2, lane % 4
                for i in range(8):
                    row = group if 0 <= i < 2 or 4 <= i < 6 else group + 8
                    column = thread * 2 + (i & 1) + (0 if i < 4 else 8)
                    left[row, column] = tiles[tile, step, lane, i]
                for i in range(4):
                    row = thread * 2 + (i & 1) + (0 if i < 2 else 8)
                    right[row, group] = x[group, step * 16 + input_of(row)]
            out[:, tile * 16 : tile * 16 + 16] += (left @ right).T
    return out


def test_a_warp_finds_the_fragments_that_the_manual_draws():
    generator = np.random.default_rng(0)
    weight = generator.integers(-8, 9, (48, 32)).astype(np.float16)
    x = generator.integers(-8, 9, (8, 48)).astype(np.float64)
    np.testing.assert_array_equal(product_by_fragments(pack_tiles(np, weight), x), x @ weight.astype(np.float64))


def test_fragments_in_another_order_are_told_apart():
    """Negative control: the halves of a thread's numbers exchanged, as if rows and columns were mixed up."""
    weight = np.random.default_rng(0).integers(-8, 9, (16, 16)).astype(np.float16)
    x = np.random.default_rng(1).integers(-8, 9, (8, 16)).astype(np.float64)
    mixed = pack_tiles(np, weight)[..., [0, 1, 4, 5, 2, 3, 6, 7]]
    assert not np.array_equal(product_by_fragments(mixed, x), x @ weight.astype(np.float64))


@pytest.mark.parametrize(
    ("limit", "dtype", "ring"),
    [(232448, "float16", Ring(3, 13)), (166912, "float16", Ring(2, 11)), (101376, "float16", Ring(2, 5)),
     (232448, "float32", Ring(3, 6)), (166912, "float32", Ring(2, 6)), (101376, "float32", Ring(2, 3))],
)  # fmt: skip
def test_weights_on_their_way_fit_the_card(limit, dtype, ring):
    """Hopper, an A100, and a card of 99 KB; GPT-2 XL has 242 steps."""
    assert Ring.fit(dtype, limit) == ring
    assert ring.shared_bytes(dtype, 242) <= limit


def test_a_card_without_room_is_refused_in_one_line():
    with pytest.raises(OptionError, match="30000 bytes of shared memory, too little"):
        Ring.fit("float16", 30_000)
