"""What the machine can do, probed like a contender: read bandwidth of a footprint, and the matrix-product peak."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from minispec.engine.backends.probe import ReadProbe
from tests.benchmarks.peers.contender import listen, wake
from tests.benchmarks.peers.shapes import num_bytes_per_token


def run(bytes_per_weight: str, folder: Path) -> None:
    """Serve the probes for weights of that many bytes each."""
    probe = ReadProbe(num_bytes_per_token(folder, float(bytes_per_weight)))
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 1536, 1536), np.float32)

    def bandwidth(repeats: int) -> dict[str, Any]:
        wake(probe)
        return {"seconds": float(np.median([probe() for _ in range(repeats)]))}

    def sgemm() -> dict[str, Any]:
        wake(lambda: np.matmul(a, b))
        started = time.perf_counter()
        np.matmul(a, b)
        return {"flops_per_s": 2 * 1536**3 / (time.perf_counter() - started)}

    listen({"bandwidth": bandwidth, "sgemm": sgemm})
