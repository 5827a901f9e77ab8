"""EAGLE: one small layer goes on where the target's hidden states end, token after token.

Sources: EAGLE (Li et al. 2024) drafts in the target's feature space and feeds the sampled token together with the
feature; EAGLE-3 (Li et al. 2025) reads a low, a middle and a top layer, and trains the head on its own states as well
("training-time test"). Row j of the head sees the state of token j and the token after it, and says what comes after
both:

    g_j = fuse(norm(features of token j))         where the target has fed token j
    g_j = the head's own output of row j - 1      after that, in a draft
    x_j = token(e of token j + 1) + state(norm(g_j))
    output_j = layer(x_0 ... x_j),    q = softmax(lm_head(norm(output_j)))

The layer has keys and values of its own. Rows that were fed with the head's own states are set back after each draft,
and fed again with the target's once it has them.

The cache keeps the outputs too, as a target's cache keeps hidden states for its heads. Along a tree, a node's row goes
on from the output of its parent's row and sees its ancestors alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from minispec.engine.backends.base import Array, Cache
from minispec.engine.drafters.base import ChainDrafter, MoreTokens
from minispec.engine.drafters.heads.feed import FROM_TARGET, HeadFeed
from minispec.engine.drafters.heads.folder import Head
from minispec.engine.drafters.heads.session import HeadSession
from minispec.engine.model.asks import Ask, Asks, ask_prefill
from minispec.engine.model.session import Session
from minispec.engine.model.tree_session import AskTree
from minispec.engine.noise import Coins
from minispec.engine.records import Draft, Probs
from minispec.engine.sampling.sampler import Params


class EagleHead(Head):
    """The formula above, for rows of any texts together."""

    kind = "eagle"

    def compute(self, cache: Cache, feed: HeadFeed) -> Array:
        """See :meth:`Head.compute`."""
        x = self.backend.linear(self.embed(feed.tokens), self.matrix("token"))
        states = self._find_states(cache, feed)
        x = self.backend.linear(states, self.matrix("state"), norm=self.norm("norm_state"), residual=x)
        x = self.run_layers(x, cache, feed)
        return self.score(x[len(x) - feed.num_logits :])

    def _find_states(self, cache: Cache, feed: HeadFeed) -> Array:
        """Return g of each row, (T, d): from the target's hidden states, or the output of the row it goes on from."""
        outputs, fed = cache.features.states[-1], feed.origins == FROM_TARGET
        size = outputs.shape[1]
        pages = feed.pages[np.arange(len(fed)), feed.origins // size]
        states: Array = outputs[pages, feed.origins % size]
        if fed.any():
            states[fed] = self.backend.linear(feed.features[fed], self.matrix("fuse"), norm=self.norm("norm"))
        return states


class EagleSession(HeadSession):
    """The rows of a text: row j stands on token j + 1, which is the one that the session counts.

    Parameters
    ----------
    target : Session
        The session that verifies.
    head : Head
    """

    def __init__(self, target: Session, head: Head) -> None:
        super().__init__(target, head)
        self.cache.keep_features([head.config.num_layers])

    @property
    def is_ready(self) -> bool:
        """Whether the target has fed a token, and there is a state to begin with."""
        return self.target.length > 0

    def go_back(self, length: int) -> None:
        """Keep the rows of the first ``length`` tokens of a text."""
        self.rollback(max(length - 1, 0))

    def ask_next(self, tokens: Sequence[int]) -> Asks[Array]:
        """Ask for what comes after ``tokens``: feed the rows that are lacking."""
        return (yield Ask(self, tokens[self.length + 1 :], num_logits=1))

    def feed(self, tokens: Sequence[int], num_logits: int | None = None) -> HeadFeed:
        """See :meth:`Session.feed`: rows over what the target has fed, or after that one over the row before it."""
        feed = super().feed(tokens, num_logits)
        first, last = feed.span
        if last <= self.target.length:
            return HeadFeed.extend(feed, self.read_features(first, last), [FROM_TARGET] * len(tokens))
        return HeadFeed.extend(feed, _no_features(tokens), feed.slots - 1)

    def feed_tree(self, chain: Sequence[int], nodes: Sequence[int], parents: Sequence[int]) -> HeadFeed:
        """See :meth:`TreeSession.feed_tree`; the chain is fed before."""
        feed = super().feed_tree(chain, nodes, parents)
        return HeadFeed.extend(feed, _no_features(nodes), self.length + np.asarray(parents))

    def grow_tree(self, nodes: Sequence[int], parents: Sequence[int]) -> Array:
        """See :meth:`TreeSession.grow_tree`."""
        logits = self.head.run(self.feed_tree((), nodes, parents), self.cache)
        self.note_tree((), nodes, parents, logits)
        return logits


def _no_features(tokens: Sequence[int]) -> Array:
    return np.zeros((len(tokens), 0), np.float32)


class EagleDrafter(ChainDrafter):
    """Drafts with a layer over the target's hidden states and its own.

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
        super().__init__(params, target.model.vocab_size, target.model.n_positions, coupled=coupled)
        self.session = EagleSession(target, head)

    def prefill(self, tokens: Sequence[int]) -> Asks[None]:
        """Feed the rows of the prompt, whose hidden states the target has left."""
        yield from ask_prefill(self.session, tokens[1:])

    def propose(self, tokens: Sequence[int], gamma: int, coins: Coins, more: MoreTokens) -> Asks[Draft]:
        """Draft from the last hidden state on; nothing before the target has fed a token."""
        self.rollback(len(tokens) - 1)  # the last true row is fed again
        draft = yield from super().propose(tokens, gamma if self.session.is_ready else 0, coins, more)
        self.rollback(len(tokens))
        return draft

    def next_probs(self, prefix: list[int]) -> Asks[Probs]:
        """Feed the rows that the head lacks: first true ones, then one with its own state."""
        logits = yield from self.session.ask_next(prefix)
        probs: Probs = self.sampler(logits, prefix)[0]
        return probs

    def rollback(self, length: int) -> None:
        """Keep the rows of the first ``length`` tokens."""
        self.session.go_back(length)


class EagleSource:
    """Tells a tree what the head says at its nodes: see :class:`minispec.engine.drafters.trees.TreeSource`.

    Parameters
    ----------
    target : Session
        The session that verifies.
    head : Head
    """

    def __init__(self, target: Session, head: Head) -> None:
        self.session = EagleSession(target, head)
        self._num_slots, self._vocab_size = target.model.n_positions, target.model.vocab_size

    def prefill(self, tokens: Sequence[int]) -> Asks[None]:
        """Feed the rows of the prompt, whose hidden states the target has left."""
        yield from ask_prefill(self.session, tokens[1:])

    def find_room(self, length: int) -> tuple[int, int]:
        """See :meth:`TreeSource.find_room`: a row for each token of the text but the first, and one for each node."""
        return self._num_slots + 1 - length, self._num_slots + 1 - length

    def count_slots(self, length: int, num_fed: int) -> int:
        """See :meth:`TreeSource.count_slots`."""
        return length + num_fed

    def begin(self, tokens: Sequence[int]) -> Asks[Array]:
        """See :meth:`TreeSource.begin`; nothing before the target has fed a token."""
        if not self.session.is_ready:
            return np.zeros((0, self._vocab_size), np.float32)
        self.rollback(len(tokens) - 1)  # the last true row is fed again
        return (yield from self.session.ask_next(tokens))

    def grow(self, nodes: Sequence[int], parents: Sequence[int]) -> Asks[Array]:
        """See :meth:`TreeSource.grow`."""
        return (yield AskTree(self.session, (), num_logits=len(nodes), nodes=nodes, parents=parents))

    def rollback(self, length: int) -> None:
        """Keep the rows of the first ``length`` tokens; those of nodes were counted as none."""
        self.session.go_back(length)
