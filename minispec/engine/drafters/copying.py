"""Drafts that are copied from the text: nothing is drawn, so each token was certain."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from minispec.engine.drafters.base import MoreTokens, allow_all
from minispec.engine.records import Draft


def copy_draft(tokens: Sequence[int], vocab_size: int, more: MoreTokens = allow_all) -> Draft:
    """Return a deterministic draft: each token was certain, so its row is one-hot and no noise is read."""
    probs = one_hot(tokens, vocab_size)
    count, gamma = 0, len(tokens)
    while count < gamma:
        gamma = min(gamma, count + more(probs[count]))
        count = min(gamma, count + 1)
    return Draft(tuple(tokens[:count]), probs[:count])


def copy_on(tokens: Sequence[int], begin: int, count: int) -> list[int]:
    """Copy ``count`` tokens from ``begin`` on, reading on in what was just copied where the text ends (as LZ77 does).

    Examples
    --------
    >>> copy_on([7, 1, 2], 1, 5)
    [1, 2, 1, 2, 1]
    """
    period = list(tokens[begin:])
    return [period[i % len(period)] for i in range(count)]


def one_hot(tokens: Sequence[int], vocab_size: int) -> NDArray[np.float64]:
    """Return a row per token with all mass on it, shape (G, V)."""
    probs = np.zeros((len(tokens), vocab_size))
    probs[np.arange(len(tokens)), np.asarray(tokens, np.int64)] = 1.0
    return probs
