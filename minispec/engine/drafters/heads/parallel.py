"""Drafts whose positions are all computed in one pass, before any token is drawn."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from minispec.engine.backends.base import Array
from minispec.engine.drafters.base import ChainDrafter, MoreTokens, Slots
from minispec.engine.drafters.heads.session import HeadSession
from minispec.engine.model.asks import Ask, Asks
from minispec.engine.noise import Coins
from minispec.engine.records import Draft, Probs
from minispec.engine.sampling.sampler import Params


class ParallelDrafter(ChainDrafter):
    """Computes the logits of all positions of a draft from the committed text alone, and draws a token at each.

    Each token is drawn from the row of its place, which saw at most the token before it (:meth:`Head.follow`). That
    costs acceptance, not correctness: the row is what the token was drawn from.

    Parameters
    ----------
    session : HeadSession
    params : SamplingParams or Sampler
    coupled : bool
        See :class:`ChainDrafter`.

    Attributes
    ----------
    length : int
        Places it can guess.
    """

    def __init__(self, session: HeadSession, params: Params, *, coupled: bool = False) -> None:
        model = session.target.model
        super().__init__(params, model.vocab_size, model.n_positions, coupled=coupled)
        self.session, self.length = session, session.head.config.length
        self.no_logits: Array = np.zeros((0, model.vocab_size), np.float32)
        self._logits, self._first = self.no_logits, 0

    @abstractmethod
    def prefill(self, tokens: Sequence[int]) -> Asks[None] | None:
        """Take in the prompt."""

    def count_slots(self, tokens: Sequence[int], length: int, gamma: int) -> Slots:
        """Return the slots of the text, and after them those of all positions."""
        return Slots(length, length + self.length)

    @abstractmethod
    def ask_places(self, tokens: Sequence[int], num_places: int) -> Ask:
        """Return the request for the logits of the next positions after the committed ``tokens``, (num_places, V)."""

    def guess(self, tokens: Sequence[int], num_places: int) -> Asks[Array]:
        """Return the logits of the next positions, (num_places, V); none before the target has fed a token."""
        if not self.session.target.length:
            return self.no_logits
        return (yield self.ask_places(tokens, num_places))

    def rollback(self, length: int) -> None:
        """Keep the rows of the first ``length`` tokens."""
        self.session.rollback(length)

    def propose(self, tokens: Sequence[int], gamma: int, coins: Coins, more: MoreTokens) -> Asks[Draft]:
        """Draft up to ``gamma`` tokens, and no more than there are positions."""
        gamma = min(gamma, self.length)
        self._first = len(tokens)
        self._logits = (yield from self.guess(tokens, gamma)) if gamma > 0 else self.no_logits
        return (yield from super().propose(tokens, min(gamma, len(self._logits)), coins, more))

    def next_probs(self, prefix: list[int]) -> Asks[Probs]:
        """Return the row of the position after ``prefix``; it asks for nothing."""
        yield from ()
        place = len(prefix) - self._first
        logits = self._logits[place : place + 1]
        if place:
            logits = self.session.head.follow(logits, np.array(prefix[-1:]))
        probs: Probs = self.sampler(logits, prefix)[0]
        return probs


class ParallelSource:
    """Tells a tree what is guessed for its levels: the nodes of a level share a row, but for what their tokens add.

    Sources: Medusa's trees (Cai et al. 2024, section 2.3.3), which combine the likeliest guesses for each position. See
    :class:`minispec.engine.drafters.trees.TreeSource`.

    Parameters
    ----------
    drafter : ParallelDrafter
    """

    def __init__(self, drafter: ParallelDrafter) -> None:
        self._drafter, self.session = drafter, drafter.session
        self._logits: Array = np.zeros((0, 0), np.float32)
        self._levels: list[int] = []

    def prefill(self, tokens: Sequence[int]) -> Asks[None] | None:
        """Take in the prompt."""
        return self._drafter.prefill(tokens)

    def find_room(self, length: int) -> tuple[int, int]:
        """See :meth:`TreeSource.find_room`; a node takes no room."""
        return min(self._drafter.length, self._drafter.window + 1 - length), self._drafter.window

    def count_slots(self, length: int, num_fed: int) -> int:
        """See :meth:`TreeSource.count_slots`; a node takes none."""
        return self._drafter.count_slots((), length, 0).own

    def begin(self, tokens: Sequence[int]) -> Asks[Array]:
        """See :meth:`TreeSource.begin`."""
        self._logits, self._levels = (yield from self._drafter.guess(tokens, self._drafter.length)), []
        return self._logits[:1]

    def grow(self, nodes: Sequence[int], parents: Sequence[int]) -> Asks[Array]:
        """See :meth:`TreeSource.grow`. It asks for nothing."""
        yield from ()
        levels = [1 + (self._levels[parent] if parent >= 0 else 0) for parent in parents]
        self._levels += levels
        return self.session.head.follow(self._logits[levels], np.asarray(nodes))

    def rollback(self, length: int) -> None:
        """Set the text back."""
        self._drafter.rollback(length)
