"""Stop 7 of 13: a session, which is a cache and the tokens that are in it.

Two rules keep drafts and targets in step: *feeding is giving the cache what it lacks*, and *going back is setting a
length*. A session may be behind the committed text by any number of tokens; the next forward catches up.

Whoever decodes *asks* a session for logits (``asks``). One reader is answered at once, by :meth:`Session.score`; many
who ask together share a forward, which :meth:`Session.feed` and :meth:`Session.note` come before and after.

Next: `model/cache.py`, where keys and values lie.
"""

from __future__ import annotations

from collections.abc import Sequence

from minispec.engine.backends.base import Array, Feed
from minispec.engine.model.language_model import LanguageModel
from minispec.errors import InvariantError

PREFILL_CHUNK = 64
"""Tokens per forward of a prefill: enough to reuse every weight."""


class Session:
    """A model, a cache, and the tokens that are in it.

    Parameters
    ----------
    model : LanguageModel

    Attributes
    ----------
    tokens : list of int
        What the cache holds, in order. Read it; change it only through the methods.
    num_forwards : int
        Forwards run so far (prefill included).
    num_adopted : int
        Tokens that the last prefill found in others' caches and did not feed.
    """

    def __init__(self, model: LanguageModel) -> None:
        self.model = model
        self.cache = model.new_cache()
        self.tokens: list[int] = []
        self.num_forwards = 0
        self.num_adopted = 0

    @property
    def length(self) -> int:
        """Number of tokens in the cache."""
        return len(self.tokens)

    def score(self, tokens: Sequence[int], num_logits: int | None = None) -> Array:
        """Feed ``tokens`` in one forward and return the logits after each, or after the last ``num_logits``.

        An interrupted forward (Ctrl-C) leaves the session as it was: ``tokens`` counts them only once they are all in.

        Returns
        -------
        ndarray of shape (T or num_logits, V), float32
        """
        self._forget_rest()
        logits = self.model.forward(tokens, self.cache, num_logits)
        self.note(tokens, logits)
        return logits

    def feed(self, tokens: Sequence[int], num_logits: int | None = None) -> Feed:
        """Return what the forward of :meth:`score` is fed, for one who runs it together with others'."""
        self._forget_rest()
        return self.cache.feed(tokens, num_logits=num_logits)

    def note(self, tokens: Sequence[int], logits: Array) -> None:
        """Count in what a forward was fed, once all of its keys and values are in the cache."""
        self.tokens += tokens
        self.num_forwards += 1

    def prefill(self, tokens: Sequence[int]) -> None:
        """Feed a prompt chunk by chunk, logits unused; what the cache holds of it already is not fed again."""
        for chunk in self.prepare_prefill(tokens):
            self.score(chunk, num_logits=0)

    def prepare_prefill(self, tokens: Sequence[int]) -> list[Sequence[int]]:
        """Go back to what the cache shares with a prompt, and return the rest, in chunks that are to be fed."""
        self.rollback(count_shared(self.tokens, tokens))
        if not self.tokens:
            adopted = self.cache.adopt(tokens)
            # Read again, it finds what it has fed itself: that is nobody else's.
            self.num_adopted = min(self.num_adopted, adopted) if self.num_forwards else adopted
            self.tokens = list(tokens[:adopted])
        return [tokens[i : i + PREFILL_CHUNK] for i in range(self.length, len(tokens), PREFILL_CHUNK)]

    def rollback(self, length: int) -> None:
        """Keep at most the first ``length`` tokens.

        Raises
        ------
        InvariantError
            If ``length`` is negative.
        """
        if length < 0:
            raise InvariantError(f"cannot roll a session back to length {length}")
        del self.tokens[length:]
        self._forget_rest()

    def _forget_rest(self) -> None:
        """Set the cache back to ``tokens``: a self-draft's first layers may have run ahead of them."""
        self.cache.rollback(len(self.tokens))


def count_shared(a: Sequence[int], b: Sequence[int]) -> int:
    """Return how many leading tokens two sequences share."""
    shared = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        shared += 1
    return shared
