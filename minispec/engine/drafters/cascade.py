"""A draft for the draft: a cheap drafter proposes to the draft model, which verifies as the target does.

Source: the vertical cascade of Cascade Speculative Drafting (Chen et al. 2023). A pass of the draft model then
yields several of its tokens. Because the inner verification is lossless, each drafted token is distributed *exactly* as
the draft model's own given the tokens before it, so the rows handed to the target are the draft model's, and nothing
outside can tell the difference: for the target this is a ``ModelDrafter`` that costs less.

The inner random draws have addresses of their own (``level=1``). The draft's length is fixed before any of them is
made, or by ``more`` from a row that depends only on the tokens before it. Ending the draft *after* the token that
corrects the inner drafter would be sound as well. Dropping that token would not: the length would then depend on the
tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from minispec.engine.drafters.base import Drafter, MoreTokens, allow_all
from minispec.engine.model.asks import Ask, Asks, ask_for, ask_prefill
from minispec.engine.model.session import Session
from minispec.engine.noise import Coins
from minispec.engine.records import Draft, Probs
from minispec.engine.sampling.sampler import Params, make_sampler
from minispec.engine.verifiers.rejection import residual


class CascadeDrafter:
    """A draft model that is drafted for.

    Parameters
    ----------
    session : Session
        The draft model's own session.
    params : SamplingParams or Sampler
    inner : Drafter
        Proposes to it; usually a :class:`minispec.engine.drafters.ngram.NgramDrafter`.
    coupled : bool
        Draw with the noise of plain sampling; an inner draft then stays while the draft model's own draw equals it.

    Attributes
    ----------
    num_inner, num_inner_accepted : int
        Tokens the inner drafter has proposed, and how many of them the draft model kept.
    """

    def __init__(self, session: Session, params: Params, inner: Drafter, *, coupled: bool = False) -> None:
        self.session = session
        self.inner = inner
        self.num_inner = 0
        self.num_inner_accepted = 0
        self._sampler = make_sampler(params)
        self._coupled = coupled

    def prefill(self, tokens: Sequence[int]) -> Asks[None]:
        """Feed the prompt to both."""
        if self.session.model.n_positions >= len(tokens):
            yield from ask_prefill(self.session, tokens)
            yield from ask_for(self.inner.prefill(tokens))

    def propose(self, tokens: Sequence[int], gamma: int, coins: Coins, more: MoreTokens) -> Asks[Draft]:
        """Draft up to ``gamma`` tokens of the draft model in as few of its passes as the inner drafter manages."""
        text = list(tokens)
        rows: list[Probs] = []
        window = self.session.model.n_positions
        end = len(tokens) + min(gamma, window + 1 - len(tokens))  # of what is drafted
        inner_round = 0
        while len(text) < end:
            # One guess per token that may be drafted, so that how a token is drawn never depends on where the draft
            # must end. The last guess need not be fed: nothing of this draft follows it.
            inner = replace(coins, position=len(text), level=1, node=1 + inner_round)
            guess = yield from ask_for(self.inner.propose(text, end - len(text), inner, allow_all))
            fed = guess.tokens[: end - len(text) - 1]
            logits = yield Ask(self.session, [*text[self.session.length :], *fed], num_logits=len(fed) + 1)
            own = self._sampler(logits, [*text, *fed])
            end = self._verify(text, rows, guess, own, coins, more, end)
            self.session.rollback(len(text) - 1)
            self.inner.rollback(len(text) - 1)
            inner_round += 1
        drafted = tuple(text[len(tokens) :])
        return Draft(drafted, np.asarray(rows, np.float64).reshape(len(rows), self.session.model.vocab_size))

    def rollback(self, length: int) -> None:
        """Set both back."""
        self.session.rollback(length)
        self.inner.rollback(length)

    def _verify(
        self,
        text: list[int],
        rows: list[Probs],
        guess: Draft,
        probs: NDArray[np.float64],
        coins: Coins,
        more: MoreTokens,
        end: int,
    ) -> int:
        """Append accepted guesses and the draft model's own token, each with its row; return where to end."""
        for i, own in enumerate(probs):
            end = min(end, len(text) + more(own))
            if len(text) == end:
                break
            guessed = guess.tokens[i] if i < len(guess) else None
            self.num_inner += guessed is not None
            rows.append(own)
            text.append(self._decide(guessed, own, guess, i, coins, len(text) - coins.position))
            if guessed is None or text[-1] != guessed:
                break
            self.num_inner_accepted += 1
            if len(text) == end:
                break
        return end

    def _decide(self, guessed: int | None, own: Probs, guess: Draft, i: int, coins: Coins, place: int) -> int:
        """Return a token distributed as ``own``, the guessed one if possible."""
        if guessed is None or self._coupled:
            return (coins.sample if self._coupled else coins.draft)(place, own)
        inner = replace(coins, level=1)
        if inner.accept(place, min(1.0, own[guessed] / guess.probs[i, guessed])):
            return guessed
        return inner.residual(place, residual(own, guess.probs[i]))
