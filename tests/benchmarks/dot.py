"""Time and judge the dot-product formats: ``python -m tests.benchmarks.dot [--shape gpt2] [--target NAME]``.

First the products of one forward, alone and in turns: each format against the plain one whose values it keeps. Then, on
a trained model, how far the logits move and how often the most likely token is another. Needs a CPU with the
instructions.
"""

from __future__ import annotations

import argparse
import statistics
import time
from functools import partial

import numpy as np

from minispec.analysis.timer import interleave
from minispec.backends import DTYPES, get_backend
from minispec.backends.base import Backend, Linear
from minispec.loading import load_model
from tests.benchmarks.accuracy import print_accuracy
from tests.benchmarks.kernels import SHAPES

ROWS = (1, 2, 4, 6, 8, 16)


def matrices(shape: dict[str, int]) -> list[tuple[int, int]]:
    """Return the (K, N) of every matrix a forward multiplies with, in order."""
    width, inner = shape["n_embd"], shape["n_inner"]
    layer = [(width, 3 * width), (width, width), (width, inner), (inner, width)]
    return layer * shape["n_layer"] + [(width, shape["vocab_size"])]


def products_seconds(backend: Backend, packed: list[Linear], inputs: list[np.ndarray]) -> float:
    started = time.perf_counter()
    for x, matrix in zip(inputs, packed, strict=True):
        backend.linear(x, matrix)
    return time.perf_counter() - started


def print_times(shape: dict[str, int], repeats: int) -> None:
    backend, generator = get_backend("panel"), np.random.default_rng(0)
    sizes = matrices(shape)
    weights = [generator.normal(0.0, k**-0.5, (k, n)).astype(np.float32) for k, n in sizes]
    runs = {}
    for dtype in backend.dtypes:
        packed = [backend.pack(weight, None, dtype) for weight in weights]
        for rows in ROWS:
            inputs = [generator.normal(size=(rows, k)).astype(np.float32) for k, _ in sizes]
            runs[dtype, rows] = partial(products_seconds, backend, packed, inputs)
    for run in runs.values():
        run()  # compiled, and the pages are there
    medians = {name: statistics.median(times) for name, times in interleave(runs, repeats).items()}
    print(f"milliseconds for the products of one forward, median of {repeats}\n{'rows':16}", *(f"{r:8}" for r in ROWS))
    for dtype in backend.dtypes:
        print(f"{dtype:16}", *(f"{medians[dtype, rows] * 1e3:8.3f}" for rows in ROWS))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shape", choices=SHAPES, default="target")
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--target", help="a trained model to judge the accuracy on; default: timing alone")
    options = parser.parse_args()
    if get_backend("panel").dtypes == DTYPES:
        raise SystemExit("this CPU has neither avx512bf16 nor avx512vnni: there is nothing to compare")
    print_times(SHAPES[options.shape], options.repeats)
    if options.target:
        models = {dtype: load_model(options.target, dtype=dtype) for dtype in get_backend("panel").dtypes}
        print_accuracy(models.pop("float32"), models, 256)


if __name__ == "__main__":
    main()
