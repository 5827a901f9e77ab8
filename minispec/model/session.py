"""Stop 5 of 12 · a session: a cache and the tokens it has seen. Before: model/forward. Next: sampling/draw.

Two rules keep drafts and targets in step: *feeding is giving the cache what it lacks*, and *going back is setting a
length*. A session may be behind the committed text by any number of tokens; the next :meth:`Session.score` catches up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from minispec.backends.base import Array
from minispec.errors import InvariantError
from minispec.model.cache import KVCache

PREFILL_CHUNK = 64
"""Tokens per forward of a prefill: enough rows to reuse every weight, few enough for a progress bar to move."""


class LanguageModel(Protocol):
    """What decoding needs of a model: GPT-2 has it, and so has a table small enough to enumerate."""

    @property
    def name(self) -> str:
        """How messages call it."""
        ...

    @property
    def vocab_size(self) -> int:
        """V."""
        ...

    @property
    def n_positions(self) -> int:
        """Longest sequence, in tokens."""
        ...

    @property
    def eos_token_id(self) -> frozenset[int]:
        """Tokens that end a text."""
        ...

    @property
    def batch_invariant(self) -> bool:
        """Whether a row's logits have the same bits whatever other rows are computed with it."""
        ...

    def new_cache(self, rows: int = 1, capacity: int | None = None) -> KVCache:
        """Return an empty cache."""
        ...

    def forward(self, tokens: Sequence[int], cache: KVCache, num_logits: int | None = None) -> Array:
        """Feed tokens to the cache and return logits of shape (T or num_logits, V)."""
        ...


class Session:
    """A model, a cache, and the tokens that are in it.

    Parameters
    ----------
    model : LanguageModel

    Attributes
    ----------
    tokens : list of int
        What the cache holds, in order. Read it; change it only through the methods.
    num_forwards, num_fed : int
        Forwards run and tokens fed so far (prefill included): the cost, in the units that matter.
    """

    def __init__(self, model: LanguageModel) -> None:
        self.model = model
        self.cache = model.new_cache()
        self.tokens: list[int] = []
        self.num_forwards = 0
        self.num_fed = 0

    @property
    def length(self) -> int:
        """Number of tokens in the cache."""
        return len(self.tokens)

    def score(self, tokens: Sequence[int], num_logits: int | None = None) -> Array:
        """Feed ``tokens`` in one forward and return the logits after each, or after the last ``num_logits``.

        An interrupted forward (Ctrl-C) leaves the session as it was: ``tokens`` counts them only once they are all in,
        and the layers that ran ahead are set back first thing next time.

        Returns
        -------
        ndarray of shape (T or num_logits, V), float32
        """
        self.cache.rollback(len(self.tokens))
        logits = self.model.forward(tokens, self.cache, num_logits)
        self.tokens = [*self.tokens, *tokens]
        self.num_forwards += 1
        self.num_fed += len(tokens)
        return logits

    def prefill(self, tokens: Sequence[int], progress: Callable[[int], None] | None = None) -> None:
        """Feed a prompt chunk by chunk, logits unused.

        Parameters
        ----------
        tokens : sequence of int
            The whole prefix; what the cache already holds of it is not fed again.
        progress : callable, optional
            Called with the number of tokens in the cache after each chunk.
        """
        self.rollback(common_prefix(self.tokens, tokens))
        for start in range(self.length, len(tokens), PREFILL_CHUNK):
            self.score(tokens[start : start + PREFILL_CHUNK], num_logits=0)
            if progress is not None:
                progress(self.length)

    def rollback(self, length: int) -> None:
        """Keep at most the first ``length`` tokens.

        Raises
        ------
        InvariantError
            If ``length`` is negative.
        """
        if length < 0:
            raise InvariantError(f"cannot roll a session back to length {length}")
        self.tokens = self.tokens[:length]
        self.cache.rollback(len(self.tokens))


def common_prefix(a: Sequence[int], b: Sequence[int]) -> int:
    """Return how many leading tokens two sequences share."""
    shared = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        shared += 1
    return shared
