"""Constraints: a mask allows a token iff some text goes on that way; what is dictated has one cut: test_forced.py."""

from __future__ import annotations

import itertools
import json
import re

import numpy as np
import pytest

from minispec.engine.sampling.constraint import Constraint
from minispec.engine.tokenizer import END_OF_TEXT, Tokenizer
from minispec.errors import OptionError
from tests.interrupting import run_with_interrupt_at
from tests.tiny import byte_tokenizer

pytest.importorskip("llguidance", reason="constraints need the extra `constraints`")

TOKENIZER = Tokenizer(byte_tokenizer((("a", "b"), ("b", "c"))))
(EOS,) = TOKENIZER.encode(END_OF_TEXT)
V = TOKENIZER.vocab_size


@pytest.mark.parametrize("pattern", ["(ab|abc|b{1,3})", "a?b?c?", "(abc)?a", "é|b"])
def test_the_mask_is_what_brute_force_finds(pattern: str) -> None:
    """The languages are finite: list them, and a token is allowed iff it leads to the beginning of a member."""
    words = ["".join(letters) for n in range(5) for letters in itertools.product("abcé", repeat=n)]
    language = {word.encode() for word in words if re.fullmatch(pattern, word)}
    beginnings = {word[:end] for word in language for end in range(len(word) + 1)}
    constraint = Constraint(pattern, "regex", TOKENIZER, {EOS}, V)
    todo: list[tuple[int, ...]] = [()]
    while todo:
        prefix = todo.pop()
        text = b"".join(map(TOKENIZER.token_bytes, prefix))
        expected = np.zeros(V, np.bool_)
        for token in range(V):
            piece = TOKENIZER.token_bytes(token)
            if piece and text + piece in beginnings:
                expected[token] = True
                todo.append((*prefix, token))
        if text in language:
            expected[EOS] = True
        assert np.array_equal(constraint.mask(prefix), expected), (pattern, text)


def test_a_mask_does_not_depend_on_what_was_asked_before() -> None:
    asked = Constraint("(ab)*c", "regex", TOKENIZER, {EOS}, V)
    prefixes = [TOKENIZER.encode(text) for text in ("", "ab", "abab", "ababc", "ab", "zzz", "")]
    for prefix in prefixes:
        assert np.array_equal(asked.mask(prefix), Constraint("(ab)*c", "regex", TOKENIZER, {EOS}, V).mask(prefix))


def test_an_interruption_at_any_line_does_not_change_a_mask() -> None:
    """The matcher moves, and where it is is noted on another line."""
    prefixes = [TOKENIZER.encode(text) for text in ("abab", "ab", "ababc")]
    expected = [Constraint("(ab)*c", "regex", TOKENIZER, {EOS}, V).mask(prefix) for prefix in prefixes]
    line = 0
    while True:
        line += 1
        asked = Constraint("(ab)*c", "regex", TOKENIZER, {EOS}, V)
        walks = (asked.mask(prefix) for prefix in prefixes)
        was_reached = run_with_interrupt_at(line, walks, [], within="minispec.engine.sampling.constraint")
        for prefix, mask in zip(prefixes, expected, strict=True):
            assert np.array_equal(asked.mask(prefix), mask), line
        if not was_reached:
            break
    assert line > 30


@pytest.mark.parametrize("more", [0, EOS + 1], ids=["a byte", "a row without a token"])
def test_every_end_is_allowed_where_the_text_may_end_and_nowhere_else(more: int) -> None:
    """Also one that has a text: where it were a part of the form, it would end the text early."""
    pattern = f"(ab|{TOKENIZER.token_bytes(more).decode()}ab)*c?"
    several, one = (Constraint(pattern, "regex", TOKENIZER, ends, V + 1) for ends in ({EOS, more}, {EOS}))
    for text in ("", "a", "ab", "aba", "abc"):
        found, expected = (constraint.mask(TOKENIZER.encode(text)) for constraint in (several, one))
        expected[more] = expected[EOS]
        assert np.array_equal(found, expected), text
    assert several.mask([more]).all()  # behind the end


def test_a_json_schema_lets_its_instances_through_and_nothing_else() -> None:
    schema = json.dumps({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]})
    constraint = Constraint(schema, "json_schema", TOKENIZER, {EOS}, V)

    def passes(text: str) -> bool:
        tokens = [*TOKENIZER.encode(text), EOS]
        return all(constraint.mask(tokens[:i])[token] for i, token in enumerate(tokens))

    assert passes('{"a": 12}')
    assert not passes('{"a": "x"}')
    assert not passes('{"a": 12')
    assert not passes("{}")
    assert not passes('{"a":  12}')  # one layout: white space without end is what small models fall into
    assert not passes('{\n"a": 12}')


@pytest.mark.parametrize(
    "make",
    [
        lambda: Constraint("(", "regex", TOKENIZER, {EOS}, V),
        lambda: Constraint("{", "json_schema", TOKENIZER, {EOS}, V),
        lambda: Constraint('{"type": 3}', "json_schema", TOKENIZER, {EOS}, V),
    ],
)
def test_what_cannot_be_compiled_is_one_clear_line(make) -> None:
    with pytest.raises(OptionError, match="cannot be used") as caught:
        make()
    assert "\n" not in str(caught.value)


ENDLESS = '{"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]}'
"""A form that the library compiles and cannot follow: what must come next has no end."""


def test_where_the_library_gives_up_nothing_is_allowed() -> None:
    """Its matcher then says of every token what it says of one outside the form, where everything may follow."""
    constraint = Constraint(ENDLESS, "json_schema", TOKENIZER, {EOS}, V)
    text = TOKENIZER.encode("{")
    assert np.flatnonzero(constraint.mask([])).tolist() == text
    for question in (Constraint.mask, Constraint.find_forced, Constraint.mask):  # and it stays so
        with pytest.raises(OptionError, match=r"the JSON schema .* takes more than llguidance allows") as caught:
            question(constraint, text)
        assert "\n" not in str(caught.value)
