"""Beside stop 7: logits are asked for, and whoever drives the run answers.

A drafter or a loop that needs logits is a generator. It yields an :class:`Ask` and is sent the answer, so it does not
know whether a forward was run for it alone or for many who asked together.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TypeVar, overload

from minispec.engine.backends.base import Array, Feed
from minispec.engine.frozen import record
from minispec.engine.model.session import Session


@record(frozen=True, slots=True)
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

    @property
    def num_tokens(self) -> int:
        """Tokens to be fed."""
        return len(self.tokens)

    def answer(self) -> Array:
        """Run a forward for this ask alone."""
        return self.session.score(self.tokens, self.num_logits)

    def feed(self) -> Feed:
        """Return what that forward would be fed: see :func:`minispec.engine.model.together.answer_together`."""
        return self.session.feed(self.tokens, self.num_logits)

    def note(self, logits: Array) -> None:
        """Tell the session that its tokens were fed."""
        self.session.note(self.tokens, logits)


T = TypeVar("T")
Asks = Generator[Ask, Array, T]
"""Work that asks for logits on the way to a result."""


def ask_prefill(session: Session, tokens: Sequence[int], *, leave_last: bool = False) -> Asks[None]:
    """Ask for the forwards of :meth:`Session.prefill`, one after the other; their answers are empty.

    The last chunk may be left for a forward that has an answer.
    """
    chunks = session.prepare_prefill(tokens)
    for chunk in chunks[:-1] if leave_last else chunks:
        yield Ask(session, chunk, num_logits=0)


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
