"""How fast this machine reads memory, with the threads of the kernels: no forward can be faster."""

from __future__ import annotations

import time

import numpy as np
from numba import prange
from numpy.typing import NDArray

from minispec.engine.backends import threads
from minispec.engine.jit import jit

_STRETCH = 4096
"""How many words a thread reads at a time: 32 KiB, enough for the prefetcher, few enough to share out evenly."""


@jit(parallel=True, nogil=True)
def _read(words: NDArray[np.int64]) -> np.int64:
    """Add up 64-bit words, a row at a time; whole numbers, so that the compiler may add many at once, in any order."""
    total = np.int64(0)
    for row in prange(words.shape[0]):
        part = np.int64(0)
        for i in range(words.shape[1]):
            part += words[row, i]
        total += part
    return total


class ReadProbe:
    """A block of memory that can be read from end to end, again and again.

    Parameters
    ----------
    num_bytes : int
        The footprint, rounded to 32 KiB: what fits a cache is read from there, as by a forward of that size.
    """

    def __init__(self, num_bytes: int) -> None:
        stretches = max(1, round(num_bytes / (8 * _STRETCH)))
        self.words: NDArray[np.int64] = np.ones((stretches, _STRETCH), np.int64)
        self()  # compiled, and the pages are there

    def __call__(self) -> float:
        """Read all of it once and return the seconds it took."""
        started = time.perf_counter()
        total = threads.launch(threads.choose_kernel(_read), self.words)
        seconds = time.perf_counter() - started
        assert total == self.words.size
        return seconds

    @property
    def num_bytes(self) -> int:
        """What one call reads."""
        return int(self.words.nbytes)
