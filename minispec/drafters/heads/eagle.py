"""EAGLE: one small layer goes on where the target's hidden states end, token after token.

Sources: EAGLE (Li et al. 2024) drafts in the target's feature space and feeds the sampled token beside the feature;
EAGLE-3 (Li et al. 2025) reads a low, a middle and a top layer, and trains the head on its own states as well
("training-time test"). Row j of the head sees the state of token j and the token after it, and says what comes behind
both:

    g_j = fuse(norm(features of token j))         where the target has fed token j
    g_j = the head's own output of row j - 1      behind that, in a draft
    x_j = token(e of token j + 1) + state(norm(g_j))
    output_j = layer(x_0 ... x_j),    q = softmax(lm_head(norm(output_j)))

The layer has keys and values of its own. Rows that were fed with the head's own states are set back after each draft,
and fed again with the target's once it has them.

Along a tree, a node's row goes on from the output of its parent's row and sees its ancestors alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from minispec.backends.base import Array
from minispec.drafters.base import ChainDrafter, MoreTokens
from minispec.drafters.heads.folder import Head
from minispec.model.asks import Asks
from minispec.model.gpt2 import GPT2
from minispec.model.session import PREFILL_CHUNK, Session
from minispec.model.tree_session import mask_tree
from minispec.noise import Coins
from minispec.records import Draft, Probs
from minispec.sampling.sampler import Params


class EagleRows:
    """The rows of a head: what it is fed, and what comes out.

    Parameters
    ----------
    target : Session
        The session that verifies.
    head : Head
    """

    def __init__(self, target: Session, head: Head) -> None:
        self._target, self._head, self._config = target, head, head.config
        self._model, self._backend = cast("GPT2", target.model), head.backend
        self._norm, self._fuse, self._token = head.norm("norm"), head.matrix("fuse"), head.matrix("token")
        self._norm_state, self._from_state = head.norm("norm_state"), head.matrix("state")
        self._cache = head.new_cache(self._model.n_positions)
        self._num_true = 0  # rows fed with the target's own states
        target.cache.keep_features(self._config.layers)

    @property
    def is_ready(self) -> bool:
        """Whether the target has fed a token, and there is a state to begin with."""
        return self._target.length > 0

    def rollback(self, length: int) -> None:
        """Keep the true rows of the first ``length`` tokens: each row stands on the token after its own."""
        self._num_true = min(self._num_true, max(length - 1, 0))
        self._cache.rollback(self._num_true)

    def catch_up(self, tokens: Sequence[int]) -> Array:
        """Feed all rows whose hidden states the target has and whose next token is known; return the last output."""
        output = self._backend.zeros((1, self._config.width))
        last = min(self._target.length, len(tokens) - 1)
        while self._num_true < last:
            first, end = self._num_true, min(self._num_true + PREFILL_CHUNK, last)
            features = self._target.cache.read_features(self._config.layers, first, end)  # (T, F * C)
            states = self._backend.linear(features, self._fuse, norm=self._norm)
            output = self.feed(tokens[first + 1 : end + 1], states)[-1:]
            self._num_true = end
        return output

    def begin(self, tokens: Sequence[int]) -> Array:
        """Set back what a draft has left, and return the output of the last true row, (1, d)."""
        self.rollback(len(tokens) - 1)  # the last true row is fed again
        return self.catch_up(tokens)

    def feed(self, tokens: Sequence[int], states: Array, parents: Sequence[int] | None = None) -> Array:
        """Feed rows, (T, d): each a token, and the state of the token before it.

        Where ``parents`` are given, of all nodes so far, the rows are the last nodes of a tree behind the true ones.
        """
        backend, visible = self._backend, None
        if parents is not None:
            visible = mask_tree(parents, self._num_true)[-len(tokens) :]
        feed = self._cache.feed(tokens, visible=visible)
        x = backend.linear(self._model.backend.columns(self._model.weights.wte, feed.tokens), self._token)
        x = backend.linear(states, self._from_state, norm=self._norm_state, residual=x)
        x = self._head.run_layers(x, self._cache, feed)
        self._cache.extend(feed)
        return x


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
        self.head, self._rows = head, EagleRows(target, head)
        self._drafting_from = 0

    def prefill(self, tokens: Sequence[int]) -> None:
        """Feed the rows of the prompt, whose hidden states the target has left."""
        self._rows.catch_up(tokens)

    def propose(self, tokens: Sequence[int], gamma: int, coins: Coins, more: MoreTokens) -> Asks[Draft]:
        """Draft from the last hidden state on; nothing before the target has fed a token."""
        self._drafting_from = len(tokens)
        return super().propose(tokens, gamma if self._rows.is_ready else 0, coins, more)

    def next_probs(self, prefix: list[int]) -> Asks[Probs]:
        """Feed the rows that the head lacks: first true ones, then one with its own state. It asks for nothing."""
        yield from ()
        if len(prefix) == self._drafting_from:
            self._state = self._rows.begin(prefix)
        else:
            self._state = self._rows.feed(prefix[-1:], self._state)
        probs: Probs = self.sampler(self.head.score(self._state), prefix)[0]
        return probs

    def rollback(self, length: int) -> None:
        """Keep the true rows of the first ``length`` tokens."""
        self._rows.rollback(length)


class EagleSource:
    """Tells a tree what the head says at its nodes: see :class:`minispec.drafters.trees.TreeSource`.

    Parameters
    ----------
    target : Session
        The session that verifies.
    head : Head
    """

    def __init__(self, target: Session, head: Head) -> None:
        self.head, self._rows = head, EagleRows(target, head)
        self._num_slots, self._vocab_size = target.model.n_positions, target.model.vocab_size
        self._states, self._parents = np.zeros((0, 0), np.float32), list[int]()

    def prefill(self, tokens: Sequence[int]) -> None:
        """Feed the rows of the prompt, whose hidden states the target has left."""
        self._rows.catch_up(tokens)

    def find_room(self, length: int) -> tuple[int, int]:
        """See :meth:`TreeSource.find_room`: a row for each token of the text but the first, and one for each node."""
        return self._num_slots + 1 - length, self._num_slots + 1 - length

    def begin(self, tokens: Sequence[int]) -> Asks[Array]:
        """See :meth:`TreeSource.begin`; nothing before the target has fed a token. It asks for nothing."""
        yield from ()
        if not self._rows.is_ready:
            return np.zeros((0, self._vocab_size), np.float32)
        self._states, self._parents = self._rows.begin(tokens), []
        return self.head.score(self._states)

    def grow(self, nodes: Sequence[int], parents: Sequence[int]) -> Asks[Array]:
        """See :meth:`TreeSource.grow`. It asks for nothing."""
        yield from ()
        self._parents += parents
        before = self._states[np.asarray(parents) + 1]  # the first is the root's
        states = self._rows.feed(nodes, before, self._parents)
        self._states = np.concatenate([self._states, states])
        return self.head.score(states)

    def rollback(self, length: int) -> None:
        """Keep the true rows of the first ``length`` tokens."""
        self._rows.rollback(length)
