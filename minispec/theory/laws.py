"""The law of a count: tokens of a step, steps of a response."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from minispec.errors import OptionError, quote
from minispec.theory import _checks

ROUNDING = 1e-9
"""Probabilities that were added up may miss their sum by this much."""


@dataclass(frozen=True, slots=True, eq=False)
class CountLaw:
    """The law of a count K in {0, 1, ...}.

    Parameters
    ----------
    probs : ndarray of shape (largest count + 1,), float64
        ``probs[k]`` = P(K = k).

    Raises
    ------
    OptionError
        If ``probs`` is not a distribution.

    Examples
    --------
    >>> coin = CountLaw(np.array([0.5, 0.5]))
    >>> coin.mean, coin.variance, coin.quantile(0.9), coin.tail(0)
    (0.5, 0.25, 1, 0.5)
    """

    probs: NDArray[np.float64]

    def __post_init__(self) -> None:
        object.__setattr__(self, "probs", np.asarray(self.probs, np.float64))
        if self.probs.ndim != 1 or not (self.probs >= 0.0).all() or not abs(float(self.probs.sum()) - 1.0) <= ROUNDING:
            raise OptionError(
                f"the law of a count is {quote(self.probs.tolist())}; it must be probabilities of 0, 1, ... with sum "
                "1; divide counts by their sum first"
            )

    @property
    def mean(self) -> float:
        """E[K]."""
        # sum_k k P(K = k)
        return float(np.arange(len(self.probs)) @ self.probs)

    @property
    def variance(self) -> float:
        """Var[K]."""
        # sum_k (k - E[K])**2 P(K = k)
        return float((np.arange(len(self.probs)) - self.mean) ** 2 @ self.probs)

    def tail(self, count: int) -> float:
        """Return P(K > count)."""
        # sum_{k > count} P(K = k)
        return float(self.probs[max(0, count + 1) :].sum())

    def quantile(self, level: float) -> int:
        """Return the smallest k with P(K <= k) >= level, where a miss of 1e-9 counts as rounding."""
        level = _checks.probability("the quantile's level", level, "0.5 is the median")
        return min(int(np.searchsorted(np.cumsum(self.probs), level - ROUNDING)), len(self.probs) - 1)
