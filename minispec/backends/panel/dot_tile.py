"""A tile of a product by dot-product instructions, which take two bfloat16 or four int8 numbers per 32-bit lane."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from minispec.backends.panel.emit import F32, I32, I64, ISA_HERE, LANES, MAX_ROWS, PANEL, Emitter
from minispec.backends.panel.tile import lines_ahead

_WORDS, _FLOATS = ir.VectorType(I32, LANES), ir.VectorType(F32, LANES)
_INSTRUCTIONS = {
    types.uint16: ("llvm.x86.avx512bf16.dpbf16ps.512", _FLOATS),
    types.uint8: ("llvm.x86.avx512.vpdpbusd.512", _WORDS),
}
"""For a type of weights: the instruction, and the type of its sums."""


def emit_tile(emit, dtype, rows, words, starts, weights, following, num_words, out, stride):
    """Emit one tile: ``out[m, :] = starts[m] + sum over w of words[m, w] . weights[w, :]``, of one panel.

    As ``tile.emit_tile``, in 32-bit words. ``starts`` holds the bits of sums; ``out`` has ``stride`` floats per row.
    """
    builder = emit.builder
    name, kind = _INSTRUCTIONS[dtype]
    module = builder.module
    dot = module.globals.get(name) or ir.Function(module, ir.FunctionType(kind, [kind, _WORDS, _WORDS]), name)
    rows_at = [emit.at(words, builder.mul(num_words, I64(m))) for m in range(rows)]
    panel_size = builder.mul(num_words, I64(PANEL))
    offsets = [v * LANES for v in range(ISA_HERE.vectors)]

    def step(w, sums, lines=()):
        for place in lines:
            emit.prefetch(emit.at(*place))
        line = builder.mul(w, I64(PANEL))
        columns = [emit.load(emit.at(weights, line, offset), I32) for offset in offsets]
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
            sums = step(builder.add(w, I64(u)), sums, lines[u])
        return sums

    unroll = 4 if rows < 3 else 2 if rows < 8 else 1
    sums = []
    for m in range(rows):
        sums += [builder.bitcast(emit.splat(builder.load(emit.at(starts, m))), kind)] * len(offsets)
    whole = emit.whole(num_words, unroll)
    sums = emit.loop(I64(0), whole, unroll, sums, steps)
    sums = emit.loop(whole, num_words, 1, sums, step) if unroll > 1 else sums
    for m in range(rows):
        for i, offset in enumerate(offsets):
            total = sums[m * len(offsets) + i]
            floats = total if kind == _FLOATS else builder.sitofp(total, _FLOATS)
            emit.store(floats, emit.at(out, builder.mul(stride, I64(m)), offset))


@intrinsic
def multiply(typing, words, starts, row, rows, panels, panel, following, out, out_row, out_column):
    """Multiply ``rows`` rows of words, (T, W), from ``row`` on with one panel of (P, W, PANEL, numbers per word).

    See ``tile.multiply``; ``words`` and ``starts``, (T,), are float32 arrays of bits; ``out`` receives float32.
    """
    signature = types.void(words, starts, row, rows, panels, panel, following, out, out_row, out_column)

    def codegen(context, builder, sig, args):
        emit = Emitter(builder)
        words, starts, panels, out = (context.make_array(sig.args[i])(context, builder, args[i]) for i in (0, 1, 4, 7))
        row, rows, panel, following, out_row, out_column = (args[i] for i in (2, 3, 5, 6, 8, 9))
        num_words = builder.extract_value(words.shape, 1)
        first_row, first_start = emit.at(words.data, builder.mul(row, num_words)), emit.at(starts.data, row)
        all_weights, panel_size = builder.bitcast(panels.data, I32.as_pointer()), builder.mul(num_words, I64(PANEL))
        weights, later = (emit.at(all_weights, builder.mul(i, panel_size)) for i in (panel, following))
        stride = builder.extract_value(out.shape, 1)
        first_out = emit.at(out.data, builder.mul(out_row, stride), out_column)
        end = builder.append_basic_block("end")
        switch = builder.switch(rows, end)
        for m in range(1, MAX_ROWS + 1):
            case = builder.append_basic_block(f"dot_{m}")
            switch.add_case(I64(m), case)
            builder.position_at_end(case)
            emit_tile(emit, sig.args[4].dtype, m, first_row, first_start, weights, later, num_words, first_out, stride)
            builder.branch(end)
        builder.position_at_end(end)
        return context.get_dummy_value()

    return signature, codegen
