"""Drafts whose places are all guessed in one forward, before any token is drawn."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from minispec.backends.base import Array
from minispec.drafters.base import ChainDrafter, MoreTokens
from minispec.model.asks import Asks
from minispec.noise import Coins
from minispec.records import Draft, Probs
from minispec.sampling.sampler import Params


class ParallelDrafter(ChainDrafter):
    """Knows the logits of all places of a draft from the committed text alone, and draws along them.

    Each token is drawn from the row of its place, which saw none of the tokens before it in the draft. That costs
    acceptance, not correctness: the row is what the token was drawn from.

    Parameters
    ----------
    params : SamplingParams or Sampler
    vocab_size, window : int
        See :class:`ChainDrafter`.
    length : int
        Places it can guess.
    coupled : bool
        See :class:`ChainDrafter`.
    """

    def __init__(self, params: Params, vocab_size: int, window: int, length: int, *, coupled: bool = False) -> None:
        super().__init__(params, vocab_size, window, coupled=coupled)
        self._length = length
        self._logits: Array = np.zeros((0, vocab_size), np.float32)
        self._first = 0

    @abstractmethod
    def guess(self, tokens: Sequence[int], num_places: int) -> Array:
        """Return the logits of the next places after the committed ``tokens``, (num_places, V); fewer if it cannot."""

    def propose(self, tokens: Sequence[int], gamma: int, coins: Coins, more: MoreTokens) -> Asks[Draft]:
        """Draft up to ``gamma`` tokens, and no more than there are places."""
        gamma = min(gamma, self._length)
        self._first = len(tokens)
        self._logits = self.guess(tokens, gamma) if gamma > 0 else self._logits[:0]
        return super().propose(tokens, min(gamma, len(self._logits)), coins, more)

    def next_probs(self, prefix: list[int]) -> Asks[Probs]:
        """Return the row of the place after ``prefix``; it asks for nothing."""
        yield from ()
        place = len(prefix) - self._first
        probs: Probs = self.sampler(self._logits[place : place + 1], prefix)[0]
        return probs
