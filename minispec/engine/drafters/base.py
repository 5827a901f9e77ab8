"""Stop 3 of 13: what a drafter owes the loop, and the drafting loop that most of them share.

A drafter proposes a few tokens, says what each was drawn from, and goes back when it is told to. Most propose a chain
and differ in one thing alone, the distribution of the next token: :class:`ChainDrafter` is the rest.

Next: `drafters/model.py`, the drafter of a default run.
"""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from minispec.engine.model.asks import Asks
from minispec.engine.noise import Coins
from minispec.engine.records import Draft, Probs
from minispec.engine.sampling.sampler import Params, make_sampler

MoreTokens = Callable[[Probs], int]
"""Asked with the distribution of the next draft token *before* it is drawn: how many tokens may still be drafted, this
one included. 0 ends the draft here; 1 saves the forward that would come next.

That order is what keeps it lossless: a rule that looked at the drawn token and dropped it would change the distribution
of the tokens that are left.
"""


class Drafter(Protocol):
    """Proposes what may come next.

    A drafter may never shorten or change the text: when it has nothing to offer (its window is full, say) it returns
    an empty draft and decoding goes on plainly.

    A drafter whose cost is simulated has an attribute ``simulated_cost`` as well: seconds per drafted token, in units
    of a one-row forward of the target. One that may fill more slots than the text has tokens, in the target's cache or
    in that of its own ``session``, has a method ``count_slots``: see :class:`Slots`.
    """

    def prefill(self, tokens: Sequence[int]) -> Asks[None] | None:
        """Take in committed tokens, before the first draft is asked for; with forwards, as a generator of asks."""
        ...

    def propose(self, tokens: Sequence[int], gamma: int, coins: Coins, more: MoreTokens) -> Draft | Asks[Draft]:
        """Draft at most ``gamma`` tokens that could follow the committed ``tokens``.

        ``Draft.probs[i]`` must be the distribution that ``Draft.tokens[i]`` was really drawn from. A drafter that needs
        logits is a generator: it yields each :class:`minispec.engine.model.asks.Ask` and is sent the answer.
        """
        ...

    def rollback(self, length: int) -> None:
        """Forget whatever lies beyond the first ``length`` tokens."""
        ...


class Slots(NamedTuple):
    """The most slots that are filled at a time while a text is drafted for.

    Attributes
    ----------
    target, own : int
        In the target's cache, and in that of the drafter's own session.
    """

    target: int
    own: int


def count_slots(drafter: Drafter, tokens: Sequence[int], length: int, gamma: int) -> Slots:
    """Return what a drafter says that it may fill; unless it says more, the caches hold the text and its chain alone.

    Parameters
    ----------
    drafter : Drafter
    tokens : sequence of int
        The text now.
    length : int
        The longest that it becomes, with the drafts that it may end in.
    gamma : int
        The most that is asked for at a time.
    """
    own = getattr(drafter, "count_slots", None)
    return Slots(length, length) if own is None else own(tokens, length, gamma)


def allow_all(probs: Probs) -> int:
    """Let a draft grow to its full length, whatever it would be drawn from next."""
    return 1 << 30


class ChainDrafter:
    """Draws token after token, each from a distribution that its subclass knows.

    Parameters
    ----------
    params : SamplingParams or Sampler
        The same processors the target uses: a draft token outside the target's nucleus would be rejected anyway.
    vocab_size : int
        V.
    window : int
        The longest text, in tokens, that a next token can be drafted for.
    coupled : bool
        Draw with the noise of plain sampling, for the rules that couple draft and target: the two then often agree.
    """

    def __init__(self, params: Params, vocab_size: int, window: int, *, coupled: bool = False) -> None:
        self.sampler = make_sampler(params)
        self.coupled = coupled
        self._vocab_size = vocab_size
        self.window = window

    @abstractmethod
    def next_probs(self, prefix: list[int]) -> Asks[Probs]:
        """Return the distribution of the token after ``prefix``, shape (V,)."""

    def propose(self, tokens: Sequence[int], gamma: int, coins: Coins, more: MoreTokens) -> Asks[Draft]:
        """Draft up to ``gamma`` tokens; fewer, or none, where the window ends or ``more`` says so."""
        draw = coins.sample if self.coupled else coins.draft
        drafted: list[int] = []
        rows: list[Probs] = []
        gamma = min(gamma, self.window + 1 - len(tokens))
        if gamma <= 0:
            return draft_nothing(self._vocab_size)
        while len(drafted) < gamma:
            probs = yield from self.next_probs([*tokens, *drafted])
            gamma = min(gamma, len(drafted) + more(probs))
            if len(drafted) < gamma:
                drafted.append(draw(len(drafted), probs))
                rows.append(probs)
        return Draft(tuple(drafted), np.asarray(rows, np.float64).reshape(len(rows), self._vocab_size))


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
