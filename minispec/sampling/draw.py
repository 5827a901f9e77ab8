"""Beside stop 11: logits to probabilities, by compiled loops.

Temperature, top-k, top-p, min-p, in this order; :mod:`minispec.sampling.processors` has them in a few lines of NumPy
each, ``_kernels`` as loops that need no sorting.

Rows are processed one by one, so a row's probabilities have the same bits alone or in a matrix; together with a
batch-invariant backend this is what makes greedy speculative text *equal* to plain greedy text.
"""

from __future__ import annotations

import functools
import itertools
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
    made = {i: _one_hot(logits[i]) for i in range(len(logits)) if params[i].temperature == 0.0}
    sampled = [i for i in range(len(logits)) if i not in made]
    for size in {logits[i].shape[1] for i in sampled}:
        members = [i for i in sampled if logits[i].shape[1] == size]
        probs = np.concatenate([logits[i] for i in members], dtype=np.float64)  # one memory layout, one compiled body
        chosen = [params[i] for i in members]
        settings = [(each.temperature, min(each.top_k, size), each.top_p, each.min_p) for each in chosen]
        counts = [len(logits[i]) for i in members]
        _load_kernels().process(probs, np.array(settings, np.float64).repeat(counts, axis=0))
        ends = itertools.accumulate(counts)
        made.update((i, probs[end - len(logits[i]) : end]) for i, end in zip(members, ends, strict=True))
    return [made[i] for i in range(len(logits))]


def _one_hot(logits: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the distributions at temperature 0: all on the likeliest token, the lowest id on ties."""
    rows, likeliest = np.arange(len(logits)), logits.argmax(axis=1)
    probs = np.zeros(logits.shape)
    probs[rows, likeliest] = 1.0
    probs[~np.isfinite(logits[rows, likeliest])] = np.nan
    return probs


def require_finite(probs: NDArray[np.float64], logits: NDArray[np.floating]) -> None:
    """Check that there is a distribution for each row of logits.

    Raises
    ------
    InvariantError
        If a row holds NaN, +inf, or nothing but -inf.
    """
    lacking = np.isnan(probs[:, 0])
    if lacking.any():
        largest = logits[lacking.argmax()].max()
        raise InvariantError(f"the largest logit is {largest}; the model's numbers have overflowed")


@functools.cache
def _load_kernels() -> ModuleType:
    """Import the loops, and with them Numba, which takes a moment."""
    from minispec.sampling import _kernels

    return _kernels
