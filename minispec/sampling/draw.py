"""Beside stop 11: logits to probabilities, by compiled loops.

Temperature, top-k, top-p, min-p, in this order; :mod:`minispec.sampling.processors` has them in a few lines of NumPy
each, ``_kernels`` as loops that need no sorting.

Rows are processed one by one, so a row's probabilities have the same bits alone or in a matrix; together with a
batch-invariant backend this is what makes greedy speculative text *equal* to plain greedy text.
"""

from __future__ import annotations

import functools
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
    probs = np.array(logits, np.float64, order="C")  # one memory layout, one compiled body
    broken = _load_kernels().distribution(probs, params.temperature, params.top_k, params.top_p, params.min_p)
    if broken >= 0:
        raise InvariantError(f"the largest logit is {logits[broken].max()}; the model's numbers have overflowed")
    return probs


@functools.cache
def _load_kernels() -> ModuleType:
    """Import the loops, and with them Numba, which takes a moment."""
    from minispec.sampling import _kernels

    return _kernels
