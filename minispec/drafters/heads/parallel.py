"""Drafts whose places are all guessed in one forward, before any token is drawn."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from minispec.backends.base import Array
from minispec.drafters.base import ChainDrafter, MoreTokens
from minispec.drafters.heads.folder import Head
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

    head: Head

    def __init__(self, params: Params, vocab_size: int, window: int, length: int, *, coupled: bool = False) -> None:
        super().__init__(params, vocab_size, window, coupled=coupled)
        self.length = length
        self._logits: Array = np.zeros((0, vocab_size), np.float32)
        self._first = 0

    @abstractmethod
    def prefill(self, tokens: Sequence[int]) -> None:
        """Take in the prompt."""

    @abstractmethod
    def rollback(self, length: int) -> None:
        """Forget whatever lies beyond the first ``length`` tokens."""

    @abstractmethod
    def guess(self, tokens: Sequence[int], num_places: int) -> Array:
        """Return the logits of the next places after the committed ``tokens``, (num_places, V); fewer if it cannot."""

    def propose(self, tokens: Sequence[int], gamma: int, coins: Coins, more: MoreTokens) -> Asks[Draft]:
        """Draft up to ``gamma`` tokens, and no more than there are places."""
        gamma = min(gamma, self.length)
        self._first = len(tokens)
        self._logits = self.guess(tokens, gamma) if gamma > 0 else self._logits[:0]
        return super().propose(tokens, min(gamma, len(self._logits)), coins, more)

    def next_probs(self, prefix: list[int]) -> Asks[Probs]:
        """Return the row of the place after ``prefix``; it asks for nothing."""
        yield from ()
        place = len(prefix) - self._first
        probs: Probs = self.sampler(self._logits[place : place + 1], prefix)[0]
        return probs


class ParallelSource:
    """Tells a tree what is guessed for its levels: the nodes of a level share a row, whatever leads to them.

    Sources: Medusa's trees (Cai et al. 2024, section 2.3.3), which combine the likeliest guesses for each place. See
    :class:`minispec.drafters.trees.TreeSource`.

    Parameters
    ----------
    drafter : ParallelDrafter
    """

    def __init__(self, drafter: ParallelDrafter) -> None:
        self._drafter = drafter
        self.head = drafter.head
        self._logits: Array = np.zeros((0, 0), np.float32)
        self._levels: list[int] = []

    def prefill(self, tokens: Sequence[int]) -> Asks[None] | None:
        """Take in the prompt."""
        return self._drafter.prefill(tokens)

    def find_room(self, length: int) -> tuple[int, int]:
        """See :meth:`TreeSource.find_room`; a node takes no room."""
        return min(self._drafter.length, self._drafter.window + 1 - length), self._drafter.window

    def begin(self, tokens: Sequence[int]) -> Asks[Array]:
        """See :meth:`TreeSource.begin`. It asks for nothing."""
        yield from ()
        self._logits, self._levels = self._drafter.guess(tokens, self._drafter.length), []
        return self._logits[:1]

    def grow(self, nodes: Sequence[int], parents: Sequence[int]) -> Asks[Array]:
        """See :meth:`TreeSource.grow`. It asks for nothing."""
        yield from ()
        levels = [1 + (self._levels[parent] if parent >= 0 else 0) for parent in parents]
        self._levels += levels
        return self._logits[levels]

    def rollback(self, length: int) -> None:
        """Set the text back."""
        self._drafter.rollback(length)
