"""A model that scores other words than its files say: some alone, as a draft whose head is cheap, or padding besides.

Reading the head is most of a small draft's forward: a column for every word of the vocabulary, and most words are rare.
Without those, the forward costs less and the draft is accepted a little less often, since what the target says of the
missing words can no longer be met. It stays lossless: a word that is never drafted has q = 0, and rejection sampling
makes up for it.

Sources: FR-Spec (Zhao et al. 2025), which ranks words by how often they occur; VocabTrim (Goel et al. 2025). Here the
rank is the id: byte-pair encoding numbers its merges from the commonest pair on.
"""

from __future__ import annotations

import dataclasses
import shlex
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from minispec.engine.backends.base import Array, Feed, Index, Linear
from minispec.engine.model.cache import KVCache
from minispec.engine.model.gpt2 import GPT2
from minispec.engine.model.language_model import FedCache
from minispec.errors import OptionError

_UNLIKELY = np.float32(-1e30)
_trimmed: WeakKeyDictionary[GPT2, dict[int, TrimmedGPT2]] = WeakKeyDictionary()
_fitted: WeakKeyDictionary[GPT2, dict[int, GPT2]] = WeakKeyDictionary()


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class TrimmedGPT2(GPT2):
    """A GPT-2 whose ``weights.lm_head`` has a column for some of its words.

    Parameters
    ----------
    words : ndarray of int
        Their ids, in the order of the columns.
    """

    words: Index = dataclasses.field(kw_only=True)
    _recordings: dict[Any, Any] = dataclasses.field(init=False, default_factory=dict)

    def new_cache(self, capacity: int | None = None) -> KVCache:
        """See :meth:`GPT2.new_cache`; with notes of its own, since what a backend records of a forward has one head."""
        cache = super().new_cache(capacity)
        if self.pool is not None and capacity is None:
            cache.recordings = self._recordings
        return cache

    def run(self, feed: Feed, cache: FedCache) -> Array:
        """See :meth:`GPT2.run`; logits over the whole vocabulary."""
        return spread(super().run(feed, cache), self.words, self.vocab_size)


def trim_words(model: GPT2, num_words: int) -> TrimmedGPT2:
    """Return ``model`` with a head for the first ``num_words`` ids and those that end a text; made once for each model.

    Raises
    ------
    OptionError
        If it has no more words than that.
    """
    words = np.array(sorted({*range(min(num_words, model.vocab_size)), *model.eos_token_id}), np.int64)
    if len(words) >= model.vocab_size:
        raise OptionError(
            f"words is {num_words}; {model.name} has {model.vocab_size}, and a trimmed head has fewer. "
            f"Try --draft {shlex.quote(f'{model.name}:words={max(1, 3 * model.vocab_size // 8)}')}"
        )
    made = _trimmed.setdefault(model, {})
    if num_words not in made:
        backend = model.backend.without(model.weights.lm_head)
        columns = backend.unpack(model.weights.lm_head)[:, words]
        weights = dataclasses.replace(model.weights, lm_head=backend.pack(columns, None, model.dtype))
        parts = {field.name: getattr(model, field.name) for field in dataclasses.fields(model)}
        name = f"{model.name}:words={num_words}"
        made[num_words] = TrimmedGPT2(**parts | {"name": name, "weights": weights, "backend": backend}, words=words)
    return made[num_words]


def fit_vocabulary(model: GPT2, vocab_size: int) -> GPT2:
    """Return ``model`` with so many rows; made once for each model.

    Rows beyond are left out; those that are added are all but impossible, and nothing where they are read.
    """
    made = _fitted.setdefault(model, {})
    if vocab_size not in made:
        weights, tied = model.weights, model.weights.lm_head is model.weights.wte
        backend, more = model.backend.without(weights.wte), max(0, vocab_size - model.vocab_size)

        def fit(matrix: Linear, bias: Array | None = None) -> Linear:
            columns = np.pad(backend.unpack(matrix)[:, :vocab_size], ((0, 0), (0, more)))
            return backend.pack(columns, bias, model.dtype)

        wte = head = fit(weights.wte)
        changes: dict[str, Any] = {}
        if isinstance(model, TrimmedGPT2):  # its head has columns for its words alone
            kept = model.words < vocab_size
            changes["words"] = model.words[kept]
            head = weights.lm_head
            if not kept.all():
                backend = backend.without(head)
                head = backend.pack(backend.unpack(head)[:, kept], None, model.dtype)
        elif more or not tied:
            backend = backend if tied else backend.without(weights.lm_head)
            bias = np.where(np.arange(vocab_size) < model.vocab_size, np.float32(0.0), _UNLIKELY)
            head = fit(weights.lm_head, bias)
        config = dataclasses.replace(model.config, vocab_size=vocab_size)
        weights = dataclasses.replace(weights, wte=wte, lm_head=head)
        made[vocab_size] = dataclasses.replace(model, config=config, weights=weights, backend=backend, **changes)
    return made[vocab_size]


def spread(logits: Array, words: Index, vocab_size: int) -> Array:
    """Return logits over a whole vocabulary, (T, V), given those of some words; all others are all but impossible.

    All but: a constraint may leave none of the words, and the largest logit must be finite.
    """
    wide = np.full((len(logits), vocab_size), _UNLIKELY)
    wide[:, words] = logits
    return wide
