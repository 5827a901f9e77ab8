"""Beside the course: the inner loops of the panel backend as LLVM IR, sums that stay in registers from first k to last.

Plain Numba cannot say this: its local arrays live in memory, and whether LLVM's vectoriser lifts them into registers
changes with the number of rows. So three loops are written instruction by instruction; the rest is plain Numba
(``_panel``). Every loop takes its sums in one order that depends on K, D or the number of slots, never on what else is
computed at the same time.

Slow twins: ``_kernels.matmul`` and ``_kernels.attention``.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from minispec.backends.isa import AVX2, host_isa

ISA_HERE = host_isa() or AVX2  # without one, nothing of this module is ever compiled
LANES = ISA_HERE.lanes
PANEL = ISA_HERE.panel
MAX_ROWS = ISA_HERE.max_rows
AT_ONCE = tuple(
    (1, *(ISA_HERE.panels_at_once(rows, item_bytes) for rows in range(1, MAX_ROWS + 1))) for item_bytes in (1, 2, 3, 4)
)
"""Panels a tile takes together: of numbers of 1, 2, (3,) 4 bytes, for so many rows."""
GROUP = AT_ONCE[0][1]
MAX_VECTORS = 64 // LANES + 1
"""Vectors of a head, at most, for :func:`scores`: heads of 64 numbers, and a little more."""

_I64, _I32, _I8 = ir.IntType(64), ir.IntType(32), ir.IntType(8)
_F32 = ir.FloatType()
_VECTOR = ir.VectorType(_F32, LANES)
_BYTES = {types.float32: 4, types.int16: 2, types.uint16: 2, types.int8: 1}
_LINE_BYTES = 64
_PREFETCH_BYTES = 16_384
"""How far ahead weights are asked for, over the panels of a tile. Without it, tiles of several rows do not overlap
their arithmetic with reading: the hardware's own prefetching stops at the end of a page and of a panel."""
SLOTS_AHEAD = 32
"""How far ahead attention asks for keys and values: ``firsts`` has so many elements, of any value, after its last."""


