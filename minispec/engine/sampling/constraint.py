"""Only text of a given form: a regular expression or a JSON schema, turned into token masks by ``llguidance``.

A mask allows the tokens that some text of the form goes on with. Where all texts go on alike, the library allows a
single token, the first of the usual cut of what they share (:meth:`Constraint.find_forced`).

The mask of a position is a function of the tokens generated before it, drafted ones included. The library's matcher
walks one sequence. So each call sets it back to what the prefix shares with the last one, and feeds it the rest; no
answer depends on earlier questions.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minispec.engine.tokenizer import Tokenizer
from minispec.errors import OptionError, explain, missing, quote

_JSON_LAYOUT = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
"""As ``json.dumps`` writes it. Where any white space is allowed, small models put in white space without end."""


class Constraint:
    """Which tokens may follow a generated prefix, so that the whole text has a form.

    Parameters
    ----------
    form : str
        A regular expression that the generated text must match as a whole, or a JSON schema (laid out as ``json.dumps``
        does, on one line).
    kind : {"regex", "json_schema"}
    tokenizer : Tokenizer
    eos_token_id : collection of int
        Tokens that end the text, at least one; allowed exactly where the text may end.
    vocab_size : int
        V of the model.

    Raises
    ------
    MissingDependencyError
        If ``llguidance`` is not installed.
    OptionError
        If the form cannot be compiled.
    """

    def __init__(
        self, form: str, kind: str, tokenizer: Tokenizer, eos_token_id: Collection[int], vocab_size: int
    ) -> None:
        try:
            from llguidance import LLMatcher, LLTokenizer
        except ImportError:
            raise missing("llguidance", "a regex or a JSON schema needs", "constraints") from None
        # The library knows one end; one without text, which it cannot take for a part of the form.
        self._end = min(eos_token_id, key=lambda token: (len(tokenizer.token_bytes(token)), token))
        self._ends = sorted(eos_token_id)
        try:
            if kind == "regex":
                grammar = LLMatcher.grammar_from_regex(form)
            else:
                grammar = LLMatcher.grammar_from_json_schema(form, overrides=_JSON_LAYOUT)
            vocabulary = LLTokenizer(tokenizer.to_json(), n_vocab=vocab_size, eos_token=self._end)
            self._matcher: Any = LLMatcher(vocabulary, grammar, log_level=0)  # it tells us, and not the terminal
            if self._matcher.is_error():
                raise ValueError(self._matcher.get_error())
        except ValueError as error:
            what, way_out = "JSON schema", "Correct or simplify it"
            if kind == "regex":
                what = "regular expression"
            elif not form.lstrip().startswith("{"):
                way_out = 'A schema begins with {; from a file: --json-schema "$(cat FILE)"'
            raise OptionError(f"the {what} {quote(form)} cannot be used ({explain(error)}). {way_out}") from None
        self._what, self._form = "the " + ("regular expression" if kind == "regex" else "JSON schema"), form
        self._consumed: list[int] = []
        self._intact = True  # not while the matcher moves: an interruption may leave it elsewhere than is noted
        self._vocab_size = vocab_size

    def mask(self, generated: Sequence[int]) -> NDArray[np.bool_]:
        """Return which tokens may follow, shape (V,); at least one may.

        Behind the end of the text, and outside its form (where only a deterministic draft can lead, to be rejected),
        everything may: no token drawn there is ever emitted.

        Raises
        ------
        OptionError
            If the library reaches a limit of its own there, and cannot say what may follow.
        """
        packed = self._matcher.compute_bitmask() if self._walk(list(generated)) else None
        self._require_answer()
        if packed is None:
            return np.ones(self._vocab_size, np.bool_)
        bits = np.frombuffer(packed, np.uint8)
        allowed = np.unpackbits(bits, count=self._vocab_size, bitorder="little").astype(np.bool_)
        allowed[self._ends] = allowed[self._end]
        return allowed

    def find_forced(self, generated: Sequence[int]) -> list[int]:
        """Return the tokens of the text that must come next, as the tokenizer cuts it; none where there is a choice.

        A mask allows the first of these and nothing else. A last token that may begin a longer one is left open.

        Raises
        ------
        OptionError
            See :meth:`mask`.
        """
        forced = self._matcher.compute_ff_tokens() if self._walk(list(generated)) else []
        self._require_answer()
        return [int(token) for token in forced]

    def _require_answer(self) -> None:
        """Check that the matcher has not given up; it then says of every text that it is outside the form."""
        if self._matcher.is_error():
            raise OptionError(
                f"{self._what} {quote(self._form)} takes more than llguidance allows "
                f"({self._matcher.get_error().splitlines()[0]}). Simplify it"
            )

    def _walk(self, tokens: list[int]) -> bool:
        """Bring the matcher to the state after ``tokens``; return whether there is one."""
        if not self._intact:
            self._matcher.reset()
            self._consumed = []
        self._intact = False
        shared = 0
        while shared < min(len(tokens), len(self._consumed)) and tokens[shared] == self._consumed[shared]:
            shared += 1
        if shared < len(self._consumed):
            self._matcher.rollback(len(self._consumed) - shared)
        self._consumed = tokens[:shared]
        is_open, consumed = not any(token in tokens for token in self._ends), 0
        if is_open:
            consumed = int(self._matcher.try_consume_tokens(tokens[shared:]))
            self._consumed = tokens[: shared + consumed]
        self._intact = True
        return is_open and shared + consumed == len(tokens)
