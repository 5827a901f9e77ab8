"""Quantiles that intervals need and NumPy lacks: Student's t, by the incomplete beta function."""

from __future__ import annotations

import functools
import itertools
import math

from minispec.errors import OptionError, quote
from minispec.theory import _checks


def confidence_level(level: float) -> float:
    """Return a confidence level if it lies strictly between 0 and 1.

    Raises
    ------
    OptionError
        If it does not.
    """
    checked = _checks.number(level)
    if not 0.0 < checked < 1.0:
        raise OptionError(f"confidence is {quote(level)}; it must lie between 0 and 1, both excluded; try 0.95")
    return checked


def normal_quantile(confidence: float) -> float:
    """Return z with P(abs(Z) <= z) = confidence of a standard normal Z.

    Examples
    --------
    >>> round(normal_quantile(0.95), 4)
    1.96
    """
    from statistics import NormalDist  # brings fractions and decimals along, for which a generation need not wait

    return NormalDist().inv_cdf(0.5 + 0.5 * confidence_level(confidence))


@functools.cache
def student_quantile(confidence: float, degrees: int) -> float:
    """Return t with P(abs(T) <= t) = confidence of Student's T with so many degrees of freedom.

    Parameters
    ----------
    confidence : float
        In (0, 1).
    degrees : int
        At least 1: of a mean of n values, n - 1.

    Notes
    -----
    P(abs(T) > t) = I_x(n / 2, 1 / 2) with x = n / (n + t**2) (Abramowitz and Stegun 26.7.1), solved for x by bisection.

    Examples
    --------
    With 8 texts 1.96 standard errors are too few:

    >>> [round(student_quantile(0.95, n), 3) for n in (1, 7, 19, 99)]
    [12.706, 2.365, 2.093, 1.984]
    """
    outside = 1.0 - confidence_level(confidence)
    n = _checks.whole("degrees of freedom", degrees, 1, 10**9, "they are one fewer than the values")
    x = _checks.smallest(lambda share: incomplete_beta(n / 2, 0.5, share), outside)
    # t = sqrt(n (1 - x) / x)
    return math.sqrt(n * (1.0 - x) / x)


def incomplete_beta(a: float, b: float, x: float) -> float:
    """Return I_x(a, b), the regularised incomplete beta function.

    Notes
    -----
    By the continued fraction of Abramowitz and Stegun 26.5.8, evaluated by Lentz's method.

    Examples
    --------
    >>> round(incomplete_beta(2.0, 2.0, 0.5), 12)
    0.5
    """
    if x <= 0.0 or x >= 1.0:
        return min(1.0, max(0.0, x))
    if x > (a + 1.0) / (a + b + 2.0):
        return 1.0 - incomplete_beta(b, a, 1.0 - x)  # where the fraction converges fast
    front = math.lgamma(a + b) - math.lgamma(a + 1.0) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    # I_x(a, b) = x**a (1 - x)**b / (a B(a, b)) * 1 / (1 + d_1 / (1 + d_2 / (1 + ...)))
    fraction, c, d = 1.0, 1.0, 0.0
    for i in itertools.count(1):
        m = i // 2
        # d_{2m+1} = -(a + m)(a + b + m) x / ((a + 2m)(a + 2m + 1)), d_{2m} = m (b - m) x / ((a + 2m - 1)(a + 2m))
        term = -(a + m) * (a + b + m) if i % 2 else m * (b - m)
        term *= x / ((a + i - 1) * (a + i))
        c, d = 1.0 + term / c, 1.0 / (1.0 + term * d)
        fraction *= c * d
        if abs(c * d - 1.0) < 1e-15:
            break
    return math.exp(front) / fraction
