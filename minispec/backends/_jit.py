"""One way to compile: cached on disk where that is possible, in memory where it is not."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeVar

import numba

_log = logging.getLogger(__name__)
_Function = TypeVar("_Function", bound=Callable[..., Any])


def jit(**options: Any) -> Callable[[_Function], _Function]:
    """Return ``numba.njit(**options)`` with Numba's disk cache if it has a writable place, else without.

    Numba looks for that place when the function is *decorated* and raises RuntimeError if there is none (a read-only
    install and no writable home); that must not make the package unimportable.
    """

    def decorate(function: _Function) -> _Function:
        try:
            return numba.njit(cache=True, **options)(function)  # type: ignore[no-any-return]
        except RuntimeError as error:
            _log.info("compiling %s in memory: %s. Set NUMBA_CACHE_DIR to a writable folder", function.__name__, error)
            return numba.njit(**options)(function)  # type: ignore[no-any-return]

    return decorate
