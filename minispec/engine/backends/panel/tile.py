"""A tile of a matrix product: sums that stay in registers from the first k to the last."""

from __future__ import annotations

from numba import types
from numba.extending import intrinsic

from minispec.engine.backends.panel.emit import (
    I64,
    ISA_HERE,
    ITEM_BYTES,
    LANES,
    LINE_BYTES,
    MAX_ROWS,
    PANEL,
    ZEROS,
    Emitter,
)

AT_ONCE = tuple(
    (1, *(ISA_HERE.panels_at_once(rows, item_bytes) for rows in range(1, MAX_ROWS + 1))) for item_bytes in (1, 2, 3, 4)
)
"""How many panels a tile takes together: entry [b - 1][m] is for numbers of b bytes and m rows."""
GROUP = AT_ONCE[0][1]
_PREFETCH_BYTES = 16_384
"""How many bytes ahead a tile prefetches weights, over all its panels. The hardware's own prefetching stops at the end
of a page and of a panel, and then tiles of several rows would not overlap arithmetic with reading."""


def lines_ahead(emit, k, steps, panels, panel_size, weights, following, item_bytes):
    """Return, for each of the steps from k on, where the cache lines are that it should ask for.

    They are ahead in the tile's panels; after the end of a panel, in the one at its place in the ``following`` tile.
    """
    builder = emit.builder
    later = builder.add(builder.mul(k, I64(PANEL)), I64(_PREFETCH_BYTES // (panels * item_bytes)))
    beyond = builder.icmp_signed(">=", later, panel_size)
    later = builder.select(beyond, builder.sub(later, panel_size), later)
    first = emit.at(builder.select(beyond, following, weights), later)
    streams = [emit.at(first, builder.mul(panel_size, I64(p))) for p in range(panels)]
    lines = range(0, steps * PANEL, LINE_BYTES // item_bytes)
    return [[(stream, line) for stream in streams for line in lines if line // PANEL == u] for u in range(steps)]


def emit_tile(emit, dtype, rows, panels, x, weights, following, num_inputs, out, stride):
    """Emit one tile: ``out[m, p, :] = sum over k of x[m, k] * weights[p, k, :]``, each sum one chain over k.

    ``x`` has ``num_inputs`` elements per row, ``out`` ``stride``; the next tile's weights are at ``following``.
    """
    builder = emit.builder
    x_rows = [emit.at(x, builder.mul(num_inputs, I64(m))) for m in range(rows)]
    panel_size = builder.mul(num_inputs, I64(PANEL))
    streams = [emit.at(weights, builder.mul(panel_size, I64(p))) for p in range(panels)]
    vectors = [(p, v * LANES) for p in range(panels) for v in range(ISA_HERE.vectors)]

    def step(k, sums, lines=()):
        for place in lines:
            emit.prefetch(emit.at(*place))
        line = builder.mul(k, I64(PANEL))
        columns = [emit.load_wide(emit.at(streams[p], line, offset), dtype) for p, offset in vectors]
        added = []
        for m in range(rows):
            value = emit.splat(builder.load(emit.at(x_rows[m], k)))
            added += [emit.fma(value, column, sums[m * len(vectors) + i]) for i, column in enumerate(columns)]
        return added

    def steps(k, sums):
        lines = lines_ahead(emit, k, unroll, panels, panel_size, weights, following, ITEM_BYTES[dtype])
        for u in range(unroll):
            sums = step(builder.add(k, I64(u)), sums, lines[u])
        return sums

    # short steps are grouped, so that the loop itself costs little; long ones would make LLVM run out of registers
    unroll = 4 if rows < 3 else 2 if rows * len(vectors) < 16 else 1
    whole = emit.whole(num_inputs, unroll)
    sums = [ZEROS] * (rows * len(vectors))
    sums = emit.loop(I64(0), whole, unroll, sums, steps)
    if unroll > 1:
        sums = emit.loop(whole, num_inputs, 1, sums, step)
    for m in range(rows):
        for i, (p, offset) in enumerate(vectors):
            emit.store(sums[m * len(vectors) + i], emit.at(out, builder.mul(stride, I64(m)), p * PANEL + offset))


@intrinsic
def multiply(typing, x, row, rows, panels, panel, count, following, out, out_row, out_column):
    """Multiply ``rows`` rows of x, (T, K), from ``row`` on with ``count`` panels of (P, K, PANEL) from ``panel`` on.

    ``rows`` is 1..MAX_ROWS, ``count`` is 1 or ``panels_at_once``; the sums go to ``out``, a matrix with room for whole
    panels, from (out_row, out_column) on. Panel ``following``, which may lie beyond the last, is asked for ahead.
    """
    signature = types.void(x, row, rows, panels, panel, count, following, out, out_row, out_column)

    def codegen(context, builder, sig, args):
        emit, dtype = Emitter(builder), sig.args[3].dtype
        x_array, panels_array, out_array = (
            context.make_array(sig.args[i])(context, builder, args[i]) for i in (0, 3, 7)
        )
        row, rows, panel, count, following, out_row, out_column = (args[i] for i in (1, 2, 4, 5, 6, 8, 9))
        num_inputs = builder.extract_value(x_array.shape, 1)
        first_x = emit.at(x_array.data, builder.mul(row, num_inputs))
        stride = builder.extract_value(out_array.shape, 1)
        first_out = emit.at(out_array.data, builder.mul(out_row, stride), out_column)
        panel_size = builder.mul(num_inputs, I64(PANEL))
        weights, later = (emit.at(panels_array.data, builder.mul(i, panel_size)) for i in (panel, following))
        end = builder.append_basic_block("end")
        # one case per shape of tile, numbered rows * (GROUP + 1) + panels
        switch = builder.switch(builder.add(builder.mul(rows, I64(GROUP + 1)), count), end)
        for m in range(1, MAX_ROWS + 1):
            for together in sorted({1, AT_ONCE[ITEM_BYTES[dtype] - 1][m]}):
                case = builder.append_basic_block(f"tile_{m}_{together}")
                switch.add_case(I64(m * (GROUP + 1) + together), case)
                builder.position_at_end(case)
                emit_tile(emit, dtype, m, together, first_x, weights, later, num_inputs, first_out, stride)
                builder.branch(end)
        builder.position_at_end(end)
        return context.get_dummy_value()

    return signature, codegen
