"""Products by dot-product instructions, which take two bfloat16 or four int8 numbers per 32-bit lane.

The tiles are those of ``tile.multiply``, with one instruction where that widens a weight and multiplies once. So
low precision saves arithmetic as well as bytes. The price: the *inputs* of a matrix are rounded as well, which
makes this another function than the plain formats, with a dtype name of its own.

``bfloat16-dot`` (``vdpbf16ps``)
    Inputs are rounded to bfloat16, to nearest, ties to even. For each pair, the sum takes the product of the *second*
    numbers, then that of the first, each added exactly and rounded to float32 once. Denormal inputs and results count
    as zero.
``int8-dot`` (``vpdpbusd``)
    A row x becomes rint(127 x / max(abs(x))), int8, times max(abs(x)) / 127. Sums are exact, in int32, for up to 2**17
    inputs. The instruction wants one factor unsigned: weights are kept plus 128, and each sum starts at -128 times the
    sum of the row.

A sum is one chain over k, and a row is quantised by itself: batch-invariant like the rest. The tests emulate both.
"""

from __future__ import annotations

import functools

import numpy as np
from numba import from_dtype, prange, types

from minispec.backends.panel.addresses import address_of, by_address
from minispec.backends.panel.bits import bits_of, claim, from_bits
from minispec.backends.panel.dot_tile import multiply
from minispec.backends.panel.elements import normalise
from minispec.backends.panel.emit import MAX_ROWS, PANEL
from minispec.backends.panel.products import MATRIX, VECTOR, find_piece, finish, num_shares
from minispec.jit import jit

_BIAS, _MAX = np.int32(128), np.float32(127.0)
_ABSOLUTE, _HALF_UNIT, _ONE_BIT = np.int32(0x7FFFFFFF), np.int32(0x7FFF), np.int32(1)
_ROUND = np.float32(12582912.0)  # 1.5 * 2**23: adding it to a small number rounds that to an integer, in the low bits
_ROUND_BITS = np.int32(0x4B400000)


@jit(nogil=True)
def round_rows(x, halves):
    """Write the bfloat16 bits of each number of x, (T, K), into ``halves``, uint16, whose rows may be longer."""
    for t in range(x.shape[0]):
        for k in range(x.shape[1]):
            bits = bits_of(x[t, k])
            even = (bits >> np.int32(16)) & _ONE_BIT
            halves[t, k] = np.uint16((bits + _HALF_UNIT + even) >> np.int32(16))


@jit(nogil=True)
def quantise_rows(x, numbers, starts, factors):
    """Write each row of x, (T, K), as int8 into ``numbers``, whose rows may be longer.

    ``factors[t]`` times a number is what it stands for; ``starts[t]`` receives the bits of -128 times their sum.
    """
    for t in range(x.shape[0]):
        largest_bits = np.int32(0)
        for k in range(x.shape[1]):  # of numbers >= 0, the larger has the larger bits; integers vectorise
            largest_bits = max(largest_bits, bits_of(x[t, k]) & _ABSOLUTE)
        largest = from_bits(largest_bits)
        inverse = _MAX / largest if largest > np.float32(0.0) else np.float32(0.0)
        total = np.int32(0)
        for k in range(x.shape[1]):
            number = bits_of(x[t, k] * inverse + _ROUND) - _ROUND_BITS
            numbers[t, k] = np.int8(number)
            total += number
        starts[t] = from_bits(np.int32(-_BIAS * total))
        factors[t] = largest / _MAX


@jit(nogil=True)
def prepare(x, num_words, per_word):
    """Return x, (T, K), as words, (T, W), with the starts of the sums and the factors of the rows (none for bfloat16).

    This is a function of its own because with ``parallel=True`` Numba would fill the zeros in a parallel region.
    """
    num_rows = x.shape[0]
    words, starts = np.zeros((num_rows, num_words), np.float32), np.zeros(num_rows, np.float32)
    factors = np.empty(num_rows if per_word == 4 else 0, np.float32)
    if per_word == 4:
        quantise_rows(x, words.view(np.int8), starts, factors)
    else:
        round_rows(x, words.view(np.uint16))
    return words, starts, factors


