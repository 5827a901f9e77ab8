"""The two ceilings of a machine: how fast it reads, by footprint, and how fast it multiplies."""

from __future__ import annotations

import importlib.metadata
import math
import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from minispec.engine.backends import host
from minispec.engine.backends.formats import ITEM_BYTES
from minispec.errors import OptionError, quote
from minispec.lab.timer import interleave

MIB = 1 << 20
LADDER_BYTES = tuple(int(size * MIB) for size in (0.5, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512))
"""Footprints of the ladder, from a core's own cache to main memory."""


@dataclass(frozen=True)
class Machine:
    """What the roofline needs to know of a machine.

    Attributes
    ----------
    name : str
    ladder : sequence of (int, float)
        Footprint in bytes and bytes per second read there, footprints increasing. One entry: the same everywhere.
    peak_flops_per_s : mapping of str to float
        Operations per second of a large matrix product, by the format the weights are kept in.
    memory_bytes : int or None
    source : str
        Where the figures come from.
    """

    name: str
    ladder: Sequence[tuple[int, float]]
    peak_flops_per_s: Mapping[str, float]
    memory_bytes: int | None = None
    source: str = "measured"

    def bandwidth(self, footprint_bytes: float) -> float:
        """Return bytes per second for a loop that reads ``footprint_bytes`` over and over.

        Between two rungs of the ladder linear in the logarithm of the footprint; beyond its ends constant.

        Examples
        --------
        >>> Machine("m", [(1024, 100e9), (4096, 50e9)], {}).bandwidth(2048) / 1e9
        75.0
        """
        sizes = [math.log2(size) for size, _ in self.ladder]
        return float(np.interp(math.log2(max(1.0, footprint_bytes)), sizes, [speed for _, speed in self.ladder]))

    def peak(self, dtype: str) -> float:
        """Return operations per second with weights kept in ``dtype``.

        Raises
        ------
        OptionError
            If the machine has no figure for it.
        """
        if dtype not in self.peak_flops_per_s:
            known = ", ".join(self.peak_flops_per_s)
            raise OptionError(f"{self.name} has no peak for dtype {quote(dtype)}; it has {known}. Try one of them")
        return self.peak_flops_per_s[dtype]

    def ridge(self, dtype: str, footprint_bytes: float) -> float:
        """Return the operations per byte at which reading and arithmetic take equally long."""
        return self.peak(dtype) / self.bandwidth(footprint_bytes)


def matmul_rate(size: int = 1024) -> float:
    """Return operations per second of one float32 product of square matrices by NumPy's BLAS."""
    a = np.ones((size, size), np.float32)
    np.matmul(a, a)
    started = time.perf_counter()
    np.matmul(a, a)
    return 2 * size**3 / (time.perf_counter() - started)


def measure_ladder(
    sizes: Sequence[int] = LADDER_BYTES, repeats: int = 5, *, probe: Callable[[int], Callable[[], float]] | None = None
) -> list[tuple[int, float]]:
    """Measure read bandwidth by footprint, all footprints in turns.

    Parameters
    ----------
    sizes : sequence of int
        Footprints, bytes.
    repeats : int
    probe : callable, optional
        Maps a footprint to what reads it once and returns seconds; by default the parallel loop of
        :mod:`minispec.engine.backends.probe`.

    Returns
    -------
    list of (int, float)
        Footprint and median bytes per second.
    """
    if probe is None:
        from minispec.engine.backends.probe import ReadProbe  # imports Numba

        probe = ReadProbe
    probes = {str(size): _warm(probe(size), size) for size in sorted(sizes)}
    times = interleave(probes, repeats)
    return [(size, size / statistics.median(times[str(size)])) for size in sorted(sizes)]


def _warm(read: Callable[[], float], size: int) -> Callable[[], float]:
    """Return the mean time of enough reads that a small footprint is in its cache again after the others' turns."""
    reads = max(1, min(64, 32 * MIB // size))

    def run() -> float:
        read()
        return sum(read() for _ in range(reads)) / reads

    return run


def measure_machine(sizes: Sequence[int] = LADDER_BYTES, repeats: int = 5) -> Machine:
    """Measure this machine's ceilings.

    Every format is decoded to float32 and multiplied so: the peak of all of them is that of float32 products.
    """
    rates = [matmul_rate() for _ in range(repeats)]
    time.sleep(0.2)  # BLAS threads spin for a while after their work, on the cores the probe wants
    ladder = measure_ladder(sizes, repeats)
    rates += [matmul_rate() for _ in range(repeats)]
    time.sleep(0.2)
    peak = max(rates)  # a peak is the best there is; a neighbour only lowers it
    return Machine(describe_cpu()["cpu"], ladder, dict.fromkeys(ITEM_BYTES, peak), host.total_bytes())


def describe_cpu() -> dict[str, Any]:
    """Name the machine and what runs on it, for the head of every measured table."""
    from minispec.engine.backends.threads import num_threads  # imports Numba

    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "threads": num_threads(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": importlib.metadata.version("numba"),
    }


def _cpu_model(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    try:
        for line in cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass  # not Linux
    return platform.processor() or platform.machine() or "unknown CPU"