class Emitter:
    """A builder with the few words the loops below are made of."""

    def __init__(self, builder: ir.IRBuilder) -> None:
        self.builder = builder

    def at(self, pointer, *offsets):
        """Return ``pointer + sum(offsets)``, in elements."""
        for offset in offsets:
            pointer = self.builder.gep(pointer, [offset if isinstance(offset, ir.Value) else _I64(offset)])
        return pointer

    def load(self, pointer: ir.Value, element: ir.Type) -> ir.Value:
        """Load a vector that need not be aligned."""
        vector = ir.VectorType(element, LANES)
        value = self.builder.load(self.builder.bitcast(pointer, vector.as_pointer()))
        value.align = 1
        return value

    def prefetch(self, pointer, locality=3):
        """Ask for the cache line at ``pointer``, which may lie outside the array: a prefetch never faults.

        ``locality`` is 3 for the nearest cache and 2 for the next, which can wait for more lines at a time.
        """
        kind = ir.FunctionType(ir.VoidType(), [_I8.as_pointer(), _I32, _I32, _I32])
        pointer = self.builder.bitcast(pointer, _I8.as_pointer())
        self.builder.call(self._declared("llvm.prefetch.p0", kind), [pointer, _I32(0), _I32(locality), _I32(1)])

    def prefetch_vectors(self, source, firsts, i, offset, number):
        """Ask for ``number`` vectors at ``source.flat[firsts[i + SLOTS_AHEAD] + offset]``, into the second cache."""
        first = self.builder.load(self.at(firsts.data, i, SLOTS_AHEAD))
        for line in range(0, number * LANES, _LINE_BYTES // 4):
            self.prefetch(self.at(source.data, first, offset, line), locality=2)

    def store(self, value, pointer):
        """Store a vector where it need not be aligned."""
        self.builder.store(value, self.builder.bitcast(pointer, value.type.as_pointer())).align = 1

    def splat(self, scalar):
        """Return a vector with ``scalar`` in every lane."""
        undefined = ir.Constant(_VECTOR, ir.Undefined)
        first = self.builder.insert_element(undefined, scalar, _I32(0))
        return self.builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(_I32, LANES), [0] * LANES))

    def fma(self, a, b, c):
        """Return a * b + c, rounded once; scalars or vectors."""
        name = f"llvm.fma.v{LANES}f32" if a.type == _VECTOR else "llvm.fma.f32"
        return self.builder.call(self._declared(name, ir.FunctionType(a.type, [a.type] * 3)), [a, b, c])

    def sum_of_lanes(self, vector):
        """Add the lanes up, in a tree; LLVM chooses its shape once, for the type."""
        add = self._declared(f"llvm.vector.reduce.fadd.v{LANES}f32", ir.FunctionType(_F32, [_F32, _VECTOR]))
        return self.builder.call(add, [ir.Constant(_F32, -0.0), vector], fastmath=("reassoc",))

    def sums_of_lanes(self, vectors):
        """Add the lanes of four vectors up, each in the same tree, and return the four sums as a vector.

        The upper half of the lanes is added to the lower one until one lane is left. As long as there are several
        vectors, the halves of two make one.
        """
        lanes = LANES
        while lanes > 1:
            halves = (vectors[::2], vectors[1::2]) if len(vectors) > 1 else (vectors, vectors)
            pairs = list(zip(*halves, strict=True))
            low = [each * lanes + i for each in range(4 // len(pairs)) for i in range(lanes // 2)]
            high = [lane + lanes // 2 for lane in low]
            vectors = [self.builder.fadd(self._shuffle(a, b, low), self._shuffle(a, b, high)) for a, b in pairs]
            lanes //= 2
        return vectors[0]

    def _shuffle(self, a, b, lanes):
        """Return some lanes of two vectors, numbered one after the other."""
        return self.builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(_I32, len(lanes)), lanes))

    def loop(self, start, stop, step, carried, body):
        """Emit ``for i in range(start, stop, step): carried = body(i, carried)`` and return what is carried out.

        ``start`` is known when this code runs; ``(stop - start)`` must be a multiple of ``step``, and may be 0.
        """
        builder = self.builder
        before = builder.block
        head, inside, after = (builder.append_basic_block(name) for name in ("head", "inside", "after"))
        builder.branch(head)
        builder.position_at_end(head)
        index = builder.phi(_I64)
        index.add_incoming(start, before)
        values = [builder.phi(value.type) for value in carried]
        for phi, value in zip(values, carried, strict=True):
            phi.add_incoming(value, before)
        builder.cbranch(builder.icmp_signed("<", index, stop), inside, after)
        builder.position_at_end(inside)
        following = body(index, values)
        index.add_incoming(builder.add(index, _I64(step)), builder.block)
        for phi, value in zip(values, following, strict=True):
            phi.add_incoming(value, builder.block)
        builder.branch(head)
        builder.position_at_end(after)
        return values

    def whole(self, count, size):
        """Return the largest multiple of ``size`` (a power of two) up to ``count``."""
        return self.builder.and_(count, _I64(-size))

    def _declared(self, name, kind):
        module = self.builder.module
        return module.globals.get(name) or ir.Function(module, kind, name)


def _weights(emit, pointer, dtype):
    """Load one vector of weights of a Numba dtype and widen it to float32; see ``formats`` for what the bits mean."""
    builder, wide = emit.builder, ir.VectorType(_I32, LANES)
    if dtype == types.float32:
        return emit.load(pointer, _F32)
    if dtype == types.int16:  # the bits of a float16, a type that Numba lacks on a CPU
        return builder.fpext(emit.load(pointer, ir.HalfType()), _VECTOR)
    if dtype == types.uint16:  # bfloat16: the upper half of a float32
        bits = builder.zext(emit.load(pointer, ir.IntType(16)), wide)
        return builder.bitcast(builder.shl(bits, ir.Constant(wide, [16] * LANES)), _VECTOR)
    return builder.sitofp(builder.sext(emit.load(pointer, ir.IntType(8)), wide), _VECTOR)


def lines_ahead(emit, k, steps, panels, panel_size, weights, following, item_bytes):
    """Return, for each of the steps from k on, where the cache lines are that it should ask for.

    They are ahead in the tile's panels; after the end of a panel, in the one at its place in the ``following`` tile.
    """
    builder = emit.builder
    later = builder.add(builder.mul(k, _I64(PANEL)), _I64(_PREFETCH_BYTES // (panels * item_bytes)))
    beyond = builder.icmp_signed(">=", later, panel_size)
    later = builder.select(beyond, builder.sub(later, panel_size), later)
    first = emit.at(builder.select(beyond, following, weights), later)
    streams = [emit.at(first, builder.mul(panel_size, _I64(p))) for p in range(panels)]
    lines = range(0, steps * PANEL, _LINE_BYTES // item_bytes)
    return [[(stream, line) for stream in streams for line in lines if line // PANEL == u] for u in range(steps)]


def _tile(emit, dtype, rows, panels, x, weights, following, num_inputs, out, stride):
    """Emit one tile: ``out[m, p, :] = sum over k of x[m, k] * weights[p, k, :]``, each sum one chain over k.

    ``x`` has ``num_inputs`` elements per row, ``out`` ``stride``; the next tile's weights are at ``following``.
    """
    builder = emit.builder
    x_rows = [emit.at(x, builder.mul(num_inputs, _I64(m))) for m in range(rows)]
    panel_size = builder.mul(num_inputs, _I64(PANEL))
    streams = [emit.at(weights, builder.mul(panel_size, _I64(p))) for p in range(panels)]
    vectors = [(p, v * LANES) for p in range(panels) for v in range(ISA_HERE.vectors)]

    def step(k, sums, lines=()):
        for place in lines:
            emit.prefetch(emit.at(*place))
        line = builder.mul(k, _I64(PANEL))
        columns = [_weights(emit, emit.at(streams[p], line, offset), dtype) for p, offset in vectors]
        added = []
        for m in range(rows):
            value = emit.splat(builder.load(emit.at(x_rows[m], k)))
            added += [emit.fma(value, column, sums[m * len(vectors) + i]) for i, column in enumerate(columns)]
        return added

    def steps(k, sums):
        lines = lines_ahead(emit, k, unroll, panels, panel_size, weights, following, _BYTES[dtype])
        for u in range(unroll):
            sums = step(builder.add(k, _I64(u)), sums, lines[u])
        return sums

    # short steps are grouped, so that the loop itself costs little; long ones would make LLVM run out of registers
    unroll = 4 if rows < 3 else 2 if rows * len(vectors) < 16 else 1
    whole = emit.whole(num_inputs, unroll)
    sums = [ir.Constant(_VECTOR, [0.0] * LANES)] * (rows * len(vectors))
    sums = emit.loop(_I64(0), whole, unroll, sums, steps)
    if unroll > 1:
        sums = emit.loop(whole, num_inputs, 1, sums, step)
    for m in range(rows):
        for i, (p, offset) in enumerate(vectors):
            emit.store(sums[m * len(vectors) + i], emit.at(out, builder.mul(stride, _I64(m)), p * PANEL + offset))


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
        panel_size = builder.mul(num_inputs, _I64(PANEL))
        weights, later = (emit.at(panels_array.data, builder.mul(i, panel_size)) for i in (panel, following))
        end = builder.append_basic_block("end")
        # one case per shape of tile, numbered rows * (GROUP + 1) + panels
        switch = builder.switch(builder.add(builder.mul(rows, _I64(GROUP + 1)), count), end)
        for m in range(1, MAX_ROWS + 1):
            for together in sorted({1, AT_ONCE[_BYTES[dtype] - 1][m]}):
                case = builder.append_basic_block(f"tile_{m}_{together}")
                switch.add_case(_I64(m * (GROUP + 1) + together), case)
                builder.position_at_end(case)
                _tile(emit, dtype, m, together, first_x, weights, later, num_inputs, first_out, stride)
                builder.branch(end)
        builder.position_at_end(end)
        return context.get_dummy_value()

    return signature, codegen


@intrinsic
def claim(typing, counter):
    """Add 1 to ``counter[0]``, an int64, and return what it was, in one step that no other thread can divide."""
    signature = types.int64(counter)

    def codegen(context, builder, sig, args):
        array = context.make_array(sig.args[0])(context, builder, args[0])
        return builder.atomic_rmw("add", array.data, _I64(1), "monotonic")

    return signature, codegen


@intrinsic
def dot(typing, a, a_first, b, b_first, size):
    """Return the sum over i < size of ``a.flat[a_first + i] * b.flat[b_first + i]``, of contiguous float32 arrays.

    Four vectors at a time, then one, then single elements.
    """
    signature = types.float32(a, a_first, b, b_first, size)

    def codegen(context, builder, sig, args):
        emit = Emitter(builder)
        a, b = (emit.at(context.make_array(sig.args[i])(context, builder, args[i]).data, args[i + 1]) for i in (0, 2))
        size = args[4]
        zero = ir.Constant(_VECTOR, [0.0] * LANES)

        def product(i, total):
            return emit.fma(emit.load(emit.at(a, i), _F32), emit.load(emit.at(b, i), _F32), total)

        def four(i, totals):
            return [product(builder.add(i, _I64(j * LANES)), total) for j, total in enumerate(totals)]

        def single(i, totals):
            return [emit.fma(builder.load(emit.at(a, i)), builder.load(emit.at(b, i)), totals[0])]

        fours, ones = emit.whole(size, 4 * LANES), emit.whole(size, LANES)
        s = emit.loop(_I64(0), fours, 4 * LANES, [zero] * 4, four)
        total = builder.fadd(builder.fadd(s[0], s[1]), builder.fadd(s[2], s[3]))
        (total,) = emit.loop(fours, ones, LANES, [total], lambda i, totals: [product(i, totals[0])])
        (result,) = emit.loop(ones, size, 1, [emit.sum_of_lanes(total)], single)
        return result

    return signature, codegen


@intrinsic
def scores(typing, queries, query_first, keys, firsts, offset, start, stop, size, out):
    """Set ``out[i]``, start <= i < stop, to the dot product of a query with key i, both of ``size`` contiguous numbers.

    The query begins at ``queries.flat[query_first]``, key i at ``keys.flat[firsts[i] + offset]``. ``size`` must be a
    multiple of LANES up to ``MAX_VECTORS`` of them: then the query stays in registers, and four keys are under way at a
    time. For other sizes there is :func:`dot`.
    """
    signature = types.void(queries, query_first, keys, firsts, offset, start, stop, size, out)

    def codegen(context, builder, sig, args):
        emit = Emitter(builder)
        queries, keys, firsts, out = (context.make_array(sig.args[i])(context, builder, args[i]) for i in (0, 2, 3, 8))
        query, offset, start, stop = emit.at(queries.data, args[1]), args[4], args[5], args[6]

        def against(vectors):
            parts = [emit.load(emit.at(query, v * LANES), _F32) for v in range(vectors)]

            def products(i):
                emit.prefetch_vectors(keys, firsts, i, offset, vectors)
                key = emit.at(keys.data, builder.load(emit.at(firsts.data, i)), offset)
                total = ir.Constant(_VECTOR, [0.0] * LANES)
                for v, part in enumerate(parts):
                    total = emit.fma(part, emit.load(emit.at(key, v * LANES), _F32), total)
                return total

            def four(i, carried):
                sums = emit.sums_of_lanes([products(builder.add(i, _I64(j))) for j in range(4)])
                emit.store(sums, emit.at(out.data, i))
                return carried

            def single(i, carried):
                total = products(i)  # in the tree of the others
                builder.store(builder.extract_element(emit.sums_of_lanes([total] * 4), _I32(0)), emit.at(out.data, i))
                return carried

            fours = builder.add(start, emit.whole(builder.sub(stop, start), 4))
            emit.loop(start, fours, 4, [], four)
            emit.loop(fours, stop, 1, [], single)

        end = builder.append_basic_block("end")
        switch = builder.switch(args[7], end)
        for vectors in range(1, MAX_VECTORS + 1):
            case = builder.append_basic_block(f"size_{vectors * LANES}")
            switch.add_case(_I64(vectors * LANES), case)
            builder.position_at_end(case)
            against(vectors)
            builder.branch(end)
        builder.position_at_end(end)
        return context.get_dummy_value()

    return signature, codegen


@intrinsic
def weighted_sum(typing, weights, vectors, firsts, offset, start, stop, out, out_first, size):
    """Add to ``out.flat[out_first + d]``, for d < size, ``weights[i] * vectors.flat[firsts[i] + offset + d]``.

    For start <= i < stop, one after the other: each element d is one chain, whether it is taken in one call or in
    several. The arrays are contiguous.
    """
    signature = types.void(weights, vectors, firsts, offset, start, stop, out, out_first, size)

    def codegen(context, builder, sig, args):
        emit = Emitter(builder)
        weights, vectors, firsts, out = (
            context.make_array(sig.args[i])(context, builder, args[i]) for i in (0, 1, 2, 6)
        )
        offset, start, stop, size = args[3], args[4], args[5], args[8]
        target = emit.at(out.data, args[7])

        def vector_and_weight(i):
            first = builder.load(emit.at(firsts.data, i))
            return emit.at(vectors.data, first, offset), builder.load(emit.at(weights.data, i))

        def columns(number):
            """Emit the sums of ``number`` vectors of columns from d on."""

            def at(d, carried):
                def add(i, totals):
                    emit.prefetch_vectors(vectors, firsts, i, builder.add(offset, d), number)
                    source, weight = vector_and_weight(i)
                    weight = emit.splat(weight)
                    return [
                        emit.fma(weight, emit.load(emit.at(source, d, j * LANES), _F32), total)
                        for j, total in enumerate(totals)
                    ]

                sums = [emit.load(emit.at(target, d, j * LANES), _F32) for j in range(number)]
                for j, total in enumerate(emit.loop(start, stop, 1, sums, add)):
                    emit.store(total, emit.at(target, d, j * LANES))
                return carried

            return at

        def column(d, carried):
            def add(i, totals):
                source, weight = vector_and_weight(i)
                return [emit.fma(weight, builder.load(emit.at(source, d)), totals[0])]

            (total,) = emit.loop(start, stop, 1, [builder.load(emit.at(target, d))], add)
            builder.store(total, emit.at(target, d))
            return carried

        fours, ones = emit.whole(size, 4 * LANES), emit.whole(size, LANES)
        emit.loop(_I64(0), fours, 4 * LANES, [], columns(4))
        emit.loop(fours, ones, LANES, [], columns(1))
        emit.loop(ones, size, 1, [], column)
        return context.get_dummy_value()

    return signature, codegen


@intrinsic
def pointer(typing, address):
    """Return an address, an int64, as a pointer."""
    signature = types.voidptr(types.int64)
    return signature, lambda context, builder, sig, args: builder.inttoptr(args[0], _I8.as_pointer())


@intrinsic
def widen(typing, weight):
    """Return one weight, as it is kept, as a float32; see ``formats`` for what the bits mean."""

    def codegen(context, builder, sig, args):
        (dtype,), (value,) = sig.args, args
        if dtype == types.float32:
            return value
        if dtype == types.int16:
            return builder.fpext(builder.bitcast(value, ir.HalfType()), _F32)
        if dtype == types.uint16:
            return builder.bitcast(builder.shl(builder.zext(value, _I32), _I32(16)), _F32)
        return builder.sitofp(value, _F32)

    return types.float32(weight), codegen


@intrinsic
def bits_of(typing, value):
    """Return the bits of a float32 as an int32."""
    return types.int32(types.float32), lambda context, builder, sig, args: builder.bitcast(args[0], _I32)


@intrinsic
def from_bits(typing, bits):
    """Return the float32 with these bits, an int32."""
    return types.float32(types.int32), lambda context, builder, sig, args: builder.bitcast(args[0], _F32)
