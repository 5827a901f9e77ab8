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
"""Bytes asked of the system at a time; pages of them that nobody writes to take no memory."""

_lock = threading.Lock()
_left = np.zeros(0, np.uint8)  # of the last piece


def allocate_aligned(shape: tuple[int, ...], kind: type[np.generic]) -> NDArray[Any]:
    """Return zeros that begin at a cache line: a vector read across two lines costs two reads."""
    num_bytes = math.prod(shape) * np.dtype(kind).itemsize
    memory = np.zeros(num_bytes + _LINE, np.uint8)
    first = -memory.ctypes.data % _LINE
    return memory[first : first + num_bytes].view(kind).reshape(shape)


def allocate_weights(shape: tuple[int, ...], kind: type[np.generic]) -> NDArray[Any]:
    """Return zeros for weights: as :func:`allocate_aligned`, in huge pages where the system has them.

    The processor looks up where a page is, for every page it reads, and a model has thousands of the usual size. NumPy
    asks for huge ones from 4 MiB on, but a matrix of a small model is smaller, so matrices share pieces of memory. A
    piece, but for the last, goes back to the system when all arrays in it are gone.
    """
    global _left
    num_bytes = math.prod(shape) * np.dtype(kind).itemsize
    if not hasattr(mmap, "MADV_HUGEPAGE") or num_bytes >= _PIECE:  # so large that NumPy asks for them
        return allocate_aligned(shape, kind)
    with _lock:
        if num_bytes > _left.size:
            _left = _allocate_piece()
        memory, _left = _left[:num_bytes], _left[-(-num_bytes // _LINE) * _LINE :]
    return memory.view(kind).reshape(shape)


def _allocate_piece() -> NDArray[np.uint8]:
    """Return new memory, of huge pages unless the running system has none, which costs time and nothing else.

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
