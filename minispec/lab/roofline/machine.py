"""The two ceilings of a machine: how fast it reads, by footprint, and how fast it multiplies: measured or published.

A profile of a well-known machine answers "what if this were an H100". No program reaches both its ceilings; what it
predicts is the least time a forward can take there. Rates are dense ones (data sheets print twice as much for
structured sparsity). Weights in int8 are taken to be decoded and multiplied in float16, as weight-only quantisation
does; its peak is float16's.
"""

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
from minispec.errors import OptionError, quote, suggest
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
    times = interleave({size: _warm(probe(size), size) for size in sorted(sizes)}, repeats)
    return [(size, size / statistics.median(seconds)) for size, seconds in times.items()]


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


_TERA, _GIGA = 1e12, 1e9


def _machine(
    name: str, bandwidth_gb: float, memory_gb: float, half_tflops: float, single_tflops: float, source: str
) -> Machine:
    peaks = dict.fromkeys(("float16", "bfloat16", "int8"), half_tflops * _TERA)
    return Machine(
        name=name,
        ladder=[(1, bandwidth_gb * _GIGA)],
        peak_flops_per_s={"float32": single_tflops * _TERA, **peaks},
        memory_bytes=int(memory_gb * _GIGA),
        source=source,
    )


PROFILES: dict[str, Machine] = {
    machine.name: machine
    for machine in (
        _machine("a100", 2039, 80, 312, 19.5, "NVIDIA A100 80GB SXM data sheet"),
        _machine("a100-40gb", 1555, 40, 312, 19.5, "NVIDIA A100 40GB SXM data sheet"),
        _machine("h100", 3350, 80, 989.4, 67, "NVIDIA H100 SXM data sheet"),
        _machine("h200", 4800, 141, 989.4, 67, "NVIDIA H200 SXM data sheet"),
        _machine("l4", 300, 24, 121, 30.3, "NVIDIA L4 data sheet; half of the rate printed with sparsity"),
        _machine("rtx3090", 936, 24, 71, 35.6, "NVIDIA GA102 white paper; float16 with float32 accumulation"),
        _machine("rtx4090", 1008, 24, 165.2, 82.6, "NVIDIA Ada white paper; float16 with float32 accumulation"),
        _machine("tpu-v4", 1200, 32, 275, 275, "Google Cloud TPU v4 page; bfloat16 products, also for float32"),
        _machine("m2-max", 400, 96, 13.6, 13.6, "Apple: 400 GB/s, 96 GB; 38 GPU cores, rate as widely reported"),
        _machine(
            "ddr5-desktop",
            89.6,
            64,
            2.3,
            2.3,
            "computed: two channels of DDR5-5600; 16 cores x 32 operations per cycle x 4.5 GHz, in float32",
        ),
        _machine(
            "epyc-9654",
            460.8,
            768,
            7.4,
            7.4,
            "computed: twelve channels of DDR5-4800; 96 cores x 32 operations per cycle x 2.4 GHz, in float32",
        ),
    )
}
"""Machines by name."""


def get_profile(name: str) -> Machine:
    """Return the machine of that name.

    Raises
    ------
    OptionError
        If there is none.
    """
    if name not in PROFILES:
        hint = suggest(name, PROFILES, "Leave --machine out to measure this one")
        raise OptionError(f"machine is {quote(name)}; it must be one of {', '.join(PROFILES)}. {hint}")
    return PROFILES[name]
