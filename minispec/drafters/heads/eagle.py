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
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from minispec.backends.base import Array
from minispec.drafters.base import ChainDrafter, MoreTokens
from minispec.drafters.heads.folder import Head
from minispec.model.asks import Asks
from minispec.model.gpt2 import GPT2
from minispec.model.session import PREFILL_CHUNK, Session
from minispec.noise import Coins
from minispec.records import Draft, Probs
from minispec.sampling.sampler import Params


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
        model, config = cast("GPT2", target.model), head.config
        super().__init__(params, model.vocab_size, model.n_positions, coupled=coupled)
        self._target, self._model, self._config = target, model, config
        self._backend, self._head = head.backend, head
        self._norm, self._fuse, self._token = head.norm("norm"), head.matrix("fuse"), head.matrix("token")
        self._norm_state, self._from_state = head.norm("norm_state"), head.matrix("state")
        self._cache = head.new_cache(model.n_positions)
        self._num_true = 0  # rows fed with the target's own states
        target.cache.keep_features(config.layers)

    def prefill(self, tokens: Sequence[int]) -> None:
        """Feed the rows of the prompt, whose hidden states the target has left."""
        self._catch_up(tokens)

    def propose(self, tokens: Sequence[int], gamma: int, coins: Coins, more: MoreTokens) -> Asks[Draft]:
        """Draft from the last hidden state on; nothing before the target has fed a token."""
        return super().propose(tokens, gamma if self._target.length else 0, coins, more)

    def next_probs(self, prefix: list[int]) -> Asks[Probs]:
        """Feed the rows that the head lacks: first true ones, then one with its own state. It asks for nothing."""
        yield from ()
        if self._cache.length < min(self._target.length, len(prefix) - 1):
            self._state = self._catch_up(prefix)
        else:
            self._state = self._feed(prefix[-1:], self._state)
        probs: Probs = self.sampler(self._head.score(self._state), prefix)[0]
        return probs

    def rollback(self, length: int) -> None:
        """Keep the true rows of the first ``length`` tokens: each row stands on the token after its own."""
        self._num_true = min(self._num_true, max(length - 1, 0))
        self._cache.rollback(self._num_true)

    def _catch_up(self, tokens: Sequence[int]) -> Array:
        """Feed all rows whose hidden states the target has and whose next token is known; return the last output."""
        output = self._backend.zeros((1, self._config.width))
        last = min(self._target.length, len(tokens) - 1)
        while self._num_true < last:
            first, end = self._num_true, min(self._num_true + PREFILL_CHUNK, last)
            features = self._target.cache.read_features(self._config.layers, first, end)  # (T, F * C)
            states = self._backend.linear(features, self._fuse, norm=self._norm)
            output = self._feed(tokens[first + 1 : end + 1], states)[-1:]
            self._num_true = end
        return output

    def _feed(self, tokens: Sequence[int], states: Array) -> Array:
        """Feed rows of the head, (T, d): each a token, and the state of the token before it."""
        backend, feed = self._backend, self._cache.feed(tokens)
        x = backend.linear(self._model.backend.columns(self._model.weights.wte, feed.tokens), self._token)
        x = backend.linear(states, self._from_state, norm=self._norm_state, residual=x)
        x = self._head.run_layers(x, self._cache, feed)
        self._cache.extend(feed)
        return x
