"""Laws of the checks on a model, with models that are known to be right or wrong."""
# ruff: noqa: E402 - PyTorch is optional: skip before importing what needs it

from __future__ import annotations

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tokenizers import Tokenizer

from minispec.errors import CorpusError
from minispec.lab.training import checks
from minispec.lab.training.cards import bars_table
from minispec.lab.training.checks import (
    BARS,
    check_code,
    check_stories,
    check_sums,
    documents,
    evenly,
    median,
    perplexity,
)
from minispec.lab.training.data import END_ID, load_packed
from minispec.lab.training.model import GPT2
from minispec.lab.training.recipe import TARGET
from minispec.lab.training.sums import held_out_sums
from tests.lab.training.toys import toy_preset


@pytest.fixture(scope="module")
def tokenizer(packed_folder) -> Tokenizer:
    return Tokenizer.from_file(str(packed_folder / "tokenizer.json"))


@pytest.fixture(scope="module")
def model() -> GPT2:
    torch.manual_seed(0)
    return GPT2(toy_preset().shapes[TARGET]).eval()


@pytest.fixture
def writes(monkeypatch, tokenizer):
    """Let the model write given texts, whatever it is: a list, or a function of the prompt's text."""

    def put(text) -> None:
        def written(model, prompts, num_new, temperature, seed):
            said = [text(tokenizer.decode(list(prompt))) for prompt in prompts]
            return [tokenizer.encode(part).ids[:num_new] for part in said]

        monkeypatch.setattr(checks, "continue_texts", written)

    return put


def test_perplexity_of_a_model_that_knows_nothing_is_the_vocabulary(tokenizer, packed_folder, monkeypatch):
    monkeypatch.setattr(checks, "ROW_TOKENS", 32)
    blank = GPT2(toy_preset().shapes[TARGET]).eval()
    with torch.no_grad():
        blank.wte.weight.zero_()
    tokens = load_packed(packed_folder / "packed", "valid", ("stories",))["stories"]
    found = perplexity(blank, tokenizer, tokens, "cpu")
    assert found["perplexity"].value == pytest.approx(320, rel=1e-5)
    chars_per_token = math.log2(320) / found["bits per character"].value
    assert 1.0 < chars_per_token < 10.0
    text = tokenizer.decode(np.asarray(tokens).tolist())
    assert chars_per_token == pytest.approx(len(text) / len(tokens), rel=0.1)


def test_right_answers_count_and_wrong_ones_do_not(model, tokenizer, writes, monkeypatch):
    monkeypatch.setattr(checks, "NUM_SUMS", 12)
    answers = {p.prompt: p.answer for steps in (0, 1, 2) for w in (False, True) for p in held_out_sums(steps, w, 12)}
    writes(lambda prompt: f" well.\nThe answer is {answers[prompt]}.")
    right = check_sums(model, tokenizer)
    assert {figure.value for figure in right.values()} == {1.0}
    assert right["sums: one step"].low < 1.0
    writes(lambda prompt: f" well.\nThe answer is {answers[prompt] + 1}.")
    assert {figure.value for figure in check_sums(model, tokenizer).values()} == {0.0}


def test_stories_need_english_words_and_no_loop(model, tokenizer, writes, monkeypatch):
    monkeypatch.setattr(checks, "STORY_TOKENS", 60)
    known = {"the", "fox", "ran", "a", "hen", "sat"}
    beginnings = [tokenizer.encode(text).ids for text in ("Roxy the", "the hen", "a fox", "the fox")]
    stories = {
        "Roxy the": " fox ran. Roxy sat.",
        "the hen": " sat. Roxy ran.",
        "a fox": " ran. a hen sat." * 3,
        "the fox": ".",
    }
    writes(lambda prompt: stories[prompt])
    found = check_stories(model, tokenizer, beginnings, known)
    assert found["stories: words"].value == 3 / 4  # a name that the beginning has may return
    assert found["stories: no loop"].value == 3 / 4
    assert found["stories: words and no loop"].value == 2 / 4


@pytest.mark.parametrize(("body", "share"), [("    return value\n", 1.0), ("    return (value\n", 0.0)])
def test_code_that_parses_is_counted(body, share, model, tokenizer, writes, packed_folder, monkeypatch):
    monkeypatch.setattr(checks, "NUM_TEXTS", 5)
    writes(lambda prompt: body)
    tokens = load_packed(packed_folder / "packed", "valid", ("code",))["code"]
    found = check_code(model, tokenizer, tokens)
    assert [figure.value for figure in found.values()] == [share] * 2


def test_packed_tokens_are_cut_at_the_ends_of_texts():
    cut = documents(np.array([5, 6, END_ID, 7, END_ID], np.uint16))
    assert [part.tolist() for part in cut] == [[5, 6], [7]]
    assert evenly(list(range(10)), 4) == [0, 3, 6, 9]
    assert evenly([1, 2], 5) == [1, 2]


def test_no_story_long_enough_is_said(monkeypatch):
    with pytest.raises(CorpusError, match="no held-out story has more than 16 tokens"):
        checks.story_beginnings(np.array([5, 6, END_ID], np.uint16))


def test_the_interval_of_a_median_covers_as_often_as_it_says():
    rng = np.random.default_rng(0)
    covers = 0
    for _ in range(2000):
        _, low, high = median(rng.normal(size=25).tolist())
        covers += low <= 0.0 <= high
    assert 0.93 < covers / 2000 < 0.99  # order statistics: at least 95 %, and not much more


def test_bars_tell_reached_from_missed():
    good = {bar.name: (bar.bound, None, None) for bar in BARS}
    assert bars_table(good).count("| yes |") == len(BARS)
    bad = {bar.name: (bar.bound + (0.01 if bar.at_most else -0.01), None, None) for bar in BARS}
    assert bars_table(bad).count("| no |") == len(BARS)
    assert bars_table({}).count("\n") == 1
