"""Text from bytes: streamed, decoded at once, and as the ``tokenizers`` library decodes it, all the same."""

from __future__ import annotations

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import models, normalizers

import tests.tiny
from minispec.engine.tokenizer import TextStream, Tokenizer, describe_difference
from minispec.errors import ModelFileError, PromptError
from tests.engine.generation.tiny import byte_tokenizer, raw_tokenizer

ALL_BYTES = [bytes([i]) for i in range(256)]
BYTES = byte_tokenizer(ALL_BYTES)
vocabularies = st.lists(st.binary(min_size=1, max_size=4), min_size=1, max_size=8, unique=True)


@st.composite
def token_sequences(draw):
    vocabulary = draw(vocabularies | st.just(ALL_BYTES))
    if vocabulary is ALL_BYTES:  # valid text, cut at every byte
        return vocabulary, list(draw(st.text(max_size=8)).encode())
    return vocabulary, draw(st.lists(st.integers(0, len(vocabulary) - 1), max_size=12))


@settings(max_examples=250)
@given(token_sequences())
def test_streamed_text_is_the_decoded_text_is_the_librarys(case):
    """Also where bytes are no UTF-8 at all: both sides put one U+FFFD per maximal bad sequence."""
    vocabulary, tokens = case
    tokenizer, library = byte_tokenizer(vocabulary), raw_tokenizer(vocabulary)
    stream = TextStream(tokenizer)
    streamed = "".join(map(stream.push, tokens)) + stream.flush()
    assert streamed == tokenizer.decode(tokens) == library.decode(tokens)


@given(st.text(max_size=12))
def test_any_text_survives_its_bytes(text):
    assert BYTES.decode(text.encode()) == text


@given(st.text(min_size=1, max_size=6))
def test_a_character_is_released_with_its_last_byte_and_never_in_part(text):
    stream, content = TextStream(BYTES), text.encode()
    for end in range(1, len(content) + 1):
        piece = stream.push(content[end - 1])
        try:
            content[:end].decode()
        except UnicodeDecodeError:
            assert piece == ""
            assert stream.pending
        else:
            assert len(piece) == 1
            assert not stream.pending
    assert stream.flush() == ""


def test_special_tokens_have_no_text():
    tokenizer, library = byte_tokenizer([b"a"], ["<eos>"]), raw_tokenizer([b"a"], ["<eos>"])
    assert tokenizer.special_ids == {1}
    assert tokenizer.decode([0, 1, 0]) == library.decode([0, 1, 0]) == "aa"


def test_an_added_token_that_is_not_special_has_its_text():
    library = raw_tokenizer([b"a"])
    library.add_tokens(["<x>"])
    tokenizer = Tokenizer(library)
    assert tokenizer.special_ids == frozenset()
    assert tokenizer.decode([0, 1, 0]) == library.decode([0, 1, 0]) == "a<x>a"


def test_what_is_random_or_cuts_in_a_file_is_off():
    """With its dropout, a setting for training, one prompt would have many spellings, and one seed many texts."""
    backend = tests.tiny.byte_tokenizer()
    backend.model.dropout = 0.5
    backend.enable_truncation(2)
    backend.enable_padding(length=40)
    tokenizer = Tokenizer(backend)
    assert {tuple(tokenizer.encode("the the")) for _ in range(20)} == {
        tuple(Tokenizer(tests.tiny.byte_tokenizer()).encode("the the"))
    }
    assert '"dropout":null' in tokenizer.to_json()


def test_a_panic_of_the_library_is_one_line():
    backend = tests.tiny.byte_tokenizer()
    backend.normalizer = normalizers.Replace(tokenizers.Regex("(a+)+$"), "x")
    with pytest.raises(PromptError, match="cannot encode 'aaaa"):
        Tokenizer(backend).encode("a" * 40 + "!")


def test_a_special_token_inside_a_character_does_not_break_it():
    tokenizer = byte_tokenizer([b"\xc3", b"\xa9"], ["<eos>"])
    stream = TextStream(tokenizer)
    assert [stream.push(token) for token in (0, 2, 1)] == ["", "", "é"]


def test_fingerprints_are_equal_iff_every_id_means_the_same():
    one = byte_tokenizer([b"a", b"bc"])
    assert one.fingerprint() == byte_tokenizer([b"a", b"bc"]).fingerprint()
    for other in ([b"a", b"bd"], [b"bc", b"a"], [b"ab", b"c"], [b"a", b"bc", b"d"]):
        assert one.fingerprint() != byte_tokenizer(other).fingerprint()


def test_differences_are_named():
    one = byte_tokenizer([b"a", b"b"])
    assert describe_difference(one, byte_tokenizer([b"a", b"b"])) is None
    assert describe_difference(one, byte_tokenizer([b"a"])) == "one has 2 tokens, the other 1"
    assert describe_difference(one, byte_tokenizer([b"a", b"c"])) == "token 1 is b'b' in one and b'c' in the other"


def test_a_tokenizer_that_is_not_byte_level_is_refused():
    backend = tokenizers.Tokenizer(models.BPE(vocab={"日": 0}, merges=[]))
    with pytest.raises(ModelFileError, match="byte-level"):
        Tokenizer(backend)
