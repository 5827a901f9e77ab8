"""Stop 11 of 13: from logits to probabilities, in NumPy.

Each filter keeps some tokens of a row of probabilities and renormalises. Ties go to the lower token id. The engine
calls the same as compiled loops, in ``_kernels``, through ``draw``; this is their oracle, written to be read.

Next: `noise/coins.py`, which draws from a distribution.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from minispec.engine.sampling.params import SamplingParams
from minispec.errors import InvariantError

Probs = NDArray[np.float64]


def distribution(logits: NDArray[np.floating], params: SamplingParams) -> Probs:
    """Return what :func:`minispec.engine.sampling.draw.distribution` returns, except for rounding."""
    probs = np.empty(logits.shape, np.float64)
    for i in range(len(logits)):
        probs[i] = process_row(logits[i], params)
    return probs


def process_row(logits: NDArray[np.floating], params: SamplingParams) -> Probs:
    """Return the distribution of one row of logits, shape (V,)."""
    best = int(np.argmax(logits))  # the lowest id on ties; a NaN if there is one
    if not np.isfinite(logits[best]):
        raise InvariantError(f"the largest logit is {logits[best]}; the model's numbers have overflowed")
    if params.temperature == 0.0:
        one_hot = np.zeros(len(logits))
        one_hot[best] = 1.0
        return one_hot
    shifted = logits.astype(np.float64) - float(logits[best])  # before dividing: a tiny temperature cannot overflow
    with np.errstate(over="ignore"):
        probs = np.exp(shifted / params.temperature)
    probs /= probs.sum()
    if params.top_k:
        probs = top_k(probs, params.top_k)
    return min_p(top_p(probs, params.top_p), params.min_p)


def top_k(probs: Probs, k: int) -> Probs:
    """Keep the ``k`` likeliest tokens of a row of shape (V,)."""
    return _keep(probs, _sort_likeliest_first(probs)[:k])


def top_p(probs: Probs, p: float) -> Probs:
    """Keep the smallest set of likeliest tokens whose mass reaches ``p``, the crossing token included."""
    if p >= 1.0:
        return probs
    order = _sort_likeliest_first(probs)
    mass = np.cumsum(probs[order])
    return _keep(probs, order[: int(np.searchsorted(mass, p)) + 1])


def min_p(probs: Probs, p: float) -> Probs:
    """Keep tokens whose probability is at least ``p`` times the largest."""
    return _keep(probs, np.flatnonzero(probs >= p * probs.max()))


def _sort_likeliest_first(probs: Probs) -> NDArray[np.intp]:
    return np.argsort(-probs, kind="stable")


def _keep(probs: Probs, tokens: NDArray[np.intp]) -> Probs:
    kept = np.zeros_like(probs)
    kept[tokens] = probs[tokens]
    kept /= kept.sum()
    return kept
