"""Wrong ends: end of text, stop strings, budget, context."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any
from unittest import mock

from minispec.engine.generation import Stream
from minispec.engine.generation import api as opening
from minispec.engine.generation.stopping import HeldText, Limits, Stopper
from minispec.engine.generation.transcript import Transcript
from minispec.engine.records import Finish
from minispec.engine.sampling import Sampler
from minispec.engine.tokenizer import TextStream
from tests.engine.laws.space import PROMPT

from .tools import (
    change,
    mutant,
    wraps,
)

# ── 8: end of text, budget, context ─────────────────────────────────────────────────────────────────────────────────


@mutant(8, "law of eos")
def eos_is_looked_for_at_the_end_of_a_block():
    """Stopping rules see only the last token of a step."""

    def advance(self, tokens, sources):
        released = []
        for token, source in zip(tokens, sources, strict=True):
            pieces, self.finish, _ = self._stopper.push(token, source)
            released += pieces
        self.tokens += tokens
        self.pieces.append(released)
        return len(tokens)

    return mock.patch.object(Transcript, "_advance", advance)


@mutant(8, "law of eos")
def tokens_after_eos_are_kept():
    """The text ends, but the rest of the block stays."""

    def make(advance):
        def wrapped(self, tokens, sources):
            kept = advance(self, tokens, sources)
            self.tokens += tokens[kept:]
            return len(tokens)

        return wrapped

    return wraps(Transcript, "_advance", make)


@mutant(8, "ends")
def eos_in_the_prompt_ends_the_text():
    """An end-of-text token is looked for in the whole sequence."""

    def make(rebuild):
        def wrapped(self):
            rebuild(self)
            if set(self.prompt_tokens) & self._stopper._limits.eos_token_id:
                self.finish = Finish("eos")

        return wrapped

    return wraps(Transcript, "rebuild", make)


@mutant(8, "ends")
def budget_counts_the_prompt():
    """max_tokens is taken for the length of prompt and text."""

    def limits(max_tokens, *args):
        return Limits(max(0, max_tokens - len(PROMPT)), *args)

    return mock.patch.object(opening, "Limits", limits)


@mutant(8, "ends")
def budget_is_one_short():
    """The text ends one token early."""
    return mock.patch.object(opening, "Limits", lambda max_tokens, *args: Limits(max(0, max_tokens - 1), *args))


@mutant(8, "ends")
def the_first_token_is_dropped():
    """The result begins with the second token."""
    shorter = property(lambda self: _generation(self, lambda ids: ids[1:]))
    return mock.patch.object(Stream, "generation", shorter)


_real_generation = Stream.generation.fget


def _generation(stream: Stream, change: Callable[[tuple[int, ...]], tuple[int, ...]]) -> Any:
    generation = _real_generation(stream)
    return dataclasses.replace(generation, token_ids=change(generation.token_ids))


@mutant(8, "ends")
def the_last_slot_of_the_context_is_not_used():
    """The context limit is one too small."""
    return mock.patch.object(opening, "Limits", lambda budget, context, *args: Limits(budget, context - 1, *args))


@mutant(8, "law of small window")
def the_drafts_window_limits_the_text():
    """The context limit is the smaller model's."""
    return mock.patch.object(opening, "Limits", lambda budget, context, *args: Limits(budget, min(context, 4), *args))


@mutant(8, "cost of the last step")
def gamma_is_not_clipped_to_the_room():
    """Drafts are made that can never be emitted."""
    return mock.patch.object(Transcript, "room", property(lambda self: 99))


@mutant(8, "cost of the last step")
def one_draft_although_one_token_is_left():
    """The room is not reduced by the token the target adds."""
    return mock.patch.object(Transcript, "room", property(lambda self: self._stopper.room + 1))


@mutant(8, "law of stop string")
def stop_strings_within_one_token_only():
    """A stop string that spans tokens is missed."""

    def make(find):
        def wrapped(self, text):
            held, self._held = self._held, []
            try:
                return find(self, text)
            finally:
                self._held = held

        return wrapped

    return wraps(HeldText, "find_stop", make)


