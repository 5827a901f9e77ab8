"""Functions that are compiled once and called by their address, from compiled code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.errors import TypingError
from numba.extending import intrinsic


def address_of(function: Callable[..., Any], *arguments: types.Type) -> int:
    """Return where a compiled function that returns nothing begins, compiled for some Numba types of arguments.

    Numba compiles a function again within each of its callers, with ``parallel=True`` three times each. What is long to
    compile and seldom called is compiled once instead, and called :func:`by_address`.
    """
    result = function.get_compile_result(types.void(*arguments))  # type: ignore[attr-defined]
    return int(result.library.get_pointer_to_function(result.fndesc.llvm_cfunc_wrapper_name))


def by_address(expected: Callable[[tuple[Any, ...]], Sequence[types.Type]]) -> Any:
    """Return what calls, in compiled code, the function at an address, ``call(address, arguments)``.

    The function must not raise: its caller could not be told.

    Parameters
    ----------
    expected : callable
        Takes the Numba types of the arguments and returns those that :func:`address_of` was given. Numbers are
        converted to them; an array of another type is refused when the caller is compiled, with a TypingError.
    """

    @intrinsic
    def call(typing, address, arguments):  # type: ignore[no-untyped-def]
        kinds = [
            _same_array(given, wanted) if isinstance(wanted, types.Array) else wanted
            for given, wanted in zip(arguments, expected(tuple(arguments)), strict=True)
        ]

        def codegen(context, builder, signature, values):  # type: ignore[no-untyped-def]
            address, packed = values
            unpacked = [builder.extract_value(packed, i) for i in range(len(kinds))]
            kind = ir.FunctionType(context.get_value_type(types.void), [context.get_value_type(each) for each in kinds])
            builder.call(builder.inttoptr(address, kind.as_pointer()), unpacked)
            return context.get_dummy_value()

        return types.void(types.int64, types.Tuple(kinds)), codegen

    return call


def _same_array(given: Any, wanted: types.Array) -> types.Array:
    """Return the type of an argument, which may be read-only where the one wanted is not."""
    if not isinstance(given, types.Array) or given.copy(readonly=False) != wanted:
        raise TypingError(f"an argument is {given}; it must be {wanted}")
    return given
