"""Figures over several texts, with their intervals: ratios of sums, resampled text by text; percentiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from minispec.theory import alpha_from_counts

RESAMPLES = 4000
CONFIDENCE = 0.95
PERCENTILES = (50, 90, 99)


class Figure(NamedTuple):
    """A figure and its interval; None where there is no figure, or one text cannot give an interval."""

    value: float | None
    low: float | None = None
    high: float | None = None


def ratio(numerators: ArrayLike, denominators: ArrayLike) -> Figure:
    """Return sum / sum with the percentile bootstrap's 95 % interval, resampling texts.

    Parameters
    ----------
    numerators, denominators : array-like of shape (texts,)
        Of each text. Tokens / steps, accepted / evaluated, plain seconds / speculative seconds and the like.

    Notes
    -----
    Texts are what is independent; the steps of one are not. The resampling has a seed of its own: the same data give
    the same interval. It is asymptotic and too short for a few texts: of normal ones, 8 cover in about 89 and 24 in
    about 93 runs of 100 (``tests/analysis/test_intervals.py`` has the figures).

    Examples
    --------
    >>> ratio([2.0, 2.0], [1.0, 1.0])
    Figure(value=2.0, low=2.0, high=2.0)
    >>> ratio([1.0], [2.0])
    Figure(value=0.5, low=None, high=None)
    """
    above, below = np.asarray(numerators, np.float64), np.asarray(denominators, np.float64)
    if not below.sum():
        return Figure(None)
    value = float(above.sum() / below.sum())
    if len(above) < 2:
        return Figure(value)
    picks = _picks(len(above))
    sums = below[picks].sum(axis=1)
    ratios = above[picks].sum(axis=1)[sums > 0] / sums[sums > 0]
    low, high = np.quantile(ratios, [0.5 - CONFIDENCE / 2, 0.5 + CONFIDENCE / 2])
    return Figure(value, float(low), float(high))


def _picks(num_texts: int) -> NDArray[np.int64]:
    return np.random.default_rng(0).integers(num_texts, size=(RESAMPLES, num_texts))


def share(successes: int, trials: int) -> Figure:
    """Return successes / trials with Wilson's 95 % interval.

    Examples
    --------
    >>> [round(x, 3) for x in share(8, 8)]
    [1.0, 0.676, 1.0]
    """
    return Figure(*alpha_from_counts(successes, trials, confidence=CONFIDENCE)) if trials else Figure(None)


def percentiles(values: Sequence[float]) -> dict[str, float] | None:
    """Return P50, P90 and P99, interpolated linearly; None of nothing.

    Examples
    --------
    >>> percentiles([1.0, 2.0, 3.0])
    {'p50': 2.0, 'p90': 2.8, 'p99': 2.98}
    """
    if not len(values):
        return None
    return {f"p{p}": round(float(np.percentile(values, p)), 12) for p in PERCENTILES}
