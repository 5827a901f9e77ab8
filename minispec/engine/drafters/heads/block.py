"""A block: all positions of a draft in one pass, and then token after token, each row leaning on the token before it.

Sources: DFlash (2026, arXiv 2602.06036) for the pass, DSpark (2026, arXiv 2607.05147) for what is drawn from it. The
hidden states of the text are the keys and values that the draft's layers attend to. There is one row for each position
after the text, and the rows see one another in both directions, because none of them is a drawn token yet:

    c_j = fuse(norm(features of token j))      for each token that the target has fed: keys and values of every layer
    x_k = token(e of the pending token) + state(norm(c of the token before it)) + place_k,    k = 0, 1, ...
    l_k = lm_head(norm(layers(x)_k))                  of the k-th position after the pending token
    q_0 = softmax(l_0),    q_k = softmax(l_k + lm_head(previous(e of the token at position k - 1)))

What is added is a Markov chain's: it knows one token and no text, has the rank of the head's width, and costs a row of
``lm_head`` once the token is drawn. DSpark's has two tables of its own; sharing ``lm_head`` keeps the head small. Its
confidence head is left out: q is known before a token is drawn, and what stops a draft asks q.

DFlash gives the first row the pending token, and the others nothing but their positions. Here every row begins as the
first row of an ``eagle`` does, because a head that is trained for minutes hardly learns to gather that by attention.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from minispec.engine.backends.base import Array, Cache, Index
from minispec.engine.drafters.heads.feed import FROM_TARGET, HeadFeed
from minispec.engine.drafters.heads.folder import Head
from minispec.engine.drafters.heads.parallel import ParallelDrafter
from minispec.engine.drafters.heads.session import HeadSession
from minispec.engine.model.asks import Ask, Asks, ask_prefill
from minispec.engine.model.session import Session
from minispec.engine.sampling.sampler import Params


class BlockHead(Head):
    """The formula above, for rows of any texts together."""

    kind = "block"

    def compute(self, cache: Cache, feed: HeadFeed) -> Array:
        """See :meth:`Head.compute`: first what the target has fed, then the positions, which look at it."""
        states = self.backend.linear(feed.features, self.matrix("fuse"), norm=self.norm("norm"))  # (T, d)
        known, places = np.flatnonzero(feed.origins == FROM_TARGET), np.flatnonzero(feed.origins != FROM_TARGET)
        if len(known):
            self._take_in(states[known], cache, feed.take(known))
        return self._guess(states[places], cache, feed.take(places))

    def follow(self, logits: Array, tokens: Index) -> Array:
        """See :meth:`Head.follow`."""
        return logits + self.score(self.backend.linear(self.embed(tokens), self.matrix("previous")), norm=None)

    def _take_in(self, states: Array, cache: Cache, feed: HeadFeed) -> None:
        """Put keys and values of hidden states into every layer."""
        for i, block in enumerate(self.blocks):
            self.backend.project(states, block.attn.c_attn, block.ln_1, cache, i, feed)

    def _guess(self, states: Array, cache: Cache, feed: HeadFeed) -> Array:
        """Return the logits of the positions that are wanted, the last of each text's."""
        x = self.array("place.weight")[feed.origins]  # (T, d)
        x = self.backend.linear(self.embed(feed.tokens), self.matrix("token"), residual=x)
        x = self.backend.linear(states, self.matrix("state"), norm=self.norm("norm_state"), residual=x)
        x = self.run_layers(x, cache, feed) if len(x) else x
        return self.score(x[len(x) - feed.num_logits :])


class BlockSession(HeadSession):
    """Rows for what the target has fed, and after them rows for the positions of a draft, which do not stay."""

    def feed(self, tokens: Sequence[int], num_logits: int | None = None) -> HeadFeed:
        """See :meth:`Session.feed`: if logits are wanted, the last tokens are positions, and the first of those wanted.

        All positions are fed even where fewer are wanted, because each sees the others.
        """
        feed = super().feed(tokens, num_logits)
        first, last = feed.span
        num_known = len(tokens) - self._count_places(feed.num_logits)
        known, places = np.arange(num_known), np.arange(len(tokens) - num_known)
        of_known = self.read_features(first, first + num_known)
        of_last = self.read_features(max(first + num_known - 1, 0), first + num_known)
        features = np.concatenate([of_known, of_last.repeat(len(places), axis=0)])
        origins = np.concatenate([np.full(num_known, FROM_TARGET), places])
        feed = HeadFeed.extend(replace(feed, ends=np.full(len(tokens), last)), features, origins)
        return feed.take(np.concatenate([known, num_known + np.roll(places, -feed.num_logits)]))  # the wanted last

    def note(self, tokens: Sequence[int], logits: Array) -> None:
        """Count what the target has fed, and not the positions."""
        super().note(tokens[: len(tokens) - self._count_places(len(logits))], logits)

    def _count_places(self, num_logits: int) -> int:
        return self.head.config.length if num_logits else 0


class BlockDrafter(ParallelDrafter):
    """Guesses all positions in one pass, and draws each behind the one before it.

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

    def ask_places(self, tokens: Sequence[int], num_places: int) -> Ask:
        """See :meth:`ParallelDrafter.ask_places`: every position is fed the pending token."""
        pending = [tokens[-1]] * (self.length - 1)
        return Ask(self.session, [*tokens[self.session.length :], *pending], num_logits=num_places)
