"""A block: all tokens of a draft in one pass, each place seeing the target's hidden states and the other places.

Source: DFlash (2026, arXiv 2602.06036). The hidden states of the text are the keys and values that the draft's layers
attend to; the rows are the pending token and one placeholder for each place behind it, and they see one another in both
directions, because none of them is a drawn token yet:

    c_j = fuse(norm(features of token j))      for each token that the target has fed: keys and values of every layer
    x_0 = token(e of the pending token) + place_0,    x_k = place_k
    q_k = softmax(lm_head(norm(layers(x)_k)))         of the k-th place behind the pending token

A row of the draft knows the committed text and nothing that was drawn, so each token's row is what it was drawn from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from minispec.backends.base import Array, Cache
from minispec.drafters.heads.feed import FROM_TARGET, HeadFeed
from minispec.drafters.heads.folder import Head
from minispec.drafters.heads.parallel import ParallelDrafter
from minispec.drafters.heads.session import HeadSession
from minispec.model.asks import Ask, Asks, ask_prefill
from minispec.model.session import Session
from minispec.sampling.sampler import Params


class BlockHead(Head):
    """The formula above, for rows of any texts together."""

    kind = "block"

    def compute(self, cache: Cache, feed: HeadFeed) -> Array:
        """See :meth:`Head.compute`: first what the target has fed, then the places, which look at it."""
        known, places = np.flatnonzero(feed.origins == FROM_TARGET), np.flatnonzero(feed.origins != FROM_TARGET)
        if len(known):
            self._take_in(cache, feed.take(known))
        return self._guess(cache, feed.take(places))

    def _take_in(self, cache: Cache, feed: HeadFeed) -> None:
        """Put keys and values of hidden states into every layer."""
        states = self.backend.linear(feed.features, self.matrix("fuse"), norm=self.norm("norm"))  # (T, d)
        for i, block in enumerate(self.blocks):
            self.backend.project(states, block.attn.c_attn, block.ln_1, cache, i, feed)

    def _guess(self, cache: Cache, feed: HeadFeed) -> Array:
        """Return the logits of the places that are wanted, the last of each text's."""
        x = self.array("place.weight")[feed.origins]  # (T, d)
        begins = feed.origins == 0
        x[begins] = self.backend.linear(self.embed(feed.tokens[begins]), self.matrix("token"), residual=x[begins])
        x = self.run_layers(x, cache, feed) if len(x) else x
        return self.score(x[len(x) - feed.num_logits :])


class BlockSession(HeadSession):
    """Rows for what the target has fed, and behind them rows for the places of a draft, which do not stay."""

    def feed(self, tokens: Sequence[int], num_logits: int | None = None) -> HeadFeed:
        """See :meth:`Session.feed`: if logits are wanted, the last tokens are places, and the first of those wanted.

        All places are fed even where fewer are wanted, because each sees the others.
        """
        feed = super().feed(tokens, num_logits)
        first, last = feed.span
        num_known = len(tokens) - self._count_places(feed.num_logits)
        known, places = np.arange(num_known), np.arange(len(tokens) - num_known)
        features = self.read_features(first, first + num_known)
        features = np.concatenate([features, np.zeros((len(places), features.shape[1]), np.float32)])
        origins = np.concatenate([np.full(num_known, FROM_TARGET), places])
        feed = HeadFeed.extend(replace(feed, ends=np.full(len(tokens), last)), features, origins)
        return feed.take(np.concatenate([known, num_known + np.roll(places, -feed.num_logits)]))  # the wanted last

    def note(self, tokens: Sequence[int], logits: Array) -> None:
        """Count what the target has fed, and not the places."""
        super().note(tokens[: len(tokens) - self._count_places(len(logits))], logits)

    def _count_places(self, num_logits: int) -> int:
        return self.head.config.length if num_logits else 0


class BlockDrafter(ParallelDrafter):
    """Guesses all places in one forward.

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
        super().__init__(BlockSession(target, head), params, coupled=coupled)

    def prefill(self, tokens: Sequence[int]) -> Asks[None]:
        """Put the hidden states of the prompt into the cache."""
        yield from ask_prefill(self.session, tokens)

    def guess(self, tokens: Sequence[int], num_places: int) -> Asks[Array]:
        """See :meth:`ParallelDrafter.guess`: the pending token is the first place, and nobody knows the others."""
        unknown = [0] * (self.length - 1)
        return (yield Ask(self.session, [*tokens[self.session.length :], *unknown], num_logits=num_places))
