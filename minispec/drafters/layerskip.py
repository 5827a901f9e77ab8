"""The target's own first k layers draft for it: no second model, no second cache.

Source: early-exit self-speculation, as in Draft & Verify (Zhang et al. 2023) and LayerSkip (Elhoushi et al. 2024). The
exit is the target's final norm and head, applied after layer k. A model that was not trained for it exits badly, and
the acceptance rate says so; the text is the target's either way.

**Sharing the cache.** Keys and values of the first k layers depend on the tokens alone, so where the target's cache
holds the text, the draft's is there already: drafting feeds the pending token and the drafts to k layers, whose
lengths run ahead of the other layers'. The target's verifying forward sets them back and writes all layers again. It
could keep them (on a batch-invariant backend they are the same bits) and start at layer k + 1; that would save k/L of
a forward over the drafted rows and needs the hidden states of layer k kept too. Writing them again is always sound, on
any backend, and never lets the draft touch what the target reads.
"""

from __future__ import annotations

from collections.abc import Sequence

from minispec.drafters.base import KeepDrafting, Params, Row, as_sampler, draft_chain
from minispec.errors import OptionError
from minispec.model.forward import forward
from minispec.model.gpt2 import GPT2
from minispec.model.session import Session
from minispec.noise import Noise
from minispec.records import Draft


class LayerSkipDrafter:
    """Drafts with the first ``k`` layers of the target, in the target's session.

    Parameters
    ----------
    target : Session
        The session that verifies.
    params : SamplingParams or Sampler
    k : int or None
        Layers to run, at least 1 and fewer than all; by default half of them.
    coupled : bool
        Draw with the noise of plain sampling.

    Raises
    ------
    OptionError
        If the target has no layers to skip, or ``k`` is out of range.
    """

    def __init__(self, target: Session, params: Params, k: int | None = None, *, coupled: bool = False) -> None:
        model = target.model
        depth = model.config.n_layer if isinstance(model, GPT2) else 1
        if not isinstance(model, GPT2) or depth == 1:
            raise OptionError(f"layerskip: {model.name} has 1 layer, so none can be skipped. Try --draft ngram")
        k = depth // 2 if k is None else k
        if not 1 <= k < depth:
            raise OptionError(
                f"layerskip: k is {k}, but {model.name} has {depth} layers; k must be from 1 to {depth - 1}. "
                f"Try layerskip:k={depth // 2}"
            )
        self.k = k
        self._model = model
        self._target = target
        self._sampler = as_sampler(params)
        self._coupled = coupled

    def prefill(self, tokens: Sequence[int]) -> None:
        """Nothing to do: the target's cache is the draft's."""

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
        """Draft up to ``gamma`` tokens and set the first layers back to where the target is."""
        target, model = self._target, self._model

        def next_probs(drafted: list[int]) -> Row | None:
            prefix = [*tokens, *drafted]
            if len(prefix) > model.n_positions:
                return None
            feed = prefix[int(target.cache.lengths[0, 0]) :]
            logits = forward(
                model.weights, model.config, model.backend, feed, target.cache, num_layers=self.k, num_logits=1
            )
            probs: Row = self._sampler(logits, prefix)[0]
            return probs

        target.rollback(target.length)  # whatever ran ahead of the target before
        try:
            return draft_chain(
                next_probs, len(tokens), gamma, noise, vocab_size=model.vocab_size, step=step, row=row,
                coupled=self._coupled, keep_drafting=keep_drafting,
            )  # fmt: skip
        finally:
            target.cache.rollback(target.length)

    def rollback(self, length: int) -> None:
        """Nothing to do: the target goes back itself."""
