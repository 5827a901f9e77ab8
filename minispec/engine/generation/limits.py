"""Beside stop 6: when to stop, as it was asked for."""

from __future__ import annotations

from dataclasses import dataclass

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
