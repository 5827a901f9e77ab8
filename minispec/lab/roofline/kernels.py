"""What a backend's kernels reach, each by itself: the ceilings that apply to *them*.

The machine's ceilings are those of one long read and of a large matrix product. A kernel for a few rows reaches
neither: it computes while it waits for memory, but not all the time; an attention reads the cache in pieces; an
exponential takes many operations. So each is timed alone. Matrices and caches are taken in turn from as many as the
model's forward reads, so that they come from as far away as in a forward; activations are near, as they are there.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from minispec.engine.backends.base import Norm
from minispec.engine.backends.formats import ITEM_BYTES
from minispec.engine.model import GPT2
from minispec.lab.roofline.counts import ACTIVATION_OPERATIONS, NORM_OPERATIONS, SCORE_OPERATIONS

MATRIX = (512, 768)
"""Inputs and outputs of the matrices: 1.5 MiB in float32, not those of any model."""

LARGEST_BYTES = 1 << 28
"""What is taken in turn is no more than this: 256 MiB are beyond every cache."""

_NEAR_CALLS = 20
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
    model: GPT2,
    rows: Sequence[int],
    context: int,
    footprint: int,
    *,
    passes: int = 3,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[tuple[str, int], Callable[[], float]]:
    """Return, per kernel and number of rows, what measures its seconds per operation.

    Each takes the median of ``passes`` passes over its operands, after one that nobody times, and subtracts that of
    as many calls with next to no work of this kind: what a call costs by itself is counted elsewhere, once.

    Parameters
    ----------
    model : GPT2
    rows : sequence of int
    context : int
    footprint : int
        Bytes that a forward of the model reads.
    passes : int
    clock : callable
    """
    backend, config = model.backend, model.config
    generator = np.random.default_rng(0)

    def normal(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        return generator.standard_normal(shape, np.float32)

    inputs, outputs = MATRIX
    heads, size, name = config.n_head, config.head_size, config.activation_function
    original, slots = normal(inputs, outputs), context + max(rows)
    matrix = backend.pack(original, None, model.dtype)
    wide, least = (backend.pack(normal(*size), None, model.dtype) for size in ((_FEW, config.n_inner), (1, 1)))
    far = min(footprint, LARGEST_BYTES)
    matrices = [backend.pack(original, None, model.dtype) for _ in range(max(1, far // matrix.weight.nbytes))]
    pair_bytes = 2 * ITEM_BYTES[model.kv_dtype] * slots * config.n_embd
    keys, values = (backend.zeros((max(1, far // pair_bytes), 1, slots, heads, size), model.kv_dtype) for _ in range(2))
    keys[:], values[:] = normal(slots, heads, size), normal(slots, heads, size)
    norm = Norm(np.ones(inputs, np.float32), np.zeros(inputs, np.float32), 1e-5)

    def per_operation(
        flops: int, call: Callable[[int], object], without: Callable[[int], object], calls: int
    ) -> Callable[[], float]:
        if not flops:  # one row before an empty cache attends to itself alone: no scores to time
            return lambda: 0.0

        def once(what: Callable[[int], object]) -> float:
            started = clock()
            for i in range(calls):
                what(i)
            return clock() - started

        def middle(what: Callable[[int], object]) -> float:
            return statistics.median([once(what) for _ in range(1 + passes)][1:])

        return lambda: (middle(call) - middle(without)) / (calls * flops)

    def timers(m: int) -> dict[str, Callable[[], float]]:
        x, few, one = normal(m, inputs), normal(m, _FEW), normal(m, 1)
        queries, pages, ends = normal(m, heads, size), np.zeros((m, 1), np.int64), context + 1 + np.arange(m)
        scores, firsts = heads * int(ends.sum() - m), np.ones_like(ends)

        def attend(i: int, ends: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> object:
            return backend.attention(queries, keys[i], values[i], pages, ends, None, 1.0)

        return {
            "matrix": per_operation(
                2 * m * inputs * outputs,
                lambda i: backend.linear(x, matrices[i]),
                lambda i: backend.linear(one, least),
                len(matrices),
            ),
            "norm": per_operation(
                NORM_OPERATIONS * x.size,
                lambda i: backend.linear(x, matrix, norm=norm),
                lambda i: backend.linear(x, matrix),
                _NEAR_CALLS,
            ),
            "activation": per_operation(
                ACTIVATION_OPERATIONS[name] * m * config.n_inner,
                lambda i: backend.linear(few, wide, activation=name),
                lambda i: backend.linear(few, wide),
                _NEAR_CALLS,
            ),
            "attention": per_operation(
                scores * (4 * size + SCORE_OPERATIONS),
                lambda i: attend(i, ends),
                lambda i: attend(i, firsts),
                len(keys),
            ),
        }

    return {(kind, m): run for m in rows for kind, run in timers(m).items()}


def part_rates(seconds_per_operation: Mapping[str, float], peak: float) -> dict[str, float]:
    """Return operations per second by part, from the seconds per operation of the kernels.

    Nothing counts as faster than twice the machine's peak: so much a few rows may gain on a large product by packing
    nothing, and a difference of two times can come out as nothing at all.
    """
    fastest = 1 / (2 * peak)
    return {part: 1 / max(fastest, seconds_per_operation[kind]) for part, kind in KINDS.items()}
