"""Time every rung of the ladder, in every format: ``python -m tests.benchmarks.kernels [--shape draft]``.

Prints, for forwards of 1 to 16 rows after 256 tokens, the median time, the share of the read bandwidth of the same
footprint, the share of the sgemm peak, and the time over the larger of the two floors, all
measured in turns in one run.
"""

from __future__ import annotations

import argparse
import statistics
import time
from functools import partial

import numpy as np

from minispec.engine.backends import BACKENDS, DTYPES
from minispec.engine.backends.formats import ITEM_BYTES
from minispec.engine.backends.probe import ReadProbe
from minispec.lab.timer import interleave
from tests.models import random_gpt2

SHAPES = {
    "target": {"n_embd": 384, "n_head": 6, "n_inner": 1408, "n_layer": 8, "vocab_size": 8192, "n_positions": 1024},
    "draft": {"n_embd": 128, "n_head": 4, "n_inner": 512, "n_layer": 2, "vocab_size": 8192, "n_positions": 1024},
    "gpt2": {"n_embd": 768, "n_head": 12, "n_inner": 3072, "n_layer": 12, "vocab_size": 50257, "n_positions": 1024},
}
CONTEXT = 256


def matrix_weights(shape: dict[str, int]) -> int:
    """Count the weights that a forward of one token reads, biases and norms left out."""
    width, inner = shape["n_embd"], shape["n_inner"]
    return shape["n_layer"] * (4 * width * width + 2 * width * inner) + shape["vocab_size"] * width


def sgemm_seconds(a: np.ndarray) -> float:
    started = time.perf_counter()
    a @ a
    return time.perf_counter() - started


def forward_seconds(session, rows: int) -> float:
    started = time.perf_counter()
    session.score(list(range(rows)))
    seconds = time.perf_counter() - started
    session.rollback(CONTEXT)
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shape", choices=SHAPES, default="target")
    parser.add_argument("--backend", choices=BACKENDS, nargs="+", default=BACKENDS)
    parser.add_argument("--dtype", choices=DTYPES, nargs="+", default=DTYPES)
    parser.add_argument("--rows", type=int, nargs="+", default=(1, 2, 4, 6, 8, 16))
    parser.add_argument("--repeats", type=int, default=9)
    options = parser.parse_args()
    shape = SHAPES[options.shape]
    square = np.ones((1024, 1024), np.float32)
    print(f"{'backend':8}{'dtype':10}{'rows':>5}{'ms':>9}{'of read':>9}{'of sgemm':>10}{'/ floor':>9}")
    for backend in options.backend:
        for dtype in options.dtype:
            session = random_gpt2(backend, dtype=dtype, **shape).session()
            session.prefill((np.arange(CONTEXT) % 97).tolist())
            weights = matrix_weights(shape)
            runs = {rows: partial(forward_seconds, session, rows) for rows in options.rows}
            for run in runs.values():
                run()  # compiled, and the pages are there
            probe = ReadProbe(weights * ITEM_BYTES[dtype])
            names = {"read": probe, "sgemm": partial(sgemm_seconds, square), **{str(r): run for r, run in runs.items()}}
            medians = {name: statistics.median(times) for name, times in interleave(names, options.repeats).items()}
            for rows in options.rows:
                seconds = medians[str(rows)]
                compute = medians["sgemm"] * (2 * weights * rows) / (2 * 1024**3)
                floor = max(medians["read"], compute)
                print(
                    f"{backend:8}{dtype:10}{rows:5}{seconds * 1e3:9.3f}{medians['read'] / seconds:9.2f}"
                    f"{compute / seconds:10.2f}{seconds / floor:9.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
