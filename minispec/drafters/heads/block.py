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
from typing import cast

import numpy as np

from minispec.backends.base import Array
from minispec.drafters.heads.folder import Head
from minispec.drafters.heads.parallel import ParallelDrafter
from minispec.model.gpt2 import GPT2
from minispec.model.session import PREFILL_CHUNK, Session
from minispec.sampling.sampler import Params


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
        model, config = cast("GPT2", target.model), head.config
        super().__init__(params, model.vocab_size, model.n_positions, config.length, coupled=coupled)
        self._target, self._model, self._config = target, model, config
        self._backend, self.head = head.backend, head
        self._norm, self._fuse, self._token = head.norm("norm"), head.matrix("fuse"), head.matrix("token")
        self._places = head.array("place.weight")
        self._cache = head.new_cache(model.n_positions + config.length)
        target.cache.keep_features(config.layers)

    def prefill(self, tokens: Sequence[int]) -> None:
        """Put the hidden states of the prompt into the cache."""
        self._take_in()

    def guess(self, tokens: Sequence[int], num_places: int) -> Array:
        """See :meth:`ParallelDrafter.guess`; the rows leave the cache as it was.

        All places are computed even where fewer are wanted, because each sees the others.
        """
        self._take_in()
        known, count = self._cache.length, self._config.length
        pending = self._model.backend.columns(self._model.weights.wte, np.asarray(tokens[-1:], np.int64))
        x = self._places.copy()
        x[:1] = self._backend.linear(pending, self._token, residual=x[:1])
        feed = self._cache.feed([0] * count, visible=np.ones((count, known + count), np.bool_))
        return self.head.score(self.head.run_layers(x, self._cache, feed)[:num_places])

    def rollback(self, length: int) -> None:
        """Keep what was taken in of the first ``length`` tokens."""
        self._cache.rollback(length)

    def _take_in(self) -> None:
        """Put keys and values of the hidden states that the target has and the cache lacks into every layer."""
        while self._cache.length < self._target.length:
            first = self._cache.length
            end = min(first + PREFILL_CHUNK, self._target.length)
            features = self._target.cache.read_features(self._config.layers, first, end)
            states = self._backend.linear(features, self._fuse, norm=self._norm)  # (T, d)
            feed = self._cache.feed([0] * (end - first))
            for i, block in enumerate(self.head.blocks):
                self._backend.project(states, block.attn.c_attn, block.ln_1, self._cache, i, feed)
            self._cache.extend(feed)
