"""The one place for intervals: ratios over texts, shares, paired ratios, medians of rounds, several at once.

The independent units are *texts* (or whatever the caller passes one number for). The tokens and steps of one text are
not independent, and neither are rounds that time the same text again. Functions take one entry per text and give an
interval of Student's t, with as many degrees of freedom as texts less one. ``tests/lab/figures/test_intervals.py``
simulates how often they cover: 94 to 96 times of 100, from 8 texts on.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from minispec.errors import OptionError
from minispec.theory import alpha_from_counts
from minispec.theory.quantiles import confidence_level, student_quantile

CONFIDENCE = 0.95
PERCENTILES = (50, 90, 99)
_ROUNDING = 1e-9


class Figure(NamedTuple):
    """A figure and its interval; None where there is no figure, or one text cannot give an interval."""

    value: float | None
    low: float | None = None
    high: float | None = None


def simultaneous(comparisons: int, confidence: float = CONFIDENCE) -> float:
    """Return the level at which each of several intervals must be made so that *all* hold with ``confidence``.

    Notes
    -----
    1 - (1 - confidence) / m: the probabilities to miss add up at most (C. E. Bonferroni, 1936), however the intervals
    depend on each other.

    Examples
    --------
    >>> round(simultaneous(5), 6)
    0.99
    """
    return 1.0 - (1.0 - confidence_level(confidence)) / max(1, comparisons)


def ratio(
    numerators: ArrayLike,
    denominators: ArrayLike,
    confidence: float = CONFIDENCE,
    *,
    within: tuple[float, float] = (-math.inf, math.inf),
) -> Figure:
    """Return sum / sum with its interval, texts independent.

    Parameters
    ----------
    numerators, denominators : array-like of shape (texts,)
        Of each text. Tokens / steps, plain seconds / speculative seconds and the like: the same text above and below is
        what makes a ratio *paired*. For shares of a whole see :func:`share_of_texts`.
    confidence : float
        In (0, 1).
    within : tuple of two floats
        What the ratio can be at all; the interval is cut there.

    Notes
    -----
    r +- t SE(r) with the standard error of the jackknife, SE**2 = (n - 1) / n sum_i (r_(i) - mean)**2, r_(i) the ratio
    without text i (B. Efron, The Jackknife, the Bootstrap and Other Resampling Plans, 1982).

    Of parts that are never negative, the interval is cut at 0; for those that may be, see :func:`mean`.

    Examples
    --------
    >>> ratio([2.0, 2.0], [1.0, 1.0])
    Figure(value=2.0, low=2.0, high=2.0)
    >>> ratio([1.0], [2.0])
    Figure(value=0.5, low=None, high=None)
    >>> ratio([6.0, 9.0], [6.0, 4.0], within=(1.0, 4.0))  # tokens per step, of drafts of 3
    Figure(value=1.5, low=1.0, high=4.0)
    """
    above, below = _columns(numerators, denominators)
    if not below.sum():
        return Figure(None)
    value = float(above.sum() / below.sum())
    without = _leave_one_out(above, below)
    if without is None:
        return Figure(value)
    spread = _half_width(without, confidence)
    least = 0.0 if min(above.min(), below.min()) >= 0.0 else -math.inf  # of what is never negative, no ratio is
    return Figure(value, max(least, within[0], value - spread), min(within[1], value + spread))


def ratio_of_times(times: ArrayLike, other_times: ArrayLike, confidence: float = CONFIDENCE) -> Figure:
    """Return sum / sum of what is positive, a speedup for instance: an interval that no time too few can take to 0.

    Parameters
    ----------
    times, other_times : array-like of shape (texts,)
        Of each text, both above 0: seconds, or seconds per token.
    confidence : float
        In (0, 1).

    Notes
    -----
    As :func:`ratio`, for the logarithm: twice as fast and half as fast are equally far from 1, so the interval of the
    inverse is the inverse of the interval.

    Examples
    --------
    >>> [round(x, 2) for x in ratio_of_times([2.0, 4.0, 3.0], [1.0, 1.0, 2.0])]
    [2.25, 0.52, 9.74]
    """
    above, below = _columns(times, other_times)
    if not len(below):
        return Figure(None)
    if not ((above > 0.0).all() and (below > 0.0).all()):
        raise OptionError(f"a time is {min(above.min(), below.min()):g}; times are above 0; leave out what did not run")
    value = float(above.sum() / below.sum())
    without = _leave_one_out(above, below)
    if without is None:
        return Figure(value)
    spread = _half_width(np.log(without), confidence)
    return Figure(value, value * math.exp(-spread), value * math.exp(spread))


def mean(values: ArrayLike, confidence: float = CONFIDENCE) -> Figure:
    """Return the mean of values that may be negative, with its interval; one value for each text or run.

    Examples
    --------
    >>> [round(x, 2) for x in mean([0.1, 0.2, 0.6])]
    [0.3, -0.36, 0.96]
    """
    ones = np.ones(len(np.asarray(values)))
    return difference_of_ratios((values, ones), (0.0 * ones, ones), confidence)


def share_of_texts(successes: ArrayLike, trials: ArrayLike, confidence: float = CONFIDENCE) -> Figure:
    """Return all successes / all trials, where the trials of one text are alike: accepted / evaluated, steps of a kind.

    Parameters
    ----------
    successes, trials : array-like of shape (texts,)
        Of each text, successes <= trials; texts without trials do not count.
    confidence : float
        In (0, 1).

    Notes
    -----
    As :func:`ratio`, for the logarithm of the odds, log s / (1 - s): near 0 and 1 shares are skewed, and symmetric
    intervals cover too rarely there. Where all trials of all texts went the same way the texts are taken for the
    trials (:func:`share`): n equal texts do not prove that the next one is equal too.

    Examples
    --------
    >>> [round(x, 3) for x in share_of_texts([70, 80, 75, 60], [100, 100, 90, 90])]
    [0.75, 0.609, 0.852]
    """
    above, below = _columns(successes, trials)
    above, below = above[below > 0], below[below > 0]
    if not len(below):
        return Figure(None)
    if not ((above >= 0.0) & (above <= below * (1.0 + _ROUNDING))).all():  # sums of probabilities count, too
        raise OptionError("a text has fewer than 0 successes, or more than trials; give successes / trials of each")
    above = np.minimum(above, below)
    value = float(above.sum() / below.sum())
    without = _leave_one_out(above, below)
    if without is None:
        return Figure(value)
    if value in (0.0, 1.0):
        return share(round(value * len(below)), len(below), confidence)
    if not ((without > 0.0) & (without < 1.0)).all():  # one text has all the successes, or all the failures
        spread = _half_width(without, confidence)
        return Figure(value, max(0.0, value - spread), min(1.0, value + spread))
    spread = _half_width(np.log(without / (1.0 - without)), confidence)
    odds = math.log(value / (1.0 - value))
    return Figure(value, *(1.0 / (1.0 + math.exp(-(odds + sign * spread))) for sign in (-1.0, 1.0)))


def paired_ratio(times: ArrayLike, other_times: ArrayLike, confidence: float = CONFIDENCE) -> Figure:
    """Return how many times longer one thing takes than another on the same texts, each timed in several rounds.

    Parameters
    ----------
    times, other_times : array-like of shape (texts, rounds)
        Seconds. Of each text the median round counts, so that one disturbed round decides nothing.
    confidence : float
        In (0, 1).

    Examples
    --------
    >>> [round(x, 2) for x in paired_ratio([[2.0, 2.1, 9.0], [4.0, 4.0, 4.1]], [[1.0, 1.0, 1.1], [2.0, 2.1, 2.2]])]
    [1.97, 1.06, 3.66]
    """
    one, other = ([float(np.median(rounds)) for rounds in np.asarray(given)] for given in (times, other_times))
    return ratio_of_times(one, other, confidence)


def difference_of_ratios(
    first: tuple[ArrayLike, ArrayLike], second: tuple[ArrayLike, ArrayLike], confidence: float = CONFIDENCE
) -> Figure:
    """Return sum / sum less another sum / sum over the same texts: what two rules accept, what two drafts gain.

    Parameters
    ----------
    first, second : tuple of two array-likes of shape (texts,)
        Numerators and denominators, entry i of all four of text i.
    confidence : float
        In (0, 1).

    Notes
    -----
    The jackknife takes a text out of both at once, so that what both share cancels.

    Examples
    --------
    >>> round(difference_of_ratios(([3.0, 5.0], [4.0, 6.0]), ([2.0, 4.0], [4.0, 6.0])).value, 6)
    0.2
    """
    pairs = [_columns(*one) for one in (first, second)]
    if not all(below.sum() for _, below in pairs):
        return Figure(None)
    value = math.fsum(sign * float(a.sum() / b.sum()) for sign, (a, b) in zip((1.0, -1.0), pairs, strict=True))
    without = [_leave_one_out(a, b) for a, b in pairs]
    if without[0] is None or without[1] is None:
        return Figure(value)
    spread = _half_width(without[0] - without[1], confidence)
    return Figure(value, value - spread, value + spread)


def difference_of_means(first: ArrayLike, second: ArrayLike, confidence: float = CONFIDENCE) -> Figure:
    """Return the mean of one sample less that of another, independent one.

    Parameters
    ----------
    first, second : array-like of shape (n,) and (m,)
        One value per request, or whatever is independent.
    confidence : float
        In (0, 1).

    Notes
    -----
    Student's t with the degrees of freedom of B. L. Welch (1947), rounded down: the samples may differ in spread.

    Examples
    --------
    >>> [round(x, 2) for x in difference_of_means([1.0, 2.0, 3.0], [1.0, 1.0, 1.5, 2.5])]
    [0.5, -1.65, 2.65]
    """
    one, other = _columns(first, second)
    if not (len(one) and len(other)):
        return Figure(None)
    value = float(one.mean() - other.mean())
    if min(len(one), len(other)) < 2:
        return Figure(value)
    parts = [float(sample.var(ddof=1)) / len(sample) for sample in (one, other)]
    if not sum(parts):
        return Figure(value, value, value)
    degrees = sum(parts) ** 2 / sum(
        part**2 / (len(sample) - 1) for part, sample in zip(parts, (one, other), strict=True)
    )
    spread = student_quantile(confidence, max(1, math.floor(degrees))) * math.sqrt(sum(parts))
    return Figure(value, value - spread, value + spread)


def ratio_of_samples(first: ArrayLike, second: ArrayLike, confidence: float = CONFIDENCE) -> Figure:
    """Return the geometric mean of one sample of positive values over that of another, independent one.

    Times are skewed, and their logarithms less so: see :func:`difference_of_means`.

    Examples
    --------
    >>> round(ratio_of_samples([2.0, 8.0], [1.0, 4.0]).value, 6)
    2.0
    """
    one, other = (np.log(sample) for sample in _columns(first, second))
    found = difference_of_means(one, other, confidence)
    return Figure(*(None if value is None else math.exp(value) for value in found))


def share(successes: int, trials: int, confidence: float = CONFIDENCE) -> Figure:
    """Return successes / trials with Wilson's interval: independent trials, one per text.

    Examples
    --------
    >>> [round(x, 3) for x in share(8, 8)]
    [1.0, 0.676, 1.0]
    """
    return Figure(*alpha_from_counts(successes, trials, confidence=confidence)) if trials else Figure(None)


def median(values: Sequence[float], confidence: float = CONFIDENCE) -> Figure:
    """Return the median of repetitions with its distribution-free interval; of few, their whole range.

    For repetitions of one thing (rounds of a pass): it says how well *this* was timed, nothing of other texts.

    Notes
    -----
    Each repetition lies below the median with probability 1/2, so the k-th smallest and the k-th largest of n enclose
    it with probability 1 - 2 P(Bin(n, 1/2) < k): 96 % for the second of nine. One disturbed round decides nothing.

    Examples
    --------
    >>> median([1.2, 1.0, 1.1])
    Figure(value=1.1, low=1.0, high=1.2)
    >>> median([9.0, 1, 2, 3, 4, 5, 6, 7, 8])
    Figure(value=5, low=2, high=8)
    """
    ordered, n = sorted(values), len(values)
    if not n:
        return Figure(None)
    k, outside = 1, 2 / 2**n
    while outside + 2 * math.comb(n, k) / 2**n <= 1.0 - confidence_level(confidence):
        outside += 2 * math.comb(n, k) / 2**n
        k += 1
    return Figure(statistics.median(ordered), ordered[k - 1], ordered[-k])


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


def _columns(above: ArrayLike, below: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return np.asarray(above, np.float64), np.asarray(below, np.float64)


def _leave_one_out(above: NDArray[np.float64], below: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Return the ratio without each text; None if there are not two texts, or one has all that is below."""
    rest = below.sum() - below
    return None if len(below) < 2 or not (rest > 0.0).all() else (above.sum() - above) / rest


def _half_width(without: NDArray[np.float64], confidence: float) -> float:
    """Return t SE of the jackknife's values."""
    n = len(without)
    # SE**2 = (n - 1) / n sum_i (r_(i) - mean)**2
    error = math.sqrt((n - 1) / n * float(((without - without.mean()) ** 2).sum()))
    return student_quantile(confidence, n - 1) * error
