"""Matrix products with what a layer does around them: norm, bias, activation, residual.

What is new is ``tile.multiply``: a tile of sums that never leaves the registers. Pieces of the work go to threads, and
who computes a column does not change its bits.
"""

from __future__ import annotations

import functools

import numpy as np
from numba import from_dtype, prange, types

from minispec.engine.backends.panel.addresses import address_of, by_address
from minispec.engine.backends.panel.bits import claim
from minispec.engine.backends.panel.elements import activate, normalise
from minispec.engine.backends.panel.emit import MAX_ROWS, PANEL
from minispec.engine.backends.panel.tile import AT_ONCE, multiply
from minispec.engine.jit import jit

VECTOR, MATRIX = types.Array(types.float32, 1, "C"), types.Array(types.float32, 2, "C")

PARALLEL_WORK = 60_000
"""With fewer multiply-adds a second thread costs more than it saves: a parallel region takes 1 to 2 microseconds."""


@jit(nogil=True)
def num_shares(work, parts, max_threads):
    """Return how many threads share this work, counted in multiply-adds; more than one is a parallel region."""
    return max(1, min(max_threads, parts)) if work >= PARALLEL_WORK else 1


@jit(nogil=True)
def find_piece(number, num_panels, threads, together):
    """Find a piece of work: return its first panel and the one after its last. Pieces beyond the last are empty.

    Seven eighths of the panels are one large piece for each thread, the rest small ones: a thread that is held up, or
    that reads from slower memory, leaves them to the others.
    """
    large = num_panels if threads == 1 else 7 * num_panels // (8 * threads)
    if number < threads:
        return number * large, (number + 1) * large
    first = min(threads * large + (number - threads) * together, num_panels)
    return first, min(first + together, num_panels)


@jit(nogil=True)
def compute_columns(x, panels, scale, bias, activation, residual, y, thread, threads, claimed):
    """Compute the columns of some pieces for all rows, panel by panel, so that each weight is read once.

    A thread's first piece has the thread's number; it claims the others. It claims each one before it begins the piece
    before, in time to prefetch the weights.
    """
    num_rows, num_outputs = y.shape
    num_panels = panels.shape[0]
    num_blocks = -(-num_rows // MAX_ROWS)  # of nearly the same number of rows
    together = AT_ONCE[panels.itemsize - 1][num_rows] if num_blocks == 1 else 1
    edge = np.empty((MAX_ROWS, PANEL), np.float32)  # for a last panel that is wider than what is left of y
    first_panel, last_panel = find_piece(thread, num_panels, threads, together)
    while first_panel < num_panels:
        next_first, next_last = find_piece(threads + claim(claimed), num_panels, threads, together)
        panel = first_panel
        while panel < last_panel:
            column = panel * PANEL
            count = together if panel + together <= last_panel and column + together * PANEL <= num_outputs else 1
            following = panel + count if panel + count < last_panel else next_first
            fits = column + PANEL <= num_outputs
            for block in range(num_blocks):
                start = block * num_rows // num_blocks
                rows = (block + 1) * num_rows // num_blocks - start
                if fits:
                    multiply(x, start, rows, panels, panel, count, following, y, start, column)
                else:
                    multiply(x, start, rows, panels, panel, 1, following, edge, 0, 0)
                    for m in range(rows):
                        for n in range(num_outputs - column):
                            y[start + m, column + n] = edge[m, n]
            panel += count
        first, last = first_panel * PANEL, min(last_panel * PANEL, num_outputs)
        for t in range(num_rows):
            finish(y[t, first:last], scale, bias, activation, residual, t, first)
        first_panel, last_panel = next_first, next_last


@jit(nogil=True)
def finish(out, scale, bias, activation, residual, row, first):
    """Turn sums into outputs, in place: times the scale of the column, plus bias, activation, plus residual."""
    if scale.size:
        for n in range(out.shape[0]):
            out[n] = out[n] * scale[first + n]
    for n in range(out.shape[0]):
        out[n] = out[n] + bias[first + n]
    activate(out, activation)
    if residual.size:
        for n in range(out.shape[0]):
            out[n] = out[n] + residual[row, first + n]


def _columns_types(panels):
    """Return the types of the arguments of :func:`compute_columns`, for panels of a Numba dtype."""
    panels, claimed = types.Array(panels, 3, "C"), types.Array(types.int64, 1, "C")
    return MATRIX, panels, VECTOR, VECTOR, types.int64, MATRIX, MATRIX, types.int64, types.int64, claimed


call_columns = by_address(lambda given: _columns_types(given[1].dtype))


@functools.cache
def columns_for(dtype):
    """Return the address of :func:`compute_columns` for panels of a NumPy dtype."""
    return address_of(compute_columns, *_columns_types(from_dtype(dtype)))


@jit(parallel=True, nogil=True)
def linear(
    x, norm_weight, norm_bias, epsilon, columns, panels, scale, bias, activation, residual, num_outputs, max_threads
):
    """Return activation(norm(x) @ W + bias) + residual, (T, N), for ``panels`` of shape (P, K, PANEL).

    ``columns`` is :func:`columns_for` the panels' dtype. An empty ``norm_weight``, ``scale`` or ``residual`` stands for
    none. Oracle: Backend.linear.
    """
    num_rows, num_inputs = x.shape
    y = np.empty((num_rows, num_outputs), np.float32)
    normed = x
    if norm_weight.size:
        normed = np.empty((num_rows, num_inputs), np.float32)
        normalise(x, norm_weight, norm_bias, epsilon, normed)
    claimed = np.empty(1, np.int64)
    claimed[0] = 0
    threads = num_shares(num_inputs * num_outputs * num_rows, panels.shape[0], max_threads)
    if threads == 1:
        call_columns(columns, (normed, panels, scale, bias, activation, residual, y, np.int64(0), threads, claimed))
    else:
        for thread in prange(threads):
            call_columns(columns, (normed, panels, scale, bias, activation, residual, y, thread, threads, claimed))
    return y
