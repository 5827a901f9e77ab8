"""Memory for kernels: arrays that begin at a cache line, and weights in huge pages."""

from __future__ import annotations

import contextlib
import math
import mmap
import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

_LINE = 64  # bytes of a cache line
_PIECE = 32 << 20
"""How many bytes to ask the system for at a time; pages that nobody writes to take no memory."""

_here = threading.local()  # what is left of this thread's last piece; a lock could stay closed behind a Ctrl-C


def allocate_aligned(shape: tuple[int, ...], kind: type[np.generic]) -> NDArray[Any]:
    """Return zeros that begin at a cache line: a vector read across two lines costs two reads."""
    num_bytes = math.prod(shape) * np.dtype(kind).itemsize
    memory = np.zeros(num_bytes + _LINE, np.uint8)
    first = -memory.ctypes.data % _LINE
    return memory[first : first + num_bytes].view(kind).reshape(shape)


def allocate_weights(shape: tuple[int, ...], kind: type[np.generic]) -> NDArray[Any]:
    """Return zeros for weights: as :func:`allocate_aligned`, in huge pages where the system has them.

    The processor looks up the address of every page it reads, and a model has thousands of the usual size. NumPy asks
    for huge pages from 4 MiB on. A matrix of a small model is smaller, so matrices share pieces of memory. When all
    arrays in a piece are gone, it goes back to the system; the last piece stays as long as its thread.
    """
    num_bytes = math.prod(shape) * np.dtype(kind).itemsize
    if not hasattr(mmap, "MADV_HUGEPAGE") or num_bytes >= _PIECE:  # so large that NumPy asks for them
        return allocate_aligned(shape, kind)
    left: NDArray[np.uint8] | None = getattr(_here, "left", None)
    if left is None or num_bytes > left.size:
        left = _allocate_piece()
    _here.left = left[-(-num_bytes // _LINE) * _LINE :]
    return left[:num_bytes].view(kind).reshape(shape)


def _allocate_piece() -> NDArray[np.uint8]:
    """Return new memory, in huge pages if the system has them; without them only time is lost.

    Raises
    ------
    MemoryError
    """
    try:
        memory = mmap.mmap(-1, _PIECE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        raise MemoryError(f"cannot get {_PIECE} bytes: {error}") from error
    with contextlib.suppress(OSError):
        memory.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(memory, np.uint8)
