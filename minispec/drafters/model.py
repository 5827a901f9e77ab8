"""Stop 8 of 12 · a small model drafts. Before: noise. Next: verifiers/rejection."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from minispec.drafters.base import KeepDrafting, Params, Row, as_sampler, draft_chain
from minispec.model.session import Session
from minispec.noise import Noise
from minispec.records import Draft


class ModelDrafter:
    """Draws tokens one by one from a smaller language model.

    Parameters
    ----------
    session : Session
        The draft model's own session.
    params : SamplingParams or Sampler
        The same processors the target uses: a draft token outside the target's nucleus would be rejected anyway.
    coupled : bool
        Draw with the noise of plain sampling, for the rules that couple draft and target.
    """

    def __init__(self, session: Session, params: Params, *, coupled: bool = False) -> None:
        self.session = session
        self.params = params
        self.sampler = as_sampler(params)
        self.coupled = coupled

    def prefill(self, tokens: Sequence[int]) -> None:
        """Feed the prompt, unless it leaves the draft model no room to draft at all."""
        if self.session.model.n_positions >= len(tokens):
            self.session.prefill(tokens)

    def propose(
        self,
        tokens: Sequence[int],
        gamma: int,
        noise: Noise,
        *,
        step: int,
        row: int = 0,
        keep_drafting: KeepDrafting | None = None,
    ) -> Draft:
        """Draft up to ``gamma`` tokens; fewer, or none, where the draft model's window ends."""

        def next_probs(drafted: list[int]) -> Row | None:
            prefix = [*tokens, *drafted]
            if len(prefix) > self.session.model.n_positions:  # all but the token to be drafted must fit in the window
                return None
            # Feed what the cache lacks: one token, or two after a full acceptance.
            return self.probs(self.session.score(prefix[self.session.length :], num_logits=1), prefix)

        return draft_chain(
            next_probs, len(tokens), gamma, noise, vocab_size=self.session.model.vocab_size, step=step, row=row,
            coupled=self.coupled, keep_drafting=keep_drafting,
        )  # fmt: skip

    def probs(self, logits: NDArray[np.float32], prefix: Sequence[int]) -> Row:
        """Return what the token after ``prefix`` is drawn from, given its logits of shape (1, V)."""
        probs: Row = self.sampler(logits, prefix)[0]
        return probs

    def rollback(self, length: int) -> None:
        """Keep at most the first ``length`` tokens in the draft's cache."""
        self.session.rollback(length)
