"""Medusa: one guess for each of the next positions, all from one hidden state.

Source: Cai et al. 2024 ("Medusa: Simple LLM Inference Acceleration Framework with Multiple Decoding Heads"). With h the
target's last hidden state, after its final norm, guess k is the target's own output matrix applied to

    h + gelu(h W_k + b_k)

The paper gives each guess an output matrix of its own, which begins as the target's. Here all share the target's, so
that a head is small and its pass reads that matrix once.

The state is that of the last token which the target has *fed*. It has yielded the pending token already, but no guess
sees which token that is: guess k is for the k-th position after it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from minispec.engine.backends.base import Array, Cache
from minispec.engine.drafters.heads.feed import HeadFeed
from minispec.engine.drafters.heads.folder import Head
from minispec.engine.drafters.heads.parallel import ParallelDrafter
from minispec.engine.drafters.heads.session import HeadSession
from minispec.engine.model.asks import Ask
from minispec.engine.model.session import Session
from minispec.engine.sampling.sampler import Params


class MedusaHead(Head):
    """The formula above, for positions of any texts together."""

    kind = "medusa"

    def compute(self, cache: Cache, feed: HeadFeed) -> Array:
        """See :meth:`Head.compute`; it has no layers, and leaves nothing in the cache."""
        weights, backend = self.target_weights, self.target_backend
        begins = feed.origins == 0  # the first place of each text; those behind it have the same state
        states = backend.layer_norm(feed.features[begins], weights.ln_f)  # (texts, C)
        guesses = self.backend.linear(states, self.matrix("guess"), activation="gelu_new")
        text = np.cumsum(begins) - 1
        guessed = guesses.reshape(len(states), self.config.length, -1)[text, feed.origins]  # (T, C)
        return backend.linear(states[text] + guessed, weights.lm_head)


class MedusaSession(HeadSession):
    """Rows for the positions of a draft, of which none stays."""

    def feed(self, tokens: Sequence[int], num_logits: int | None = None) -> HeadFeed:
        """See :meth:`Session.feed`: a row for each position, the tokens unread."""
        state = self.read_features(self.target.length - 1, self.target.length)  # (1, C)
        return HeadFeed.extend(super().feed(tokens, num_logits), state.repeat(len(tokens), axis=0), range(len(tokens)))

    def note(self, tokens: Sequence[int], logits: Array) -> None:
        """Count the pass and no tokens."""
        super().note((), logits)


class MedusaDrafter(ParallelDrafter):
    """Guesses from the target's last hidden state.

    Parameters
    ----------
    target : Session
        The session that verifies.
    params : SamplingParams or Sampler
    head : Head
    coupled : bool
        Draw with the noise of plain sampling.
    """

    def __init__(self, target: Session, params: Params, head: Head, *, coupled: bool = False) -> None:
        super().__init__(MedusaSession(target, head), params, coupled=coupled)

    def prefill(self, tokens: Sequence[int]) -> None:
        """Nothing to do: the target's passes leave what is needed."""

    def ask_places(self, tokens: Sequence[int], num_places: int) -> Ask:
        """See :meth:`ParallelDrafter.ask_places`; no token is read."""
        return Ask(self.session, [0] * num_places, num_logits=num_places)
