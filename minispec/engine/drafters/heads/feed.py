"""What a head's pass is fed in addition to its tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Self

import numpy as np

from minispec.engine.backends.base import Array, Feed, Index
from minispec.engine.frozen import record

_FEED = tuple(field.name for field in fields(Feed))
FROM_TARGET = -1
"""The origin of a row over what the target has fed."""


@record(frozen=True, slots=True, kw_only=True)
class HeadFeed(Feed):
    """What one pass of a head is fed.

    Parameters
    ----------
    features : ndarray of shape (T, F * C)
        The target's hidden states, for the rows that read them.
    origins : ndarray of shape (T,)
        :data:`FROM_TARGET`, or what a row of a draft begins with: the slot of the row that it goes on from, or the
        place that it guesses, from 0.
    """

    features: Array
    origins: Index

    @classmethod
    def extend(cls, feed: Feed, features: Array, origins: Sequence[int] | Index) -> Self:
        """Return a feed with these fields added."""
        own = {name: getattr(feed, name) for name in _FEED}
        return cls(**own, features=features, origins=np.asarray(origins, np.int64))
