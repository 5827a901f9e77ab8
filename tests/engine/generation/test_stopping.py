"""Where a text ends, against an oracle that re-reads the whole text one character at a time (``contracts.ending``)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minispec.engine.generation.stopping import Limits, Stopper
from minispec.engine.laws import ending
from minispec.engine.records import Finish
from minispec.errors import OptionError

from .tiny import byte_tokenizer

EOS = "<eos>"

# Few letters, so that stops and their beginnings occur; two-, three- and four-byte characters cut anywhere; bytes that
# are never UTF-8; a special token in the middle of a text.
text = st.text(alphabet="aab中é😀\ufffd", min_size=1, max_size=4)
token_bytes = st.one_of(
    text.map(str.encode),
    st.sampled_from(
        [b"a", b"b", b"ab", b"\xe4", b"\xb8\xad", b"\xad", b"\xf0\x9f", b"\x98", b"\x80", b"\xc3", b"\xa9a"]
    ),
    st.binary(min_size=1, max_size=3),
)


@st.composite
def situations(draw):
    vocabulary = draw(st.lists(token_bytes, min_size=1, max_size=6, unique=True))
    specials = draw(st.sampled_from([(), (EOS,)]))
    size = len(vocabulary) + len(specials)
    tokens = draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=14))
    content = b"".join(vocabulary[token] for token in tokens if token < len(vocabulary))
    decoded = content.decode("utf-8", "replace")
    stops = st.lists(text, max_size=3)
    if decoded:  # stops that do occur
        begin = draw(st.integers(0, len(decoded) - 1))
        stops = stops.map(lambda found: [*found, decoded[begin : begin + 3]])
    limits = Limits(
        max_tokens=draw(st.integers(1, 15)),
        n_positions=2 + draw(st.integers(1, 15)),
        stop=tuple(draw(stops)),
        eos_token_id=frozenset(draw(st.sets(st.integers(0, size - 1), max_size=1))),
        min_tokens=draw(st.sampled_from((0, 0, 1, 2, 5))),
    )
    return byte_tokenizer(vocabulary, specials), tokens, limits


def push_all(tokenizer, tokens, limits):
    """Return what the Stopper makes of the tokens: pieces per token, kept ids, and why it ended."""
    stopper = Stopper(limits, tokenizer, 2)
    pieces, kept, finish = [], [], None
    for token in tokens:
        released, finish, keep = stopper.push(token, "accepted")
        pieces.append("".join(piece.text for piece in released))
        if keep:
            kept.append(token)
        if finish is not None:
            break
    return stopper, pieces, kept, finish


@settings(max_examples=800)
@given(situations())
def test_text_ids_and_reason_are_the_oracles(situation):
    tokenizer, tokens, limits = situation
    stopper, pieces, kept, finish = push_all(tokenizer, tokens, limits)
    wanted = ending(tokens, limits, 2, tokenizer)
    if wanted is None:
        assert finish is None
        return
    assert finish == Finish(wanted.finish_reason, wanted.stop)
    assert "".join(pieces) == stopper.text == wanted.text
    assert tuple(kept) == wanted.token_ids


def case(vocabulary, tokens, stop, **limits):
    bounds = {"max_tokens": 99, "n_positions": 99, **limits}
    _, pieces, kept, finish = push_all(byte_tokenizer(vocabulary), tokens, Limits(stop=stop, **bounds))
    return pieces, kept, finish


def test_a_stop_inside_a_token_keeps_the_token():
    assert case([b"xay", b"b"], [1, 0], ("a",)) == (["b", "x"], [1, 0], Finish("stop", "a"))


def test_a_stop_that_begins_with_the_token_drops_it():
    assert case([b"ay", b"b"], [1, 0], ("a",)) == (["b", ""], [1], Finish("stop", "a"))


def test_a_stop_over_two_tokens_keeps_the_one_that_completes_it():
    assert case([b"x", b"a", b"b"], [0, 1, 2], ("ab",)) == (["x", "", ""], [0, 1, 2], Finish("stop", "ab"))


def test_a_beginning_that_came_to_nothing_is_released():
    """ "aa" is held, then "ab" still may be the beginning of "aba", then "abc" is nothing."""
    assert case([b"a", b"b", b"c"], [0, 0, 1, 2], ("aba",)) == (["", "a", "", "abc"], [0, 0, 1, 2], None)


def test_the_first_stop_to_complete_wins_and_the_longest_of_two():
    assert case([b"xabc"], [0], ("abc", "b"))[2] == Finish("stop", "b")
    assert case([b"xabc"], [0], ("bc", "abc", "c"))[2] == Finish("stop", "abc")


def test_a_stop_with_the_last_token_of_the_budget_is_the_stop():
    assert case([b"a"], [0, 0], ("aa",), max_tokens=2)[2] == Finish("stop", "aa")


def test_a_stop_after_an_orphan_byte_begins_where_its_token_begins():
    """The byte before never becomes a character; the stop is the next token, whole, so that token is not kept."""
    assert case([b"\xe4", b"a"], [0, 1], ("a",)) == (["", "\ufffd"], [0], Finish("stop", "a"))


def test_an_unfinished_character_at_the_end_is_shown_as_such():
    assert case([b"a\xe4"], [0], (), max_tokens=1) == (["a\ufffd"], [0], Finish("length"))


def test_a_stop_waits_for_the_minimum_length_and_may_begin_before_it():
    """As the end-of-sequence token, which is possible from token ``min_tokens`` + 1 on."""
    assert case([b"x", b"."], [1, 0, 1, 0], (".",), min_tokens=1)[0::2] == ([".", "x", ""], Finish("stop", "."))
    assert case([b"x", b"."], [1, 0, 1, 0], (".",), min_tokens=3)[2] is None
    assert case([b"a"], [0, 0, 0], ("aa",), min_tokens=2)[1:] == ([0, 0, 0], Finish("stop", "aa"))


def test_stops_need_a_tokenizer_and_some_text():
    with pytest.raises(OptionError, match="need a tokenizer"):
        Stopper(Limits(3, 9, ("a",)), None, 1)
    with pytest.raises(OptionError, match="empty"):
        Limits(3, 9, ("",))
    with pytest.raises(OptionError, match="max-tokens"):
        Limits(-1, 9)
