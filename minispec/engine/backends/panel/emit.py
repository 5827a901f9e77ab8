"""The words that loops of LLVM IR are made of: vectors, memory, and a loop whose sums stay in registers.

Plain Numba cannot say this: its local arrays live in memory, and whether LLVM's vectoriser lifts them into registers
changes with the number of rows. So a few loops are written instruction by instruction: ``tile`` (matrix products),
``sums`` (attention) and ``bits`` (single numbers). The rest is plain Numba. Every loop takes its sums in one order that
depends on K, D or the number of slots, never on what else is computed at the same time.

Slow twins: ``_kernels.matmul`` and ``_kernels.attention``.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types

from minispec.engine.backends.panel.isa import AVX2, find_host_isa

ISA_HERE = find_host_isa() or AVX2  # without one, nothing of this folder is ever compiled
LANES = ISA_HERE.lanes
PANEL = ISA_HERE.panel
MAX_ROWS = ISA_HERE.max_rows

I64, I32, I8, F32 = ir.IntType(64), ir.IntType(32), ir.IntType(8), ir.FloatType()
VECTOR = ir.VectorType(F32, LANES)
ZEROS = ir.Constant(VECTOR, [0.0] * LANES)
LINE_BYTES = 64
ITEM_BYTES = {types.float32: 4, types.int16: 2, types.uint16: 2, types.int8: 1}
SLOTS_AHEAD = 32
"""How many slots ahead attention prefetches keys and values; ``firsts`` has as many spare elements at its end."""


class Emitter:
    """A builder with the few words the loops below are made of."""

    def __init__(self, builder: ir.IRBuilder) -> None:
        self.builder = builder

    def at(self, pointer, *offsets):
        """Return ``pointer + sum(offsets)``, in elements."""
        for offset in offsets:
            pointer = self.builder.gep(pointer, [offset if isinstance(offset, ir.Value) else I64(offset)])
        return pointer

    def load(self, pointer: ir.Value, element: ir.Type) -> ir.Value:
        """Load a vector that need not be aligned."""
        vector = ir.VectorType(element, LANES)
        value = self.builder.load(self.builder.bitcast(pointer, vector.as_pointer()))
        value.align = 1
        return value

    def load_wide(self, pointer: ir.Value, dtype: types.Type) -> ir.Value:
        """Load a vector of numbers of a Numba dtype, as float32."""
        return self.widen(self.load(pointer, pointer.type.pointee), dtype)

    def widen(self, value: ir.Value, dtype: types.Type) -> ir.Value:
        """Return a number, or a vector of some, as float32; see ``formats`` for what the bits mean."""
        builder = self.builder

        def as_many(element: ir.Type) -> ir.Type:
            return ir.VectorType(element, value.type.count) if isinstance(value.type, ir.VectorType) else element

        wide, floats = as_many(I32), as_many(F32)
        if dtype == types.float32:
            return value
        if dtype == types.int16:  # the bits of a float16, a type that Numba lacks on a CPU
            return builder.fpext(builder.bitcast(value, as_many(ir.HalfType())), floats)
        if dtype == types.uint16:  # bfloat16: the upper half of a float32
            sixteen = ir.Constant(wide, [16] * LANES if isinstance(wide, ir.VectorType) else 16)
            return builder.bitcast(builder.shl(builder.zext(value, wide), sixteen), floats)
        return builder.sitofp(builder.sext(value, wide), floats)

    def prefetch(self, pointer, locality=3):
        """Ask for the cache line at ``pointer``, which may lie outside the array: a prefetch never faults.

        ``locality`` is 3 for the nearest cache and 2 for the next, which can wait for more lines at a time.
        """
        kind = ir.FunctionType(ir.VoidType(), [I8.as_pointer(), I32, I32, I32])
        pointer = self.builder.bitcast(pointer, I8.as_pointer())
        self.builder.call(self._declare("llvm.prefetch.p0", kind), [pointer, I32(0), I32(locality), I32(1)])

    def prefetch_vectors(self, source, firsts, i, offset, number, dtype):
        """Ask for ``number`` vectors at ``source.flat[firsts[i + SLOTS_AHEAD] + offset]``, into the second cache."""
        first = self.builder.load(self.at(firsts.data, i, SLOTS_AHEAD))
        for line in range(0, number * LANES, LINE_BYTES // ITEM_BYTES[dtype]):
            self.prefetch(self.at(source.data, first, offset, line), locality=2)

    def store(self, value, pointer):
        """Store a vector where it need not be aligned."""
        self.builder.store(value, self.builder.bitcast(pointer, value.type.as_pointer())).align = 1

    def splat(self, scalar):
        """Return a vector with ``scalar`` in every lane."""
        undefined = ir.Constant(VECTOR, ir.Undefined)
        first = self.builder.insert_element(undefined, scalar, I32(0))
        return self.builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(I32, LANES), [0] * LANES))

    def fma(self, a, b, c):
        """Return a * b + c, rounded once; scalars or vectors."""
        name = f"llvm.fma.v{LANES}f32" if a.type == VECTOR else "llvm.fma.f32"
        return self.builder.call(self._declare(name, ir.FunctionType(a.type, [a.type] * 3)), [a, b, c])

    def sum_of_lanes(self, vector):
        """Add the lanes up, in a tree; LLVM chooses its shape once, for the type."""
        add = self._declare(f"llvm.vector.reduce.fadd.v{LANES}f32", ir.FunctionType(F32, [F32, VECTOR]))
        return self.builder.call(add, [ir.Constant(F32, -0.0), vector], fastmath=("reassoc",))

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
        return self.builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(I32, len(lanes)), lanes))

    def loop(self, start, stop, step, carried, body):
        """Emit ``for i in range(start, stop, step): carried = body(i, carried)`` and return what is carried out.

        ``start`` is known when this code runs; ``(stop - start)`` must be a multiple of ``step``, and may be 0.
        """
        builder = self.builder
        before = builder.block
        head, inside, after = (builder.append_basic_block(name) for name in ("head", "inside", "after"))
        builder.branch(head)
        builder.position_at_end(head)
        index = builder.phi(I64)
        index.add_incoming(start, before)
        values = [builder.phi(value.type) for value in carried]
        for phi, value in zip(values, carried, strict=True):
            phi.add_incoming(value, before)
        builder.cbranch(builder.icmp_signed("<", index, stop), inside, after)
        builder.position_at_end(inside)
        following = body(index, values)
        index.add_incoming(builder.add(index, I64(step)), builder.block)
        for phi, value in zip(values, following, strict=True):
            phi.add_incoming(value, builder.block)
        builder.branch(head)
        builder.position_at_end(after)
        return values

    def whole(self, count, size):
        """Return the largest multiple of ``size`` (a power of two) up to ``count``."""
        return self.builder.and_(count, I64(-size))

    def _declare(self, name, kind):
        module = self.builder.module
        return module.globals.get(name) or ir.Function(module, kind, name)
