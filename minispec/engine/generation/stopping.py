"""Stop 6 of 13: where a text ends.

Tokens go in one at a time, also when a block of them was accepted at once, so a stop is exact to the token wherever
in the block it falls. Per token the rules are asked in this order: end-of-sequence token, stop string, token budget,
context; so a stop string that completes with the last token of the budget counts as the stop.

Stop strings are matched on characters, whatever the token boundaries; ``held_text`` keeps back what may be the
beginning of one. A stop string that is complete before the minimum length is text like any other.

Next: `model/session.py`, which answers what the loop has asked.
"""

from __future__ import annotations

from minispec.engine.generation.held_text import HeldText
from minispec.engine.generation.limits import Limits
from minispec.engine.records import Finish, Piece, Source
from minispec.engine.tokenizer import TextStream, Tokenizer
from minispec.errors import OptionError


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
