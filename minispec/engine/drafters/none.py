"""The drafter of plain decoding: it proposes nothing."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from minispec.engine.drafters.base import MoreTokens
from minispec.engine.noise import Coins
from minispec.engine.records import Draft


@functools.cache
def draft_nothing(vocab_size: int = 0) -> Draft:
    """Return the draft without tokens."""
    return Draft((), np.empty((0, vocab_size)))


class NoDrafter:
    """Proposes nothing: each target forward then emits one token, a plain draw from the target."""

    def prefill(self, tokens: Sequence[int]) -> None:
        """Nothing to do."""

    def propose(self, tokens: Sequence[int], gamma: int, coins: Coins, more: MoreTokens) -> Draft:
        """Return an empty draft."""
        return draft_nothing()

    def rollback(self, length: int) -> None:
        """Nothing to do."""
