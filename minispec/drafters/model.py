"""Stop 8 of 12 · a small model drafts. Before: noise. Next: verifiers/rejection."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from minispec.model.session import Session
from minispec.noise import Address, Noise
from minispec.records import Draft
from minispec.sampling import SamplingParams, distribution


class ModelDrafter:
    """Draws tokens one by one from a smaller language model.

    Parameters
    ----------
    session : Session
        The draft model's own session.
    params : SamplingParams
        The same processors the target uses: a draft token outside the target's nucleus would be rejected anyway.
    """

    def __init__(self, session: Session, params: SamplingParams) -> None:
        self.session = session
        self.params = params

    def prefill(self, tokens: Sequence[int]) -> None:
        """Feed the prompt, unless it leaves the draft model no room to draft at all."""
        if self._room(len(tokens)) > 0:
            self.session.prefill(tokens)

    def propose(self, tokens: Sequence[int], gamma: int, noise: Noise, *, step: int, row: int = 0) -> Draft:
        """Draft up to ``gamma`` tokens; fewer, or none, where the draft model's window ends."""
        drafted: list[int] = []
        probs = np.empty((min(gamma, max(0, self._room(len(tokens)))), self.session.model.vocab_size))
        feed = tokens[self.session.length :]  # what the cache lacks: one token, or two after a full acceptance
        for i in range(len(probs)):
            logits = self.session.score(feed, num_logits=1)
            probs[i] = distribution(logits, self.params)[0]
            drafted.append(noise.categorical(probs[i], at=Address("draft", len(tokens) + i, step, row)))
            feed = drafted[-1:]
        return Draft(tuple(drafted), probs)

    def rollback(self, length: int) -> None:
        """Keep at most the first ``length`` tokens in the draft's cache."""
        self.session.rollback(length)

    def _room(self, num_tokens: int) -> int:
        """Tokens it can draft after ``num_tokens``: all but the last drafted one must fit in its window."""
        return self.session.model.n_positions - num_tokens + 1
