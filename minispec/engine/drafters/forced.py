"""Drafts the tokens that a constraint leaves no choice about, without a pass; elsewhere another drafter proposes.

A JSON schema dictates names, quotes and brackets. The constraint library lists the tokens that must come next, and its
masks leave the target no other choice. So these tokens are always accepted. Engines append them
without asking (the jump-forward decoding of SGLang, Zheng et al. 2024). Here they are a draft like any other, and the
loop has no second way to lengthen a text.

The drafter's own tokens are deterministic: their rows are one-hot.
"""

from __future__ import annotations

from collections.abc import Sequence

from minispec.engine.drafters.base import Drafter, MoreTokens, Slots, count_slots
from minispec.engine.drafters.ngram import copy_draft
from minispec.engine.model.asks import Asks, ask_for
from minispec.engine.model.session import Session
from minispec.engine.noise import Coins
from minispec.engine.records import Draft
from minispec.engine.sampling import Sampler


class ForcedDrafter:
    """Proposes the tokens that must come next, or lets another drafter propose where there is a choice.

    Parameters
    ----------
    inner : Drafter
        The other one. It learns of tokens that it did not propose when it is next asked.
    sampler : Sampler
        Has the constraint; without one, every draft is the inner drafter's.
    vocab_size : int
        V.
    """

    def __init__(self, inner: Drafter, sampler: Sampler, vocab_size: int) -> None:
        self.inner = inner
        self._sampler = sampler
        self._vocab_size = vocab_size

    @property
    def session(self) -> Session | None:
        """The inner drafter's session, if it has one: whoever shares out memory asks for it."""
        return getattr(self.inner, "session", None)

    def count_slots(self, tokens: Sequence[int], length: int, gamma: int) -> Slots:
        """Return what the inner drafter may fill: what is forced is a chain."""
        return count_slots(self.inner, tokens, length, gamma)

    def prefill(self, tokens: Sequence[int]) -> Asks[None]:
        """Let the inner drafter take the prompt in."""
        yield from ask_for(self.inner.prefill(tokens))

    def propose(self, tokens: Sequence[int], gamma: int, coins: Coins, more: MoreTokens) -> Asks[Draft]:
        """Draft what is forced, and nothing after it; or what the inner drafter drafts."""
        constraint = self._sampler.constraint
        if constraint is not None:
            forced = constraint.find_forced(tokens[self._sampler.num_prompt_tokens :])
            if forced:
                return copy_draft(forced[:gamma], self._vocab_size, more)
        return (yield from ask_for(self.inner.propose(tokens, gamma, coins, more)))

    def rollback(self, length: int) -> None:
        """Set the inner drafter back."""
        self.inner.rollback(length)
