"""The target's own first k layers draft for it: no second model, no second cache.

Source: self-speculation. Draft & Verify (Zhang et al. 2023) leaves out layers in the middle; LayerSkip (Elhoushi et al.
2024) exits early, as is done here: the target's final norm and head are applied after layer k. A model that was not
trained for it exits badly, and the acceptance rate says so; the text is the target's either way.

**Sharing the cache.** Keys and values of the first k layers depend on the tokens alone, so where the target's cache
holds the text, the draft's is there already: drafting feeds the pending token and the drafts to k layers, whose
lengths run ahead of the other layers'. The target's verifying pass sets them back and writes all layers again. It
could keep them (on a batch-invariant backend they are the same bits) and start at layer k + 1; that would save k/L of
a pass over the drafted rows and needs the hidden states of layer k kept too. Writing them again is always sound, on
any backend, and never lets the draft touch what the target reads.
"""

from __future__ import annotations

from collections.abc import Sequence

from minispec.engine.backends.base import Array, Feed
from minispec.engine.drafters.base import ChainDrafter, MoreTokens
from minispec.engine.frozen import record
from minispec.engine.model.asks import Ask, Asks
from minispec.engine.model.gpt2 import GPT2
from minispec.engine.model.session import Session
from minispec.engine.noise import Coins
from minispec.engine.records import Draft, Probs
from minispec.engine.sampling.sampler import Params
from minispec.errors import OptionError


class LayerSkipDrafter(ChainDrafter):
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
        super().__init__(params, model.vocab_size, model.n_positions, coupled=coupled)
        self.k = k
        self._target = target

    def prefill(self, tokens: Sequence[int]) -> None:
        """Nothing to do: the target's cache is the draft's."""

    def propose(self, tokens: Sequence[int], gamma: int, coins: Coins, more: MoreTokens) -> Asks[Draft]:
        """Draft from where the target is, also when an earlier draft was interrupted, and set the first layers back."""
        self._target.rollback(self._target.length)
        draft = yield from super().propose(tokens, gamma, coins, more)
        self._target.rollback(self._target.length)
        return draft

    def next_probs(self, prefix: list[int]) -> Asks[Probs]:
        """Feed the first layers what they lack."""
        fed = self._target.cache.lengths[0]
        logits = yield AskLayers(self._target, prefix[fed:], num_logits=1, k=self.k)
        probs: Probs = self.sampler(logits, prefix)[0]
        return probs

    def rollback(self, length: int) -> None:
        """Nothing to do: the target goes back itself."""


@record(frozen=True, slots=True)
class AskLayers(Ask):
    """Logits of the first ``k`` layers: the session's tokens stay as they are, its first layers run ahead."""

    k: int

    def answer(self) -> Array:
        """Run a pass for this ask alone."""
        return self.session.model.run(self.feed(), self.session.cache)

    def feed(self) -> Feed:
        """Return what that pass would be fed."""
        return self.session.cache.feed(self.tokens, num_layers=self.k, num_logits=self.num_logits)

    def note(self, logits: Array) -> None:
        """Leave the session's tokens as they are."""
