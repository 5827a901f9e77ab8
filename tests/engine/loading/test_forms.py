"""Folders of every published form, beside what transformers 5 made of them (tests/peers/test_folders.py asks it)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minispec.engine.drafters.build import match_vocabulary
from minispec.engine.generation import generate
from minispec.engine.loading import load_model, load_tokenizer
from minispec.engine.model.trim import trim_words
from minispec.errors import ModelFileError, VocabularyError
from tests.engine.loading.folders import assert_clear
from tests.engine.loading.forms import (
    ANSWERS,
    BEYOND,
    FORMS,
    NUM_TOKENS,
    PROMPT,
    TEXTS,
    USER,
    token,
    with_added,
    write_form,
)

EXPECTED = json.loads(ANSWERS.read_text(encoding="utf-8"))
BROKEN = "\ufffd"
SPECIAL_TO_US = "added_tokens.json, special by the map"
"""As it was to transformers 4, which wrote such folders; transformers 5 shows the tokens."""


@pytest.mark.parametrize("name", [*FORMS, *BEYOND])
def test_a_folder_is_what_it_is_to_transformers(name: str, tmp_path: Path) -> None:
    model = load_model(write_form(tmp_path / "model", **(FORMS | BEYOND)[name]), backend="numpy")
    expected = EXPECTED[name if name in FORMS else "plain"]
    assert model.tokenizer is not None
    ids = [model.tokenizer.encode_prompt(text) for text in TEXTS]
    assert ids == expected["ids"]
    for found, text in zip(map(model.tokenizer.decode, ids), expected["texts"], strict=True):
        assert found == text or BROKEN in text or name == SPECIAL_TO_US  # BROKEN: see the next test
    assert model.logits(ids[0])[-1, :260:20] == pytest.approx(expected["logits"], abs=1e-3)
    made = generate(PROMPT, target=model, draft="ngram", temperature=0.0, max_tokens=NUM_TOKENS)
    assert list(made.token_ids) == expected["greedy"]
    assert made.finish_reason == ("length" if len(expected["greedy"]) == NUM_TOKENS else "eos")


def test_the_text_of_an_added_token_is_what_its_file_says(tmp_path: Path) -> None:
    """The library takes a name whose letters are all symbols of bytes for bytes."""
    tokenizer = with_added("<é>", "‹é>", special=False)
    loaded = load_tokenizer(write_form(tmp_path / "model", tokenizer=tokenizer))
    assert loaded.decode(loaded.encode("x‹é>y <é> z")) == "x‹é>y <é> z"
    assert loaded.encode("<é>") == [260]


@pytest.mark.parametrize(
    ("form", "ends"),
    [
        ({"tokenizer_config": {"eos_token": USER}, "tokenizer": with_added(USER)}, {256, 260}),
        ({"tokenizer_config": {"eos_token": token(USER)}, "tokenizer": with_added(USER)}, {256, 260}),
        ({"special": {"eos_token": USER}, "slow": True}, {256, 260}),
        ({"tokenizer_config": {"eos_token": USER}, "generation": {"eos_token_id": 256}}, {256}),
        ({"tokenizer_config": {"eos_token": USER}, "config": {"vocab_size": 260, "eos_token_id": 256}}, {256}),
        ({"generation": {"eos_token_id": []}}, set()),
        (
            {
                "tokenizer_config": {"eos_token": USER},
                "tokenizer": with_added(USER),
                "generation": {"eos_token_id": 50256},
            },
            {256, 260},
        ),
    ],
    ids=[
        *("tokenizer_config.json", "with settings", "the map", "generation_config.json decides", "no row", "no ends"),
        "no row that generation_config.json names",
    ],
)
def test_the_end_that_the_tokenizer_names_counts_unless_generation_config_names_one(
    form: dict[str, Any], ends: set[int], tmp_path: Path
) -> None:
    """A step beyond transformers: a fine-tuned model whose config.json still names the end of its base model."""
    folder = write_form(tmp_path / "model", **{"config": {"eos_token_id": 256}, **form})
    assert load_model(folder, backend="numpy").eos_token_id == ends


@pytest.mark.parametrize(
    ("form", "match"),
    [
        ({"generation": {"eos_token_id": "<|endoftext|>"}}, "generation_config.json: eos_token_id is '<|endoftext|>'"),
        ({"slow": True, "added": {USER: 300}}, "gives? token '<|user|>' the id 300, but its place is 260"),
        ({"slow": True, "added": {USER: "260"}}, "added_tokens.json: a token has the id '260'"),
        ({"tokenizer_config": {"added_tokens_decoder": {"x": USER}}}, "added_tokens_decoder is .*map ids to tokens"),
        ({"tokenizer_config": {"added_tokens_decoder": {"260": {}}}}, "tokenizer_config.json: a token is {}"),
        ({"tokenizer_config": {"eos_token": 7}}, "tokenizer_config.json: a token is 7"),
        ({"tokenizer_config": {"add_prefix_space": 1}}, "add_prefix_space is 1; it must be true or false"),
        ({"tokenizer_config": {"extra_special_tokens": "x"}}, "extra_special_tokens is 'x'; it must be a list"),
        (
            {"slow": True, "tokenizer_config": {"add_bos_token": True, "bos_token": "\ud800"}},
            "does not take the tokens",
        ),
    ],
)
def test_files_that_contradict_each_other_end_in_a_line(form: dict[str, Any], match: str, tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=match.replace("|", r"\|")) as error:
        load_model(write_form(tmp_path / "model", **form), backend="numpy")
    assert_clear(error.value)


@pytest.mark.parametrize(
    ("target_rows", "draft_rows", "num_words"),
    [(*rows, words) for rows in ((266, 260), (260, 266), (270, 266)) for words in (None, 200)] + [(260, 266, 264)],
)
@pytest.mark.parametrize("tied", [True, False])
def test_vocabularies_may_be_padded_differently(
    target_rows: int, draft_rows: int, tied: bool, num_words: int | None, tmp_path: Path
) -> None:
    """The draft says the same of every token; of rows that it lacks, that they are all but impossible."""
    target = load_model(write_form(tmp_path / "target", config={"vocab_size": target_rows}), backend="numpy")
    config = {"tie_word_embeddings": tied, "vocab_size": draft_rows}
    draft = load_model(write_form(tmp_path / "draft", config=config), backend="numpy")
    if num_words is not None:
        draft = trim_words(draft, num_words)
    fitted, tokens = match_vocabulary(target, draft), [1, 259, 5]
    assert fitted is match_vocabulary(target, draft)
    assert fitted is match_vocabulary(target, fitted)
    logits = fitted.logits([*tokens, target_rows - 1])  # the target may emit what has no token, too
    assert logits.shape == (4, target_rows)
    shared = min(target_rows, draft_rows)
    np.testing.assert_allclose(logits[:3, :shared], draft.logits(tokens)[:, :shared], rtol=1e-6, atol=1e-6)
    assert np.all(logits[:, shared:] < -1e29)
    written = str(tmp_path / "draft") + ("" if num_words is None else f":words={num_words}")
    plain, drafted = (
        generate(PROMPT, target=target, draft=given, temperature=0.8, seed=1, max_tokens=20, verify="match")
        for given in (None, written)
    )
    assert drafted.token_ids == plain.token_ids
    assert drafted.metrics.num_draft_tokens > 0


@pytest.mark.parametrize("draft", ["unigram:text=", "bigram:text=", "suffix:corpus="])
def test_a_text_may_have_tokens_that_have_no_row(draft: str, tmp_path: Path) -> None:
    """An added token, of which the model knows nothing."""
    rows = {"vocab_size": 260}
    target = load_model(write_form(tmp_path / "m", tokenizer=with_added(USER), config=rows), backend="numpy")
    (tmp_path / "text").write_text(f"the then {USER} the then{USER} them")
    made = generate(PROMPT, target=target, draft=f"{draft}{tmp_path / 'text'}", max_tokens=20, min_tokens=20)
    assert len(made.token_ids) == 20


def test_vocabularies_that_differ_in_a_token_are_refused(tmp_path: Path) -> None:
    models = [load_model(write_form(tmp_path / "plain"), backend="numpy")]
    models += [load_model(write_form(tmp_path / "more", tokenizer=with_added(USER)), backend="numpy")]
    for target, draft in (models, models[::-1]):
        with pytest.raises(VocabularyError, match=r"one has 26[01] tokens, the other 26[01]") as error:
            match_vocabulary(target, draft)
        assert_clear(error.value)
    apart = with_added("<pad>"), {"vocab_size": 260}  # a token that has no row in either model does not count
    match_vocabulary(*(load_model(write_form(tmp_path / f"{i}", config=apart[1], **more), backend="numpy")
                       for i, more in enumerate(({"tokenizer": apart[0]}, {}))))  # fmt: skip
