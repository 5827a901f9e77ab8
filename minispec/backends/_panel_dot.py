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

from minispec.backends._panel import _MATRIX, _VECTOR, _finish, normalise, num_shares
from minispec.backends._panel_ir import (
    _LINE_BYTES,
    _PREFETCH_BYTES,
    AT_ONCE,
    GROUP,
    ISA_HERE,
    LANES,
    MAX_ROWS,
    PANEL,
    Emitter,
    bits_of,
    from_bits,
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


def _tile(emit, dtype, rows, panels, words, starts, weights, num_words, out, stride):
    """Emit one tile: ``out[m, p, :] = starts[m] + sum over w of words[m, w] . weights[p, w, :]``.

    As ``_panel_ir._tile``, in 32-bit words. ``starts`` holds the bits of sums; ``out`` has ``stride`` floats per row.
    """
    builder = emit.builder
    name, kind = _INSTRUCTIONS[dtype]
    module = builder.module
    dot = module.globals.get(name) or ir.Function(module, ir.FunctionType(kind, [kind, _WORDS, _WORDS]), name)
    rows_at = [emit.at(words, builder.mul(num_words, _I64(m))) for m in range(rows)]
    panel_size = builder.mul(num_words, _I64(PANEL))
    streams = [emit.at(weights, builder.mul(panel_size, _I64(p))) for p in range(panels)]
    vectors = [(p, v * LANES) for p in range(panels) for v in range(ISA_HERE.vectors)]

    def step(w, sums):
        line = builder.mul(w, _I64(PANEL))
        for p in range(panels):
            for offset in range(0, PANEL, _LINE_BYTES // 4):
                emit.prefetch(emit.at(streams[p], line, offset + _PREFETCH_BYTES // 4))
        columns = [emit.load(emit.at(streams[p], line, offset), _I32) for p, offset in vectors]
        following = []
        for m in range(rows):
            inputs = builder.bitcast(emit.splat(builder.load(emit.at(rows_at[m], w))), _WORDS)
            sums_of_row = sums[m * len(vectors) : (m + 1) * len(vectors)]
            following += [
                builder.call(dot, [total, column, inputs]) for total, column in zip(sums_of_row, columns, strict=True)
            ]
        return following

    def steps(w, sums):
        for u in range(unroll):
            sums = step(builder.add(w, _I64(u)), sums)
        return sums

    unroll = 4 if rows < 3 else 2 if rows < 8 else 1
    sums = []
    for m in range(rows):
        sums += [builder.bitcast(emit.splat(builder.load(emit.at(starts, m))), kind)] * len(vectors)
    whole = emit.whole(num_words, unroll)
    sums = emit.loop(_I64(0), whole, unroll, sums, steps)
    sums = emit.loop(whole, num_words, 1, sums, step) if unroll > 1 else sums
    for m in range(rows):
        for i, (p, offset) in enumerate(vectors):
            total = sums[m * len(vectors) + i]
            floats = total if kind == _FLOATS else builder.sitofp(total, _FLOATS)
            emit.store(floats, emit.at(out, builder.mul(stride, _I64(m)), p * PANEL + offset))


@intrinsic
def multiply(typing, words, starts, row, rows, panels, panel, count, out, out_row, out_column):
    """Multiply ``rows`` rows of words, (T, W), from ``row`` on with ``count`` panels, (P, W, PANEL, numbers per word).

    See ``_panel_ir.multiply``; ``words`` and ``starts``, (T,), are float32 arrays of bits; ``out`` receives float32.
    """
    signature = types.void(words, starts, row, rows, panels, panel, count, out, out_row, out_column)

    def codegen(context, builder, sig, args):
        emit = Emitter(builder)
        words, starts, panels, out = (context.make_array(sig.args[i])(context, builder, args[i]) for i in (0, 1, 4, 7))
        row, rows, panel, count = (args[i] for i in (2, 3, 5, 6))
        num_words = builder.extract_value(words.shape, 1)
        first_row, first_start = emit.at(words.data, builder.mul(row, num_words)), emit.at(starts.data, row)
        weights = builder.bitcast(panels.data, _I32.as_pointer())
        weights = emit.at(weights, builder.mul(panel, builder.mul(num_words, _I64(PANEL))))
        stride = builder.extract_value(out.shape, 1)
        first_out = emit.at(out.data, builder.mul(args[8], stride), args[9])
        end = builder.append_basic_block("end")
        # one case per shape of tile, numbered rows * (GROUP + 1) + panels
        switch = builder.switch(builder.add(builder.mul(rows, _I64(GROUP + 1)), count), end)
        for m in range(1, MAX_ROWS + 1):
            for together in sorted({1, AT_ONCE[m]}):
                case = builder.append_basic_block(f"dot_{m}_{together}")
                switch.add_case(_I64(m * (GROUP + 1) + together), case)
                builder.position_at_end(case)
                dtype = sig.args[4].dtype
                _tile(emit, dtype, m, together, first_row, first_start, weights, num_words, first_out, stride)
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
def _columns(words, starts, factors, panels, scale, bias, activation, residual, y, first_panel, last_panel):
    """Compute the columns of some panels, for all rows: as ``_panel._columns``, then times the rows' factors."""
    num_rows, num_outputs = y.shape
    num_blocks = -(-num_rows // MAX_ROWS)
    together = AT_ONCE[num_rows] if num_blocks == 1 else 1
    edge = np.empty((MAX_ROWS, PANEL), np.float32)
    panel = first_panel
    while panel < last_panel:
        first = panel * PANEL
        count = together if panel + together <= last_panel and first + together * PANEL <= num_outputs else 1
        fits = first + PANEL <= num_outputs
        for block in range(num_blocks):
            start = block * num_rows // num_blocks
            rows = (block + 1) * num_rows // num_blocks - start
            if fits:
                multiply(words, starts, start, rows, panels, panel, count, y, start, first)
            else:
                multiply(words, starts, start, rows, panels, panel, 1, edge, 0, 0)
                for m in range(rows):
                    for n in range(num_outputs - first):
                        y[start + m, first + n] = edge[m, n]
        panel += count
    first, last = first_panel * PANEL, min(last_panel * PANEL, num_outputs)
    for t in range(num_rows):
        sums = y[t, first:last]
        if factors.size:
            for n in range(last - first):
                sums[n] = sums[n] * factors[t]
        _finish(sums, scale, bias, activation, residual, t, first)


@functools.cache
def columns_for(dtype):
    """Return the address of :func:`_columns` for panels of a NumPy dtype."""
    inputs = _MATRIX, _VECTOR, _VECTOR, types.Array(from_dtype(dtype), 4, "C")
    return address_of(_columns, *inputs, _VECTOR, _VECTOR, types.int64, _MATRIX, _MATRIX, types.int64, types.int64)


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
    threads = num_shares(num_inputs * num_outputs * num_rows, num_panels, max_threads)
    if threads == 1:
        arguments = (words, starts, factors, panels, scale, bias, activation, residual, y, np.int64(0), num_panels)
        by_address(columns, arguments)
    else:
        for i in prange(threads):
            first, last = i * num_panels // threads, (i + 1) * num_panels // threads
            arguments = (words, starts, factors, panels, scale, bias, activation, residual, y, first, last)
            by_address(columns, arguments)
    return y
