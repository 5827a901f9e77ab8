"""Drafts shown before they are judged: a span of text at the end, of which the verdict leaves a beginning.

The text of a span is what the reader would see if the whole draft were accepted. So it begins with what is held back
of the committed text (an unfinished character, the beginning of a stop string).
"""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from minispec.engine.generation.events import Drafted, Emitted
from minispec.engine.tokenizer import TextStream, Tokenizer


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of text that may be taken back."""

    number: int
    step: int
    text: str


@dataclass(frozen=True, slots=True)
class Settled:
    """What became of a span: ``confirmed`` + ``retracted`` is its text."""

    span: Span
    confirmed: str
    retracted: str


class Spans:
    """The spans of one choice.

    Parameters
    ----------
    tokenizer : Tokenizer
    stop : sequence of str
    min_tokens : int
        A stop that is complete within this many tokens does not count.
    """

    def __init__(self, tokenizer: Tokenizer, stop: Sequence[str] = (), min_tokens: int = 0) -> None:
        self._tokenizer = tokenizer
        self._stop = stop
        self._to_wait = min_tokens
        self._committed = TextStream(tokenizer)
        self._held = ""  # committed characters that nobody was shown yet
        self._number = 0
        self.open: Span | None = None

    def draft(self, drafted: Drafted) -> Span | None:
        """Open a span for a draft; None if it would show nothing."""
        text = self._read(first_path(drafted))
        if not text:
            return None
        self.open = Span(self._number, drafted.step, text)
        self._number += 1
        return self.open

    def settle(self, released: str = "") -> Settled | None:
        """Close the open span, if there is one, by what was released of the text."""
        span, self.open = self.open, None
        if span is None:
            return None
        pairs = takewhile(lambda pair: pair[0] == pair[1], zip(span.text, released, strict=False))
        confirmed = "".join(a for a, _ in pairs)
        return Settled(span, confirmed, span.text[len(confirmed) :])

    def commit(self, emitted: Emitted) -> None:
        """Take in what a step has added."""
        self._to_wait = max(0, self._to_wait - len(emitted.token_ids))
        self._held += "".join(map(self._committed.push, emitted.token_ids))
        self._held = self._held[len(emitted.text) :]

    def _read(self, tokens: Sequence[int]) -> str:
        """Return what these tokens would add to the text that was shown, up to its end; whole characters alone."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        text = self._held + decoder.decode(self._committed.pending)
        waited = len(text)  # no stop counts that is complete before it
        for i, token in enumerate(tokens):
            if token in self._tokenizer.special_ids:
                break
            text += decoder.decode(self._tokenizer.token_bytes(token))
            if i < self._to_wait:
                waited = len(text)
        ends = [begin for stop in self._stop if (begin := text.find(stop, max(0, waited + 1 - len(stop)))) >= 0]
        return text[: min(ends)] if ends else text


def first_path(drafted: Drafted) -> tuple[int, ...]:
    """Return the tokens of a chain, or of the path in a tree that goes to the first child of each node.

    Examples
    --------
    >>> first_path(Drafted(0, 0, (5, 6, 7, 8), (), 0.0, parents=(-1, -1, 0, 1)))
    (5, 7)
    """
    if drafted.parents is None:
        return drafted.tokens
    children: dict[int, int] = {}
    for node, parent in enumerate(drafted.parents):
        children.setdefault(parent, node)
    path, node = [], -1
    while node in children:
        node = children[node]
        path.append(drafted.tokens[node])
    return tuple(path)
