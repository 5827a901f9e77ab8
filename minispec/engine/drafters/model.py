"""Stop 4 of 13: a small model drafts.

It computes the distribution of the next token, and :class:`ChainDrafter` does the rest.

Next: `generation/transcript.py`, which receives the tokens that the rule has accepted.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from minispec.engine.drafters.base import ChainDrafter
from minispec.engine.model.asks import Ask, Asks, ask_prefill
from minispec.engine.model.session import Session
from minispec.engine.records import Probs
from minispec.engine.sampling.sampler import Params


class ModelDrafter(ChainDrafter):
    """Draws tokens one by one from a smaller language model.

    Parameters
    ----------
    session : Session
        The draft model's own session.
    params : SamplingParams or Sampler
    coupled : bool
        See :class:`ChainDrafter`.
    """

    def __init__(self, session: Session, params: Params, *, coupled: bool = False) -> None:
        super().__init__(params, session.model.vocab_size, session.model.n_positions, coupled=coupled)
        self.session = session

    def prefill(self, tokens: Sequence[int]) -> Asks[None]:
        """Feed the prompt, unless it leaves the draft model no room to draft at all."""
        if self.session.model.n_positions >= len(tokens):
            yield from ask_prefill(self.session, tokens)

    def next_probs(self, prefix: list[int]) -> Asks[Probs]:
        """Feed what the cache lacks: one token, or two after a full acceptance."""
        logits = yield Ask(self.session, prefix[self.session.length :], num_logits=1)
        return self.probs(logits, prefix)

    def probs(self, logits: NDArray[np.float32], prefix: Sequence[int]) -> Probs:
        """Return what the token after ``prefix`` is drawn from, given its logits of shape (1, V)."""
        probs: Probs = self.sampler(logits, prefix)[0]
        return probs

    def rollback(self, length: int) -> None:
        """Keep at most the first ``length`` tokens in the draft's cache."""
        self.session.rollback(length)