@mutant(8, "law of stop string")
def the_stop_string_stays_in_the_text():
    """The text is cut behind the first character of the stop string."""
    return wraps(HeldText, "cut", lambda cut: lambda self, piece, begin: cut(self, piece, begin + 1))


@mutant(8, "law of minimum length")
def minimum_length_is_one_too_long():
    """The end is forbidden for one token more."""

    def make(process):
        def wrapped(self, row, prefix):
            params = self.params
            longer = dataclasses.replace(params, min_tokens=params.min_tokens + (params.min_tokens > 0))
            return process(dataclasses.replace(self, params=longer), row, prefix)

        return wrapped

    return wraps(Sampler, "_process", make)


# ── text on its way out ─────────────────────────────────────────────────────────────────────────────────────────────

change(
    8, "held text", "the shortest stop wins", "Of two stops that complete at one character the shorter one counts.",
    HeldText, "find_stop", "-len(stop), stop))", "len(stop), stop))",
)  # fmt: skip
change(
    8, "held text", "the last of a beginning slips out", "One character too few is held back.",
    HeldText, "release", "self._longest_stop - 1", "self._longest_stop - 2",
)  # fmt: skip
change(
    8, "held text", "only the first stop is waited for", "The beginning of any other is shown.",
    HeldText, "_begins_stop", "for stop in self._stops)", "for stop in self._stops[:1])",
)  # fmt: skip
change(
    8, "held text", "text lags behind", "As many characters are held back as the longest stop has, whatever they are.",
    HeldText, "release", "while suffix > 0 and not", "while False and not",
)  # fmt: skip
change(
    8, "held text", "a stop across steps is missed by a character", "A match may begin one character too late.",
    HeldText, "find_stop", "len(before) - len(stop) + 1)", "len(before) - len(stop) + 2)",
)  # fmt: skip
change(
    8, "sources of text", "held text changes its source",
    "What was held back counts as the work of the token after it.",
    HeldText, "_take", "kept.append(Piece(tail, piece.source))", "kept.append(Piece(tail, self._held[0].source))",
)  # fmt: skip
change(
    8, "ends of text", "an unfinished character is dropped",
    "At the end nothing is shown for bytes that came to nothing.",
    Stopper, "_flush", "self._stream.flush()", "''",
)  # fmt: skip
change(
    8, "ends of text", "a stop never takes a whole token along",
    "A token is kept in the ids although the stop begins with its first character.",
    Stopper, "push", "keep = begin != self._own_begin(token, pending, text)", "keep = True",
)  # fmt: skip
change(
    8, "ends of text", "a finished character belongs to its last token",
    "A token that finishes a character is dropped with the stop that begins there.",
    Stopper, "_own_begin", "if orphan + TextStream(self._tokenizer).push(token) == text else None", "if True else None",
)  # fmt: skip
change(
    8, "ends of text", "context is called length", "Whoever fills the context is told that the budget is used up.",
    Stopper, "check_budget", "self.num_tokens >= self._limits.max_tokens", "self.num_tokens >= 0",
)  # fmt: skip
change(
    8, "ends of text", "the text of an end is not released",
    "A text that ends with its end-of-text token keeps what it held.",
    Stopper, "push", "return self._flush(source), Finish(\"eos\"), True",
    "return self._held.release(), Finish(\"eos\"), True",
)  # fmt: skip
change(
    8, "ends of text", "bytes that are no text vanish", "The decoder ignores what is not UTF-8.",
    TextStream, "__init__", '("replace")', '("ignore")',
)  # fmt: skip
change(
    8, "law of a stop of one token", "the token of a stop stays among the ids",
    "A stop that begins with a token leaves the token.",
    Transcript, "_advance", "kept += keep", "kept += 1",
)  # fmt: skip
