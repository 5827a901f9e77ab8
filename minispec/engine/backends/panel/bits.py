"""Single numbers: their bits, weights as they are kept, addresses, and a counter that threads share."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from minispec.engine.backends.panel.emit import F32, I8, I32, I64, Emitter

I16, LARGEST_HALF = ir.IntType(16), 65504.0


@intrinsic
def claim(typing, counter):
    """Add 1 to ``counter[0]``, an int64, and return what it was, in one step that no other thread can divide."""
    signature = types.int64(counter)

    def codegen(context, builder, sig, args):
        array = context.make_array(sig.args[0])(context, builder, args[0])
        return builder.atomic_rmw("add", array.data, I64(1), "monotonic")

    return signature, codegen


@intrinsic
def pointer(typing, address):
    """Return an address, an int64, as a pointer."""
    signature = types.voidptr(types.int64)
    return signature, lambda context, builder, sig, args: builder.inttoptr(args[0], I8.as_pointer())


@intrinsic
def widen(typing, weight):
    """Return one weight, as it is kept, as a float32; see ``formats`` for what the bits mean."""

    def codegen(context, builder, sig, args):
        return Emitter(builder).widen(args[0], sig.args[0])

    return types.float32(weight), codegen


@intrinsic
def narrow(typing, value, array):
    """Return a float32 as a number of an array: float32, or the bits of a float16 in an int16.

    A float16 is rounded to nearest, ties to even, and saturates: see ``formats.encode``.
    """
    kept = array.dtype

    def codegen(context, builder, sig, args):
        value = args[0]
        if kept == types.float32:
            return value
        for sign, beyond in ((1.0, ">"), (-1.0, "<")):
            largest = ir.Constant(F32, sign * LARGEST_HALF)
            value = builder.select(builder.fcmp_ordered(beyond, value, largest), largest, value)
        return builder.bitcast(builder.fptrunc(value, ir.HalfType()), I16)

    return kept(types.float32, array), codegen


@intrinsic
def bits_of(typing, value):
    """Return the bits of a float32 as an int32."""
    return types.int32(types.float32), lambda context, builder, sig, args: builder.bitcast(args[0], I32)


@intrinsic
def from_bits(typing, bits):
    """Return the float32 with these bits, an int32."""
    return types.float32(types.int32), lambda context, builder, sig, args: builder.bitcast(args[0], F32)