@jit(nogil=True)
def compute_columns(words, starts, factors, panels, scale, bias, activation, residual, y, thread, threads, claimed):
    """Compute the columns of some pieces as ``products.compute_columns`` does, and multiply each row by its factor."""
    num_rows, num_outputs = y.shape
    num_panels = panels.shape[0]
    num_blocks = -(-num_rows // MAX_ROWS)
    edge = np.empty((MAX_ROWS, PANEL), np.float32)
    first_panel, last_panel = find_piece(thread, num_panels, threads, 1)
    while first_panel < num_panels:
        next_first, next_last = find_piece(threads + claim(claimed), num_panels, threads, 1)
        for panel in range(first_panel, last_panel):
            column = panel * PANEL
            following = panel + 1 if panel + 1 < last_panel else next_first
            for block in range(num_blocks):
                start = block * num_rows // num_blocks
                rows = (block + 1) * num_rows // num_blocks - start
                if column + PANEL <= num_outputs:
                    multiply(words, starts, start, rows, panels, panel, following, y, start, column)
                else:
                    multiply(words, starts, start, rows, panels, panel, following, edge, 0, 0)
                    for m in range(rows):
                        for n in range(num_outputs - column):
                            y[start + m, column + n] = edge[m, n]
        first, last = first_panel * PANEL, min(last_panel * PANEL, num_outputs)
        for t in range(num_rows):
            sums = y[t, first:last]
            if factors.size:
                for n in range(last - first):
                    sums[n] = sums[n] * factors[t]
            finish(sums, scale, bias, activation, residual, t, first)
        first_panel, last_panel = next_first, next_last


def _columns_types(panels):
    """Return the types of the arguments of :func:`compute_columns`, for panels of a Numba dtype."""
    inputs = MATRIX, VECTOR, VECTOR, types.Array(panels, 4, "C")
    work = types.int64, types.int64, types.Array(types.int64, 1, "C")
    return *inputs, VECTOR, VECTOR, types.int64, MATRIX, MATRIX, *work


call_columns = by_address(lambda given: _columns_types(given[3].dtype))


@functools.cache
def columns_for(dtype):
    """Return the address of :func:`compute_columns` for panels of a NumPy dtype."""
    return address_of(compute_columns, *_columns_types(from_dtype(dtype)))


@jit(parallel=True, nogil=True)
def linear(
    x, norm_weight, norm_bias, epsilon, columns, panels, scale, bias, activation, residual, num_outputs, max_threads
):
    """Return activation(norm(x) @ W + bias) + residual, (T, N), for ``panels`` of (P, W, PANEL, numbers per word).

    As ``products.linear``, with norm(x) rounded to the weights' format.
    """
    num_rows, num_inputs = x.shape
    num_panels, num_words, per_word = panels.shape[0], panels.shape[1], panels.shape[3]
    y = np.empty((num_rows, num_outputs), np.float32)
    normed = x
    if norm_weight.size:
        normed = np.empty((num_rows, num_inputs), np.float32)
        normalise(x, norm_weight, norm_bias, epsilon, normed)
    words, starts, factors = prepare(normed, num_words, per_word)
    claimed = np.empty(1, np.int64)
    claimed[0] = 0
    threads = num_shares(num_inputs * num_outputs * num_rows, num_panels, max_threads)
    if threads == 1:
        plan = (np.int64(0), threads, claimed)
        call_columns(columns, (words, starts, factors, panels, scale, bias, activation, residual, y, *plan))
    else:
        for thread in prange(threads):
            plan = (thread, threads, claimed)
            call_columns(columns, (words, starts, factors, panels, scale, bias, activation, residual, y, *plan))
    return y
