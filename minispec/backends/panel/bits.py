"""Single numbers: their bits, weights as they are kept, addresses, and a counter that threads share."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from minispec.backends.panel.emit import F32, I8, I32, I64


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
        (dtype,), (value,) = sig.args, args
        if dtype == types.float32:
            return value
        if dtype == types.int16:
            return builder.fpext(builder.bitcast(value, ir.HalfType()), F32)
        if dtype == types.uint16:
            return builder.bitcast(builder.shl(builder.zext(value, I32), I32(16)), F32)
        return builder.sitofp(value, F32)

    return types.float32(weight), codegen


@intrinsic
def bits_of(typing, value):
    """Return the bits of a float32 as an int32."""
    return types.int32(types.float32), lambda context, builder, sig, args: builder.bitcast(args[0], I32)


@intrinsic
def from_bits(typing, bits):
    """Return the float32 with these bits, an int32."""
    return types.float32(types.int32), lambda context, builder, sig, args: builder.bitcast(args[0], F32)
