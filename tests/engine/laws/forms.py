"""A form small enough to be written out: the law of texts that have it, where the form dictates tokens.

Three tokens, one of which is two letters, so that what all texts go on with can be cut in two ways. What a constraint
must allow and may call forced is read off the list of the texts, not asked of the library.
"""

from __future__ import annotations

import re
from itertools import product
from typing import Any

from minispec.engine.generation.options import Options
from minispec.engine.generation.stopping import Limits
from minispec.engine.laws import Outcome
from minispec.engine.model.toy import TableModel
from tests.engine.generation.tiny import byte_tokenizer
from tests.engine.laws.oracle import finite_language, slow_law

from .space import with_tokenizer

VOCABULARY = [b"a", b"b", b"ab"]
TOKENIZER, EOS, V = byte_tokenizer(VOCABULARY, ["<|endoftext|>"]), 3, 4
PROMPT = [0, 1, 0]
REGEX = "(a|b)(a|b)abab?"
MAX_TOKENS = 7
TEXTS = [text for n in range(7) for text in map("".join, product("ab", repeat=n)) if re.fullmatch(REGEX, text)]
LANGUAGE = finite_language([text.encode() for text in TEXTS], TOKENIZER, EOS, V)
"""What any text of the form goes on with, however it is cut."""


def find_common(beginning: str) -> str:
    """Return what all texts that begin so go on with: from the list of them, not by the library."""
    rests = [text.removeprefix(beginning) for text in TEXTS if text.startswith(beginning)]
    common = rests[0] if rests else ""
    while any(not rest.startswith(common) for rest in rests):
        common = common[:-1]
    return common


def allow(generated: tuple[int, ...]) -> set[int]:
    """Allow what some text goes on with; where all go on alike, its letter, unless that may begin the token "ab"."""
    common = find_common(b"".join(map(TOKENIZER.token_bytes, generated)).decode()).removesuffix("a")
    return {VOCABULARY.index(common[0].encode())} if common else LANGUAGE(generated)


def make_target() -> TableModel:
    return with_tokenizer(TableModel(V, 64, seed=5, eos_token_id=frozenset({EOS})), TOKENIZER)


def wanted_law(allowed: Any = allow) -> dict[Outcome, float]:
    """The target's law among the texts of the form, by the slow oracle."""
    limits = Limits(MAX_TOKENS, 64, (), frozenset({EOS}))
    settings = Options(temperature=1.0, top_p=1.0, regex=REGEX, max_tokens=MAX_TOKENS)
    return slow_law(make_target(), settings, PROMPT, limits, TOKENIZER, allowed)
