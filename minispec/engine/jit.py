"""One way to compile: cached on disk where that is possible, in memory where it is not.

A Python without Numba (a browser's) runs the same functions as they are written: slower, with the same bits.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import logging
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from minispec.errors import OptionError, explain, quote

try:
    import numba
except ModuleNotFoundError:
    numba = None

_log = logging.getLogger(__name__)
_Function = TypeVar("_Function", bound=Callable[..., Any])

_began = time.time() - 0.02  # files are dated by a clock that ticks, and lags behind this one by up to 10 ms
_in_memory: list[str] = []


def can_compile() -> bool:
    """Return whether there is a compiler, and nobody has switched it off."""
    return numba is not None and not numba.config.DISABLE_JIT


def jit(**options: Any) -> Callable[[_Function], _Function]:
    """Return ``numba.njit(**options)`` with a disk cache if that has a writable place, else without.

    The place is looked for when the function is *decorated*; that there is none (no writable home) must not make the
    package unimportable. The cache forgets a function when any source near its file has changed: Numba's own looks at
    that file alone, and would serve machine code made from a changed helper of another module for ever.

    Divisions follow NumPy (0/0 is NaN): Python's rule, an exception, is a branch per element, and loops with branches
    are not vectorised.
    """
    options.setdefault("error_model", "numpy")

    def decorate(function: _Function) -> _Function:
        if not can_compile():  # NumPy warns of numbers that machine code lets overflow in silence
            return np.errstate(over="ignore")(function)
        file = Path(function.__code__.co_filename)
        changed = _find_changed(file)
        if changed is not None:
            _log.info("compiling %s in memory: %s has changed since this process began", function.__name__, changed)
            return numba.njit(**options)(function)  # type: ignore[no-any-return]
        from minispec.engine.kernel_cache import KernelCache

        compiled = numba.njit(**options)(function)
        try:
            compiled._cache = KernelCache(function, _read_sources(file.parent)[0])
        except Exception as error:  # of a locator that the environment names: its import may raise anything
            named = os.environ.get("NUMBA_CACHE_LOCATOR_CLASSES")
            if named and "no locator available" not in str(error):
                raise OptionError(
                    f"NUMBA_CACHE_LOCATOR_CLASSES is {quote(named)}; it must name classes that find a folder for "
                    f"machine code ({explain(error)}). Unset it"
                ) from None
            if not isinstance(error, RuntimeError):
                raise
            _log.info("compiling %s in memory: %s. Set NUMBA_CACHE_DIR to a writable folder", function.__name__, error)
            _in_memory.append(function.__name__)
        return compiled  # type: ignore[no-any-return]

    return decorate


@functools.cache
def _read_sources(folder: Path) -> tuple[str, tuple[Path, ...]]:
    """Return the files in a folder of the package, and in the package's own, that compile, and a hash of them."""
    digest, found = hashlib.sha256(), []
    for path in sorted({*folder.glob("*.py"), *Path(__file__).parent.glob("*.py")}):
        source = path.read_bytes()
        if b"numba" in source or b"engine.jit" in source:
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
    is_empty = getattr(getattr(function, "_cache", None), "is_empty", None)
    return is_empty is not None and is_empty()


@contextlib.contextmanager
def on_compiling(call: Callable[[], None]) -> Iterator[None]:
    """Call this once if the body compiles something; what is read from the cache is not compiled."""
    if not can_compile():
        yield
        return
    from numba.core import event

    calls = iter([call])

    class Once(event.Listener):  # type: ignore[misc]  # Numba has no types
        def on_start(self, event: object) -> None:
            for each in calls:
                each()

        def on_end(self, event: object) -> None:
            pass

    with event.install_listener("numba:compile", Once()):
        yield


@functools.cache
def serial(function: _Function) -> _Function:
    """Return a function compiled with ``parallel=True`` compiled again without, in memory.

    In memory, because Numba's cache does not tell the two apart.
    """
    if not hasattr(function, "py_func"):  # NUMBA_DISABLE_JIT=1: it is Python already
        return function
    options = {name: value for name, value in function.targetoptions.items() if name not in ("parallel", "nopython")}  # type: ignore[attr-defined]
    return numba.njit(**options)(function.py_func)  # type: ignore[no-any-return]
