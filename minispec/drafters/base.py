"""Stop 3 of 14: what a drafter owes the loop, and the drafting loop that most of them share.

A drafter proposes a few tokens, says what each was drawn from, and goes back when it is told to. Most propose a chain
and differ in one thing alone, the distribution of the next token: :class:`ChainDrafter` is the rest.

Next: `drafters/model.py`, the drafter of a default run.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from minispec.model.session import Asks
from minispec.noise import Coins
from minispec.records import Draft, Probs
from minispec.sampling import Sampler, SamplingParams

MoreTokens = Callable[[Probs], int]
"""Asked with the distribution of the next draft token *before* it is drawn: how many tokens may still be drafted, this
one included. 0 ends the draft here; 1 saves the forward that would come next.

That order is what keeps it lossless: a rule that looked at the drawn token and dropped it would change the distribution
of the tokens that are left.
"""

Params = SamplingParams | Sampler
"""How logits become what a draft is drawn from; a Sampler knows the request's penalties and constraint as well."""


class Drafter(Protocol):
    """Proposes what may come next.

    A drafter may never shorten or change the text: when it has nothing to offer (its window is full, say) it returns
    an empty draft and decoding goes on plainly.

    A drafter whose cost is simulated has an attribute ``simulated_cost`` as well: seconds per drafted token, in units
    of a one-row forward of the target.
    """

    def prefill(self, tokens: Sequence[int]) -> Asks[None] | None:
        """Take in committed tokens before the clock of the first step starts; with forwards, as a generator of asks."""
        ...

    def propose(self, tokens: Sequence[int], gamma: int, coins: Coins, more: MoreTokens) -> Draft | Asks[Draft]:
        """Draft at most ``gamma`` tokens that could follow the committed ``tokens``.

        ``Draft.probs[i]`` must be the distribution that ``Draft.tokens[i]`` was really drawn from. A drafter that needs
        logits is a generator: it yields each :class:`minispec.model.session.Ask` and is sent the answer.
        """
        ...

    def rollback(self, length: int) -> None:
        """Forget whatever lies beyond the first ``length`` tokens."""
        ...


def make_sampler(params: Params) -> Sampler:
    """Return the sampler of plain sampling parameters, and a sampler as it is."""
    return params if isinstance(params, Sampler) else Sampler(params)


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
        self._window = window

    @abstractmethod
    def next_probs(self, prefix: list[int]) -> Asks[Probs]:
        """Return the distribution of the token after ``prefix``, shape (V,)."""

    def propose(self, tokens: Sequence[int], gamma: int, coins: Coins, more: MoreTokens) -> Asks[Draft]:
        """Draft up to ``gamma`` tokens; fewer, or none, where the window ends or ``more`` says so."""
        draw = coins.sample if self.coupled else coins.draft
        drafted: list[int] = []
        rows: list[Probs] = []
        gamma = min(gamma, self._window + 1 - len(tokens))
        while len(drafted) < gamma:
            probs = yield from self.next_probs([*tokens, *drafted])
            gamma = min(gamma, len(drafted) + more(probs))
            if len(drafted) < gamma:
                drafted.append(draw(len(drafted), probs))
                rows.append(probs)
        return Draft(tuple(drafted), np.asarray(rows, np.float64).reshape(len(rows), self._vocab_size))


def one_hot(tokens: Sequence[int], vocab_size: int) -> NDArray[np.float64]:
    """Return a row per token with all mass on it, shape (G, V)."""
    probs = np.zeros((len(tokens), vocab_size))
    probs[np.arange(len(tokens)), np.asarray(tokens, np.int64)] = 1.0
    return probs
