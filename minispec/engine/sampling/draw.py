"""Beside stop 11: logits to probabilities, by compiled loops where there is more to do than to find the largest.

Temperature, top-k, top-p, min-p, in this order; :mod:`minispec.engine.sampling.processors` has them in a few lines of
NumPy each, ``_kernels`` as loops that need no sorting.

Rows are processed one by one, so a row's probabilities have the same bits alone or in a matrix; together with a
batch-invariant backend this is what makes greedy speculative text *equal* to plain greedy text.
"""

from __future__ import annotations

import functools
import math
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from minispec.engine.sampling.params import SamplingParams
from minispec.errors import InvariantError


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
    Slow twin: :func:`minispec.engine.sampling.processors.distribution`.
    """
    if params.temperature == 0.0:
        return _put_on_likeliest(logits)
    probs = np.array(logits, np.float64, order="C")  # one memory layout, one compiled body
    shares = float(params.temperature), params.top_k, float(params.top_p), float(params.min_p)  # an int would compile
    broken = _load_kernels().distribution(probs, *shares)
    if broken >= 0:
        raise _report_overflow(logits[broken])
    return probs


def _put_on_likeliest(logits: NDArray[np.floating]) -> NDArray[np.float64]:
    """Give all probability to the largest logit of each row, the lowest token on ties."""
    probs = np.zeros(logits.shape)
    for i, likeliest in enumerate(logits.argmax(axis=1).tolist()):
        if not math.isfinite(logits[i, likeliest]):  # a NaN if there is one
            raise _report_overflow(logits[i])
        probs[i, likeliest] = 1.0
    return probs


def _report_overflow(row: NDArray[np.floating]) -> InvariantError:
    return InvariantError(f"the largest logit is {row.max()}; the model's numbers have overflowed")


@functools.cache
def _load_kernels() -> ModuleType:
    """Import the loops, and with them Numba, which takes a moment."""
    from minispec.engine.sampling import _kernels

    return _kernels


def find_likeliest(values: NDArray[np.floating], count: int) -> NDArray[np.intp]:
    """Return the ids of the ``count`` largest values, (V,), the largest first; of equals, the lowest ids.

    Only what may be among them is sorted: to sort a whole vocabulary takes ten times as long.

    Examples
    --------
    >>> find_likeliest(np.array([1, 3, 2, 3, 0, 2, 2], np.float32), 5).tolist()
    [1, 3, 2, 5, 6]
    """
    last = min(max(len(values) - count, 0), len(values) - 1)
    among = np.flatnonzero(values >= np.partition(values, last)[last])
    return among[np.argsort(-values[among], kind="stable")[:count]]
