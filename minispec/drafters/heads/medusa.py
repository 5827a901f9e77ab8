"""Medusa: one guess for each of the next places, all from one hidden state.

Source: Cai et al. 2024 ("Medusa: Simple LLM Inference Acceleration Framework with Multiple Decoding Heads"). With h the
target's last hidden state, behind its final norm, guess k is the target's own output matrix applied to

    h + gelu(h W_k + b_k)

The paper gives each guess an output matrix of its own, which begins as the target's. Here all share the target's, so
that a head is small and its forward reads that matrix once.

The state is that of the last token which the target has *fed*. It has yielded the pending token already, and no guess
knows which that was: guess k speaks of the k-th place behind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from minispec.backends.base import Array
from minispec.drafters.heads.folder import Head
from minispec.drafters.heads.parallel import ParallelDrafter
from minispec.model.gpt2 import GPT2
from minispec.model.session import Session
from minispec.sampling.sampler import Params


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
        model, config = cast("GPT2", target.model), head.config
        super().__init__(params, model.vocab_size, model.n_positions, config.length, coupled=coupled)
        self._target, self._model, self._layers = target, model, config.layers
        self.head, self._backend, self._guess = head, head.backend, head.matrix("guess")
        target.cache.keep_features(config.layers)

    def prefill(self, tokens: Sequence[int]) -> None:
        """Nothing to do: the target's forwards leave what is needed."""

    def guess(self, tokens: Sequence[int], num_places: int) -> Array:
        """See :meth:`ParallelDrafter.guess`; none before the target has fed a token."""
        fed, weights = self._target.length, self._model.weights
        if not fed:
            return self._logits[:0]
        state = self._target.cache.read_features(self._layers, fed - 1, fed)  # (1, C)
        state = self._model.backend.layer_norm(state, weights.ln_f)
        guessed = self._backend.linear(state, self._guess, activation="gelu_new").reshape(-1, state.shape[1])
        return self._model.backend.linear(state + guessed[:num_places], weights.lm_head)

    def rollback(self, length: int) -> None:
        """Nothing to do: the target goes back itself."""
