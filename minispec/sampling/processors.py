"""Filters on one probability row: each keeps some tokens and renormalises. Ties go to the lower token id."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Probs = NDArray[np.float64]


def top_k(probs: Probs, k: int) -> Probs:
    """Keep the ``k`` likeliest tokens of a row of shape (V,)."""
    if k >= len(probs):
        return probs
    threshold = np.partition(probs, len(probs) - k)[len(probs) - k]  # the k-th largest value
    kept = np.flatnonzero(probs > threshold)
    tied = np.flatnonzero(probs == threshold)[: k - len(kept)]
    return _keep(probs, np.concatenate([kept, tied]))


def top_p(probs: Probs, p: float) -> Probs:
    """Keep the smallest set of likeliest tokens whose mass reaches ``p``, the crossing token included."""
    if p >= 1.0:
        return probs
    # Tokens below (1-p)/V together weigh less than 1-p, so the set never needs them; half of that leaves room for
    # rounding. Only the rest is sorted.
    candidates = np.flatnonzero(probs >= 0.5 * (1.0 - p) / len(probs))
    order = candidates[np.argsort(-probs[candidates], kind="stable")]
    mass = np.cumsum(probs[order])
    return _keep(probs, order[: int(np.searchsorted(mass, p)) + 1])


def min_p(probs: Probs, p: float) -> Probs:
    """Keep tokens whose probability is at least ``p`` times the largest."""
    if p <= 0.0:
        return probs
    return _keep(probs, np.flatnonzero(probs >= p * probs.max()))


def _keep(probs: Probs, tokens: NDArray[np.intp]) -> Probs:
    kept = np.zeros_like(probs)
    kept[tokens] = probs[tokens]
    kept /= kept.sum()
    return kept
