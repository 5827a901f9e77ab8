"""What a backend's kernels reach when nothing has to come from far: the compute ceiling that applies to *them*.

The machine's peak is that of a large matrix product. A kernel for a few rows, an attention over a cache, an exponential
stay below it, each by its own measure. So each is timed alone, on operands that stay in the nearest caches.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping

import numpy as np

from minispec.analysis.roofline import ACTIVATION_OPERATIONS, NORM_OPERATIONS, SCORE_OPERATIONS
from minispec.backends.base import Norm
from minispec.model import GPT2

MATRIX = (512, 768)
"""Inputs and outputs of the matrix: 1.5 MiB in float32, within the caches of two cores."""

_FEW = 64  # inputs of the matrix behind which activations are timed: work enough to be shared among threads

KINDS = {
    "ln_1": "norm",
    "ln_2": "norm",
    "ln_f": "norm",
    "attn.c_attn": "matrix",
    "attn.c_proj": "matrix",
    "mlp.c_fc": "matrix",
    "mlp.c_proj": "matrix",
    "lm_head": "matrix",
    "attn.scores": "attention",
    "attn.values": "attention",
    "mlp.activation": "activation",
}
"""Which kernel does the arithmetic of a part; the parts that are not named only move data."""


def kernel_timers(
    model: GPT2, rows: int, context: int, *, calls: int = 20, clock: Callable[[], float] = time.perf_counter
) -> dict[str, Callable[[], float]]:
    """Return, per kernel, what measures its seconds per operation on ``rows`` rows.

    Each takes the median of ``calls`` calls, after one that warms the caches, and subtracts that of calls with next to
    no work of this kind: what a call costs by itself is counted elsewhere, once.
    """
    backend, config = model.backend, model.config
    generator = np.random.default_rng(0)

    def normal(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        return generator.standard_normal(shape, np.float32)

    inputs, outputs = MATRIX
    matrix = backend.pack(normal(inputs, outputs), None, model.dtype)
    wide, least = (backend.pack(normal(*size), None, model.dtype) for size in ((_FEW, config.n_inner), (1, 1)))
    x, few, one = normal(rows, inputs), normal(rows, _FEW), normal(rows, 1)
    norm = Norm(np.ones(inputs, np.float32), np.zeros(inputs, np.float32), 1e-5)
    heads, size, name = config.n_head, config.head_size, config.activation_function
    queries = normal(rows, heads, size)
    keys, values = normal(1, context + rows, heads, size), normal(1, context + rows, heads, size)
    row_index, ends = np.zeros(rows, np.int64), context + 1 + np.arange(rows)
    scores = heads * int(ends.sum() - rows)

    def attend(ends: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> object:
        return backend.attention(queries, keys, values, row_index, ends, None, 1.0)

    def per_operation(flops: int, call: Callable[[], object], without: Callable[[], object]) -> Callable[[], float]:
        def once(what: Callable[[], object]) -> float:
            started = clock()
            what()
            return clock() - started

        def middle(what: Callable[[], object]) -> float:
            return statistics.median([once(what) for _ in range(1 + calls)][1:])

        return lambda: (middle(call) - middle(without)) / flops

    return {
        "matrix": per_operation(
            2 * rows * inputs * outputs, lambda: backend.linear(x, matrix), lambda: backend.linear(one, least)
        ),
        "norm": per_operation(
            NORM_OPERATIONS * x.size, lambda: backend.linear(x, matrix, norm=norm), lambda: backend.linear(x, matrix)
        ),
        "activation": per_operation(
            ACTIVATION_OPERATIONS[name] * rows * config.n_inner,
            lambda: backend.linear(few, wide, activation=name),
            lambda: backend.linear(few, wide),
        ),
        "attention": per_operation(
            scores * (4 * size + SCORE_OPERATIONS), lambda: attend(ends), lambda: attend(np.ones_like(ends))
        ),
    }


def part_rates(seconds_per_operation: Mapping[str, float], peak: float) -> dict[str, float]:
    """Return operations per second by part, from the seconds per operation of the kernels.

    Nothing counts as faster than twice the machine's peak: so much a few rows may gain on a large product by packing
    nothing, and a difference of two times can come out as nothing at all.
    """
    fastest = 1 / (2 * peak)
    return {part: 1 / max(fastest, seconds_per_operation[kind]) for part, kind in KINDS.items()}
