"""One way to compile: cached on disk where that is possible, in memory where it is not."""

from __future__ import annotations

import functools
import hashlib
import logging
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core.errors import TypingError
from numba.extending import intrinsic

_log = logging.getLogger(__name__)
_Function = TypeVar("_Function", bound=Callable[..., Any])

_began = time.time()
_in_memory: list[str] = []


def jit(**options: Any) -> Callable[[_Function], _Function]:
    """Return ``numba.njit(**options)`` with Numba's disk cache if it has a writable place, else without.

    Numba looks for that place when the function is *decorated* and raises RuntimeError if there is none (a read-only
    install and no writable home); that must not make the package unimportable.

    Divisions follow NumPy (0/0 is NaN): Python's rule, an exception, is a branch per element, and loops with branches
    are not vectorised.
    """
    options.setdefault("error_model", "numpy")

    def decorate(function: _Function) -> _Function:
        if numba.config.DISABLE_JIT:  # NumPy warns of numbers that machine code lets overflow in silence
            return np.errstate(over="ignore")(function)
        file = Path(function.__code__.co_filename)
        changed = _find_changed(file)
        if changed is not None:
            _log.info("compiling %s in memory: %s has changed since this process began", function.__name__, changed)
            return numba.njit(**options)(function)  # type: ignore[no-any-return]
        try:
            compiled = numba.njit(cache=True, **options)(function)
            _key_on_sources(compiled, file)
            return compiled  # type: ignore[no-any-return]
        except RuntimeError as error:
            _log.info("compiling %s in memory: %s. Set NUMBA_CACHE_DIR to a writable folder", function.__name__, error)
            _in_memory.append(function.__name__)
            return numba.njit(**options)(function)  # type: ignore[no-any-return]

    return decorate


def _key_on_sources(compiled: Any, file: Path) -> None:
    """Make the disk cache forget a function when any source near its file has changed.

    Numba looks at the file of the decorated function alone (and at the CPU, by name and features), so machine code made
    from a changed helper of another module, or from instructions emitted there, would be served for ever.
    """
    cache = getattr(compiled, "_cache", None)
    index = getattr(cache, "_cache_file", None)
    if index is None:
        return
    digest, _ = _read_sources(file.parent)
    index._source_stamp = (index._source_stamp, digest)


@functools.cache
def _read_sources(folder: Path) -> tuple[str, tuple[Path, ...]]:
    """Return the files in a folder of the package, and in the package's own, that mention Numba, and a hash of them."""
    digest, found = hashlib.sha256(), []
    for path in sorted({*folder.glob("*.py"), *Path(__file__).parent.glob("*.py")}):
        source = path.read_bytes()
        if b"numba" in source:
            digest.update(path.name.encode() + b"\0" + source)
            found.append(path)
    return digest.hexdigest(), tuple(found)


def _find_changed(file: Path) -> Path | None:
    """Return a source near a file, or itself, that is newer than this process, if there is one.

    What the process has imported may be older then: its machine code must not be kept under a hash of what is there
    now. That is asked for each function, since modules are imported late, and edited while tests run.
    """
    _, sources = _read_sources(file.parent)
    return next((path for path in (file, *sources) if _get_change_time(path) > _began), None)


def _get_change_time(path: Path) -> float:
    """Return when a file was last written, or put in its place with an older date; 0 if it is none."""
    try:
        status = path.stat()
    except OSError:  # code of a notebook
        return 0.0
    return max(status.st_mtime, status.st_ctime)


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


def warn_if_in_memory() -> None:
    """Log a warning, the first time, if what was compiled so far cannot be kept for the next process."""
    if _in_memory:
        _log.warning("no folder to keep compiled kernels in: every run compiles them. Set NUMBA_CACHE_DIR to one")
        _in_memory.clear()


def cache_folder(function: Callable[..., Any]) -> str | None:
    """Return where a compiled function is kept on disk, or None if it is compiled in memory in every process."""
    stats = getattr(function, "stats", None)
    return None if stats is None or stats.cache_path is None else os.path.abspath(stats.cache_path)


def must_be_compiled(function: Callable[..., Any]) -> bool:
    """Return whether a compiled function has a place on disk, but no machine code of its present sources there."""
    index = getattr(getattr(function, "_cache", None), "_cache_file", None)
    try:
        return index is not None and not index._load_index()
    except OSError:  # on Windows, while another process replaces it
        return True


@functools.cache
def serial(function: _Function) -> _Function:
    """Return a function compiled with ``parallel=True`` compiled again without, in memory.

    In memory, because Numba's cache does not tell the two apart.
    """
    if not hasattr(function, "py_func"):  # NUMBA_DISABLE_JIT=1: it is Python already
        return function
    options = {name: value for name, value in function.targetoptions.items() if name not in ("parallel", "nopython")}  # type: ignore[attr-defined]
    return numba.njit(**options)(function.py_func)  # type: ignore[no-any-return]
