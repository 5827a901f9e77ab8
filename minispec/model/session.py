"""Stop 7 of 14: a session, which is a cache and the tokens that are in it.

Two rules keep drafts and targets in step: *feeding is giving the cache what it lacks*, and *going back is setting a
length*. A session may be behind the committed text by any number of tokens; the next forward catches up.

Whoever decodes does not run forwards. It *asks* for logits, by yielding an :class:`Ask`, and is sent the answer. One
reader is answered at once, with a forward of its own; of many readers, those who ask together share one.

Next: `model/cache.py`, where keys and values lie.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import TypeVar, overload

from minispec.backends.base import Array, Feed
from minispec.errors import InvariantError
from minispec.model.language_model import LanguageModel

PREFILL_CHUNK = 64
"""Tokens per forward of a prefill: enough to reuse every weight, few enough for a progress bar to move."""


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
    """

    def __init__(self, model: LanguageModel) -> None:
        self.model = model
        self.cache = model.new_cache()
        self.tokens: list[int] = []
        self.num_forwards = 0

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
        self.tokens = [*self.tokens, *tokens]
        self.num_forwards += 1

    def prefill(self, tokens: Sequence[int], progress: Callable[[int], None] | None = None) -> None:
        """Feed a prompt chunk by chunk, logits unused.

        Parameters
        ----------
        tokens : sequence of int
            The whole prefix; what the cache already holds of it is not fed again.
        progress : callable, optional
            Called with the number of tokens in the cache after each chunk.
        """
        for ask in self.ask_prefill(tokens):
            ask.answer()
            if progress is not None:
                progress(self.length)

    def ask_prefill(self, tokens: Sequence[int]) -> Asks[None]:
        """Ask for the forwards of :meth:`prefill`, one after the other; their answers are empty."""
        self.rollback(count_shared(self.tokens, tokens))
        if not self.tokens:
            self.tokens = list(tokens[: self.cache.adopt(tokens)])
        for start in range(self.length, len(tokens), PREFILL_CHUNK):
            yield Ask(self, tokens[start : start + PREFILL_CHUNK], num_logits=0)

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
        self._forget_rest()

    def _forget_rest(self) -> None:
        """Set the cache back to ``tokens``: a self-draft's first layers may have run ahead of them."""
        self.cache.rollback(len(self.tokens))


@dataclass(frozen=True, slots=True)
class Ask:
    """Logits that somebody waits for: feed these tokens to a session, and send what :meth:`Session.score` returns.

    Parameters
    ----------
    session : Session
    tokens : sequence of int
    num_logits : int
    """

    session: Session
    tokens: Sequence[int]
    num_logits: int

    def answer(self) -> Array:
        """Run a forward for this ask alone."""
        return self.session.score(self.tokens, self.num_logits)

    def feed(self) -> Feed:
        """Return what that forward would be fed: see :func:`minispec.model.together.answer_together`."""
        return self.session.feed(self.tokens, self.num_logits)

    def note(self, logits: Array) -> None:
        """Tell the session that its tokens were fed."""
        self.session.note(self.tokens, logits)


T = TypeVar("T")
Asks = Generator[Ask, Array, T]
"""Work that asks for logits on the way to a result."""


def ask_for(work: Asks[T] | T) -> Asks[T]:
    """Pass on the asks of some work and return its result; who needs no logits hands over the result at once."""
    if isinstance(work, Generator):
        return (yield from work)
    return work


@overload
def answer(work: Asks[T]) -> T: ...
@overload
def answer(work: T) -> T: ...
def answer(work: Asks[T] | T) -> T:
    """Answer every ask of some work with a forward of its own, and return the result; see :func:`ask_for`."""
    if not isinstance(work, Generator):
        return work
    try:
        ask = next(work)
        while True:
            ask = work.send(ask.answer())
    except StopIteration as end:
        result: T = end.value
        return result


def count_shared(a: Sequence[int], b: Sequence[int]) -> int:
    """Return how many leading tokens two sequences share."""
    shared = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        shared += 1
    return shared
