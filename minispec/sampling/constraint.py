"""Only text of a given form: a regular expression or a JSON schema, compiled to token masks by ``outlines-core``.

The mask of a position is a function of the tokens generated before it, drafted ones included, so it goes with the row
it belongs to and nothing has to be rolled back: states of prefixes are remembered, not mutated.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minispec.errors import MissingDependencyError, OptionError
from minispec.tokenizer import Tokenizer


class Constraint:
    """Which tokens may follow a generated prefix, so that the whole text matches a pattern.

    Parameters
    ----------
    pattern : str
        A regular expression the generated text must match as a whole.
    tokenizer : Tokenizer
    eos_token_id : int
        Allowed exactly where the text may end.
    vocab_size : int
        V of the model.

    Raises
    ------
    MissingDependencyError
        If ``outlines-core`` is not installed.
    OptionError
        If the pattern cannot be compiled, or no text of this vocabulary matches it.
    """

    def __init__(self, pattern: str, tokenizer: Tokenizer, eos_token_id: int, vocab_size: int) -> None:
        try:
            from outlines_core import Index, Vocabulary
        except ImportError:
            raise MissingDependencyError(
                "constraints need outlines-core, which is not installed. Install the extra: pip install outlines-core"
            ) from None
        ids: dict[bytes, list[int]] = {}
        for token in range(tokenizer.vocab_size):
            content = tokenizer.token_bytes(token)
            if content:
                ids.setdefault(content, []).append(token)
        try:
            self._index: Any = Index(pattern, Vocabulary(eos_token_id, ids))
        except ValueError as error:
            reason = " ".join(str(error).split())[:200]
            raise OptionError(
                f"the pattern {pattern[:80]!r} cannot be used ({reason}). Try a simpler regular expression"
            ) from None
        self.pattern = pattern
        self._vocab_size = vocab_size
        self._states: dict[tuple[int, ...], Any] = {(): self._index.get_initial_state()}
        self._masks: dict[Any, NDArray[np.bool_]] = {}

    @classmethod
    def from_json_schema(cls, schema: str, tokenizer: Tokenizer, eos_token_id: int, vocab_size: int) -> Constraint:
        """Compile a JSON schema; the text is then one JSON value that satisfies it."""
        try:
            from outlines_core.json_schema import build_regex_from_schema
        except ImportError:
            raise MissingDependencyError(
                "constraints need outlines-core, which is not installed. Install the extra: pip install outlines-core"
            ) from None
        try:
            json.loads(schema)
            pattern = build_regex_from_schema(schema)
        except (ValueError, TypeError, RuntimeError) as error:
            reason = " ".join(str(error).split())[:200]
            raise OptionError(f"the JSON schema {schema[:80]!r} cannot be used ({reason}). Simplify it") from None
        return cls(pattern, tokenizer, eos_token_id, vocab_size)

    def allowed(self, generated: Sequence[int]) -> NDArray[np.bool_]:
        """Return which tokens may follow, shape (V,); at least one may.

        Behind the end of the pattern, and outside it (where only a deterministic draft can lead, to be rejected),
        everything may: no token drawn there is ever emitted.
        """
        state = self._state(tuple(generated))
        if state not in self._masks:
            mask = np.zeros(self._vocab_size, np.bool_)
            if state is not None:
                mask[self._index.get_allowed_tokens(state)] = True
            if not mask.any():
                mask[:] = True
            self._masks[state] = mask
        return self._masks[state]

    def _state(self, generated: tuple[int, ...]) -> Any:
        """Return the automaton's state after ``generated``, None outside the pattern; remembered per prefix."""
        known = len(generated)
        while generated[:known] not in self._states:
            known -= 1
        state = self._states[generated[:known]]
        for end in range(known, len(generated)):
            state = None if state is None else self._index.get_next_state(state, generated[end])
            self._states[generated[: end + 1]] = state
        return state
