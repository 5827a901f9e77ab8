"""Products by dot-product instructions, which take two bfloat16 or four int8 numbers per 32-bit lane.

The tiles are those of ``_panel_ir.multiply``, with one instruction where that widens a weight and multiplies once. So
low precision saves arithmetic too, not bytes alone. The price: the *inputs* of a matrix are rounded as well, which
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
from llvmlite import ir
from numba import from_dtype, prange, types
from numba.extending import intrinsic

from minispec.backends._panel import _MATRIX, _VECTOR, _finish, find_piece, normalise, num_shares
from minispec.backends._panel_ir import (
    ISA_HERE,
    LANES,
    MAX_ROWS,
    PANEL,
    Emitter,
    bits_of,
    claim,
    from_bits,
    lines_ahead,
)
from minispec.jit import address_of, by_address, jit

_I64, _I32, _F32 = ir.IntType(64), ir.IntType(32), ir.FloatType()
_WORDS, _FLOATS = ir.VectorType(_I32, LANES), ir.VectorType(_F32, LANES)
_INSTRUCTIONS = {
    types.uint16: ("llvm.x86.avx512bf16.dpbf16ps.512", _FLOATS),
    types.uint8: ("llvm.x86.avx512.vpdpbusd.512", _WORDS),
}
"""For a type of weights: the instruction, and the type of its sums."""

_BIAS, _MAX = np.int32(128), np.float32(127.0)
_ABSOLUTE, _HALF_UNIT, _ONE_BIT = np.int32(0x7FFFFFFF), np.int32(0x7FFF), np.int32(1)
_ROUND = np.float32(12582912.0)  # 1.5 * 2**23: adding it to a small number rounds that to an integer, in the low bits
_ROUND_BITS = np.int32(0x4B400000)


def _tile(emit, dtype, rows, words, starts, weights, following, num_words, out, stride):
    """Emit one tile: ``out[m, :] = starts[m] + sum over w of words[m, w] . weights[w, :]``, of one panel.

    As ``_panel_ir._tile``, in 32-bit words. ``starts`` holds the bits of sums; ``out`` has ``stride`` floats per row.
    """
    builder = emit.builder
    name, kind = _INSTRUCTIONS[dtype]
    module = builder.module
    dot = module.globals.get(name) or ir.Function(module, ir.FunctionType(kind, [kind, _WORDS, _WORDS]), name)
    rows_at = [emit.at(words, builder.mul(num_words, _I64(m))) for m in range(rows)]
    panel_size = builder.mul(num_words, _I64(PANEL))
    offsets = [v * LANES for v in range(ISA_HERE.vectors)]

    def step(w, sums, lines=()):
        for place in lines:
            emit.prefetch(emit.at(*place))
        line = builder.mul(w, _I64(PANEL))
        columns = [emit.load(emit.at(weights, line, offset), _I32) for offset in offsets]
        added = []
        for m in range(rows):
            inputs = builder.bitcast(emit.splat(builder.load(emit.at(rows_at[m], w))), _WORDS)
            sums_of_row = sums[m * len(offsets) : (m + 1) * len(offsets)]
            added += [
                builder.call(dot, [total, column, inputs]) for total, column in zip(sums_of_row, columns, strict=True)
            ]
        return added

    def steps(w, sums):
        lines = lines_ahead(emit, w, unroll, 1, panel_size, weights, following, 4)
        for u in range(unroll):
            sums = step(builder.add(w, _I64(u)), sums, lines[u])
        return sums

    unroll = 4 if rows < 3 else 2 if rows < 8 else 1
    sums = []
    for m in range(rows):
        sums += [builder.bitcast(emit.splat(builder.load(emit.at(starts, m))), kind)] * len(offsets)
    whole = emit.whole(num_words, unroll)
    sums = emit.loop(_I64(0), whole, unroll, sums, steps)
    sums = emit.loop(whole, num_words, 1, sums, step) if unroll > 1 else sums
    for m in range(rows):
        for i, offset in enumerate(offsets):
            total = sums[m * len(offsets) + i]
            floats = total if kind == _FLOATS else builder.sitofp(total, _FLOATS)
            emit.store(floats, emit.at(out, builder.mul(stride, _I64(m)), offset))


@intrinsic
def multiply(typing, words, starts, row, rows, panels, panel, following, out, out_row, out_column):
    """Multiply ``rows`` rows of words, (T, W), from ``row`` on with one panel of (P, W, PANEL, numbers per word).

    See ``_panel_ir.multiply``; ``words`` and ``starts``, (T,), are float32 arrays of bits; ``out`` receives float32.
    """
    signature = types.void(words, starts, row, rows, panels, panel, following, out, out_row, out_column)

    def codegen(context, builder, sig, args):
        emit = Emitter(builder)
        words, starts, panels, out = (context.make_array(sig.args[i])(context, builder, args[i]) for i in (0, 1, 4, 7))
        row, rows, panel, following, out_row, out_column = (args[i] for i in (2, 3, 5, 6, 8, 9))
        num_words = builder.extract_value(words.shape, 1)
        first_row, first_start = emit.at(words.data, builder.mul(row, num_words)), emit.at(starts.data, row)
        all_weights, panel_size = builder.bitcast(panels.data, _I32.as_pointer()), builder.mul(num_words, _I64(PANEL))
        weights, later = (emit.at(all_weights, builder.mul(i, panel_size)) for i in (panel, following))
        stride = builder.extract_value(out.shape, 1)
        first_out = emit.at(out.data, builder.mul(out_row, stride), out_column)
        end = builder.append_basic_block("end")
        switch = builder.switch(rows, end)
        for m in range(1, MAX_ROWS + 1):
            case = builder.append_basic_block(f"dot_{m}")
            switch.add_case(_I64(m), case)
            builder.position_at_end(case)
            _tile(emit, sig.args[4].dtype, m, first_row, first_start, weights, later, num_words, first_out, stride)
            builder.branch(end)
        builder.position_at_end(end)
        return context.get_dummy_value()

    return signature, codegen


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

    A function of its own, because where ``parallel`` is on, Numba would fill zeros in a parallel region of its own.
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
def _columns(words, starts, factors, panels, scale, bias, activation, residual, y, thread, threads, claimed):
    """Compute the columns of pieces, for all rows: as ``_panel._columns``, then times the rows' factors."""
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
            _finish(sums, scale, bias, activation, residual, t, first)
        first_panel, last_panel = next_first, next_last


def _columns_types(panels):
    """Return the types of the arguments of :func:`_columns`, for panels of a Numba dtype."""
    inputs = _MATRIX, _VECTOR, _VECTOR, types.Array(panels, 4, "C")
    work = types.int64, types.int64, types.Array(types.int64, 1, "C")
    return *inputs, _VECTOR, _VECTOR, types.int64, _MATRIX, _MATRIX, *work


call_columns = by_address(lambda given: _columns_types(given[3].dtype))


@functools.cache
def columns_for(dtype):
    """Return the address of :func:`_columns` for panels of a NumPy dtype."""
    return address_of(_columns, *_columns_types(from_dtype(dtype)))


@jit(parallel=True, nogil=True)
def linear(
    x, norm_weight, norm_bias, epsilon, columns, panels, scale, bias, activation, residual, num_outputs, max_threads
):  # fmt: skip
    """Return activation(norm(x) @ W + bias) + residual, (T, N), for ``panels`` of (P, W, PANEL, numbers per word).

    As ``_panel.linear``, with norm(x) rounded to the weights' format.
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
