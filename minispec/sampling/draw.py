"""Beside stop 11: logits to probabilities, by compiled loops.

Temperature, top-k, top-p, min-p, in this order; :mod:`minispec.sampling.processors` has them in a few lines of NumPy
each, ``_kernels`` as loops that need no sorting.

Rows are processed one by one, so a row's probabilities have the same bits alone or in a matrix; together with a
batch-invariant backend this is what makes greedy speculative text *equal* to plain greedy text.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from minispec.errors import InvariantError
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

    Notes
    -----
    Slow twin: :func:`minispec.sampling.processors.distribution`.
    """
    probs = distributions([logits], [params])[0]
    require_finite(probs, logits)
    return probs


def distributions(
    logits: Sequence[NDArray[np.floating]], params: Sequence[SamplingParams]
) -> list[NDArray[np.float64]]:
    """Return the distributions of several requests, each with parameters of its own, from one call of the loops.

    Parameters
    ----------
    logits : sequence of ndarray of shape (T, V)
        One matrix per request; a draft's V may differ from a target's.
    params : sequence of SamplingParams

    Returns
    -------
    list of ndarray of shape (T, V), float64
        For each request what :func:`distribution` returns; a row that has none is NaN: see :func:`require_finite`.
    """
    made: dict[int, NDArray[np.float64]] = {}
    for size in dict.fromkeys(part.shape[1] for part in logits):
        members = [i for i, part in enumerate(logits) if part.shape[1] == size]
        probs = np.concatenate([logits[i] for i in members], dtype=np.float64)  # one memory layout, one compiled body
        chosen = [params[i] for i in members]
        settings = [(each.temperature, min(each.top_k, size), each.top_p, each.min_p) for each in chosen]
        ends = np.cumsum([len(logits[i]) for i in members])
        _load_kernels().process(probs, np.repeat(np.array(settings, np.float64), np.diff(ends, prepend=0), axis=0))
        for i, end in zip(members, ends.tolist(), strict=True):
            made[i] = probs[end - len(logits[i]) : end]
    return [made[i] for i in range(len(logits))]


def require_finite(probs: NDArray[np.float64], logits: NDArray[np.floating]) -> None:
    """Check that there is a distribution for each row of logits.

    Raises
    ------
    InvariantError
        If a row holds NaN, +inf, or nothing but -inf.
    """
    for row in np.flatnonzero(np.isnan(probs[:, 0])):
        raise InvariantError(f"the largest logit is {logits[row].max()}; the model's numbers have overflowed")


@functools.cache
def _load_kernels() -> ModuleType:
    """Import the loops, and with them Numba, which takes a moment."""
    from minispec.sampling import _kernels

    return _kernels
