"""Stop 6 of 13: where a text ends.

Tokens go in one at a time, also when a block of them was accepted at once, so a stop is exact to the token wherever
in the block it falls. Per token the rules are asked in this order: end-of-sequence token, stop string, token budget,
context; so a stop string that completes with the last token of the budget counts as the stop.

Stop strings are matched on characters, whatever the token boundaries; :class:`HeldText` keeps back what may be the
beginning of one: they match as if the text arrived one character at a time, and the first character that completes any
stop ends the text (the longest stop, if two complete there). A stop string that is complete before the minimum length
is text like any other.

Next: `model/session.py`, which answers what the loop has asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from minispec.engine.records import Finish, Piece, Source
from minispec.engine.tokenizer import TextStream, Tokenizer
from minispec.errors import OptionError, quote


@dataclass(frozen=True, slots=True)
class Limits:
    """When to stop.

    Parameters
    ----------
    max_tokens : int
        Tokens to emit at most, >= 0.
    stop : tuple of str
        Stop strings, none of them empty.
    eos_token_id : frozenset of int
        Tokens that end the text; emitted, but not part of the text.
    n_positions : int
        The context: prompt and emitted tokens together.
    min_tokens : int
        No stop string counts that is complete within this many tokens; the sampler makes the end-of-sequence token
        wait as long.

    Raises
    ------
    OptionError
        If a value is outside its range.
    """

    max_tokens: int
    n_positions: int
    stop: tuple[str, ...] = ()
    eos_token_id: frozenset[int] = frozenset()
    min_tokens: int = 0

    def __post_init__(self) -> None:
        if self.max_tokens < 0:
            raise OptionError(f"max-tokens is {self.max_tokens}; it must be >= 0. Try --max-tokens 128")
        if not_text := [stop for stop in self.stop if not isinstance(stop, str)]:
            raise OptionError(f"a stop string is {quote(not_text[0])}; it must be text. Try --stop END")
        if any(not stop for stop in self.stop):
            raise OptionError("a stop string is empty; it would match everywhere. Leave it out")


class Stopper:
    """Turns emitted tokens into released text and finds the end.

    Parameters
    ----------
    limits : Limits
    tokenizer : Tokenizer or None
        Without one there is no text, and stop strings are refused.
    num_prompt_tokens : int
    """

    def __init__(self, limits: Limits, tokenizer: Tokenizer | None, num_prompt_tokens: int) -> None:
        if limits.stop and tokenizer is None:
            raise OptionError(f"stop strings {list(limits.stop)} need a tokenizer, and the target has none")
        self._limits = limits
        self._tokenizer = tokenizer
        self._stream = None if tokenizer is None else TextStream(tokenizer)
        self._most = min(limits.max_tokens, limits.n_positions - num_prompt_tokens)
        self._held = HeldText(limits.stop)
        self.num_tokens = 0

    @property
    def text(self) -> str:
        """Text released so far."""
        return self._held.released

    @property
    def room(self) -> int:
        """Tokens that budget and context still allow."""
        return self._most - self.num_tokens

    def check_budget(self) -> Finish | None:
        """Return why no further token may be emitted, if that is so."""
        if self.room > 0:
            return None
        return Finish("length" if self.num_tokens >= self._limits.max_tokens else "context")

    def push(self, token: int, source: Source) -> tuple[list[Piece], Finish | None, bool]:
        """Take one emitted token.

        Returns
        -------
        pieces : list of Piece
            Text that is now safe to show.
        finish : Finish or None
            Why the text ends with this token.
        keep : bool
            False if a stop string begins exactly where this token's text begins: then the token is not part of the
            output.
        """
        self.num_tokens += 1
        if token in self._limits.eos_token_id:
            return self._flush(source), Finish("eos"), True
        if self._stream is not None:
            pending = self._stream.pending if self._limits.stop else b""
            text = self._stream.push(token)
            matched = self._held.find_stop(text) if self.num_tokens > self._limits.min_tokens else None
            if matched is not None:
                stop, begin = matched
                keep = begin != self._own_begin(token, pending, text)
                return self._held.cut(Piece(text, source), begin), Finish("stop", stop), keep
            self._held.add(Piece(text, source))
        finish = self.check_budget()
        return (self._held.release() if finish is None else self._flush(source)), finish, True

    def _own_begin(self, token: int, pending: bytes, text: str) -> int | None:
        """Return which character of ``text`` is the token's first; None if it continues a character begun before."""
        assert self._tokenizer is not None
        orphan = pending.decode("utf-8", "replace")  # what the bytes before become if the token does not continue them
        return len(orphan) if orphan + TextStream(self._tokenizer).push(token) == text else None

    def _flush(self, source: Source) -> list[Piece]:
        """Release everything, an unfinished character as U+FFFD."""
        if self._stream is not None:
            self._held.add(Piece(self._stream.flush(), source))
        return self._held.release_all()


class HeldText:
    """Pieces of text that are not released yet.

    Parameters
    ----------
    stops : sequence of str
        The stop strings, none of them empty.

    Attributes
    ----------
    released : str
        The text that is safe to show.
    """

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = stops
        self._longest_stop = max(map(len, stops), default=0)
        self._held: list[Piece] = []
        self.released = ""

    def add(self, piece: Piece) -> None:
        """Hold a piece, after the others."""
        self._held.append(piece)

    def find_stop(self, text: str) -> tuple[str, int] | None:
        """Return the stop completed first within new ``text`` and where it begins, from the start of ``text``."""
        if not self._stops:
            return None
        before = self._window()
        window = before + text
        matches = []
        for stop in self._stops:
            # Only a match that ends within the new text is new; it may begin before it.
            begin = window.find(stop, max(0, len(before) - len(stop) + 1))
            if begin >= 0:
                matches.append((begin + len(stop), -len(stop), stop))
        if not matches:
            return None
        end, minus_length, stop = min(matches)
        return stop, end + minus_length - len(before)

    def cut(self, piece: Piece, begin: int) -> list[Piece]:
        """End the text ``begin`` characters into ``piece``; a negative number falls in what was held back."""
        length = len(self._window()) + begin
        self._held.append(piece)
        return self._take(length)

    def release(self) -> list[Piece]:
        """Release all but the longest suffix that may be the beginning of a stop string."""
        if not self._stops:
            return self.release_all()  # nothing is waited for
        window = self._window()
        suffix = min(len(window), self._longest_stop - 1)
        while suffix > 0 and not self._begins_stop(window[len(window) - suffix :]):
            suffix -= 1
        return self._take(len(window) - max(0, suffix))

    def release_all(self) -> list[Piece]:
        """Release everything."""
        whole, self._held = self._held, []
        return self._let_go([piece for piece in whole if piece.text])

    def _begins_stop(self, text: str) -> bool:
        """Return whether more is to come of a stop that begins so; a whole one was seen, and did not count."""
        return any(len(stop) > len(text) and stop.startswith(text) for stop in self._stops)

    def _window(self) -> str:
        return "".join(piece.text for piece in self._held)

    def _take(self, length: int) -> list[Piece]:
        """Move the first ``length`` held characters to the released text."""
        released: list[Piece] = []
        kept: list[Piece] = []
        for piece in self._held:
            head, tail = piece.text[:length], piece.text[length:]
            length -= len(head)
            if head:
                released.append(Piece(head, piece.source))
            if tail:
                kept.append(Piece(tail, piece.source))
        self._held = kept
        return self._let_go(released)

    def _let_go(self, pieces: list[Piece]) -> list[Piece]:
        """Count pieces as released, and return them."""
        for piece in pieces:
            self.released += piece.text
        return pieces
