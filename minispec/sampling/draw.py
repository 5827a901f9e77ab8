"""Stop 6 of 12 · logits to probabilities. Before: model/session. Next: noise.

Rows are processed one by one, so a row's probabilities have the same bits alone or in a matrix; together with a
batch-invariant backend this is what makes greedy speculative text *equal* to plain greedy text.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from minispec.errors import InvariantError
from minispec.sampling import processors
from minispec.sampling.params import SamplingParams


def distribution(logits: NDArray[np.floating], params: SamplingParams) -> NDArray[np.float64]:
    """Return the distributions that tokens are drawn from.

    Parameters
    ----------
    logits : ndarray of shape (T, V)
    params : SamplingParams

    Returns
    -------
    ndarray of shape (T, V), float64
        Each row sums to 1. At temperature 0 each row is exactly one-hot.

    Raises
    ------
    InvariantError
        If a row holds NaN, +inf, or nothing but -inf.
    """
    probs = np.empty(logits.shape, np.float64)
    for i in range(len(logits)):
        probs[i] = _row(logits[i], params)
    return probs


def _row(logits: NDArray[np.floating], params: SamplingParams) -> NDArray[np.float64]:
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
        probs = processors.top_k(probs, params.top_k)
    probs = processors.top_p(probs, params.top_p)
    return processors.min_p(probs, params.min_p)
