"""Processors that look back: each against the sentence that defines it, and each row with its own prefix."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispec.engine.sampling import Sampler, SamplingParams, distribution, history
from minispec.errors import OptionError

LOGITS = st.lists(st.floats(-10, 10), min_size=4, max_size=4).map(lambda row: np.array(row))
TOKENS = st.lists(st.integers(0, 3), max_size=6)


@given(LOGITS, TOKENS, st.floats(0.1, 3.0))
def test_repetition_divides_positive_and_multiplies_negative_logits_of_seen_tokens(logits, tokens, penalty) -> None:
    out = history.repetition_penalty(logits, tokens, penalty)
    for token, logit in enumerate(logits):
        expected = logit if token not in tokens else logit / penalty if logit > 0 else logit * penalty
        assert out[token] == expected


@given(LOGITS, TOKENS, st.floats(-2, 2), st.floats(-2, 2))
def test_presence_counts_once_and_frequency_each_time(logits, tokens, presence, frequency) -> None:
    out = history.presence_and_frequency(logits, tokens, presence, frequency)
    for token, logit in enumerate(logits):
        count = tokens.count(token)
        assert out[token] == pytest.approx(logit - (presence + frequency * count if count else 0.0), abs=1e-12)


PENALISED = SamplingParams(1.0, top_p=1.0, repetition_penalty=1.3, presence_penalty=0.4, frequency_penalty=0.2)


@given(st.integers(0, 3), st.lists(st.integers(0, 3), min_size=1, max_size=8), st.integers(1, 4), st.integers(0, 99))
def test_rows_of_a_chain_are_processed_with_their_own_prefixes(num_prompt, tokens, rows, seed) -> None:
    """Row i of a block has the bits it has alone, after the tokens it follows."""
    rows = min(rows, len(tokens))
    logits = np.random.default_rng(seed).normal(size=(rows, 4)).astype(np.float32)
    sampler = Sampler(PENALISED, min(num_prompt, len(tokens)))
    block = sampler(logits, tokens)
    for i in range(rows):
        alone = sampler(logits[i : i + 1], tokens[: len(tokens) - rows + 1 + i])
        assert np.array_equal(block[i], alone[0])


def test_the_prompt_counts_for_repetition_but_not_for_presence() -> None:
    logits = np.zeros((1, 4), np.float32) + 1.0
    only_presence = Sampler(SamplingParams(1.0, top_p=1.0, presence_penalty=1.0), num_prompt_tokens=2)
    assert np.ptp(only_presence(logits, [0, 1])) == 0.0
    assert np.ptp(only_presence(logits, [0, 1, 2])) > 0.0
    only_repetition = Sampler(SamplingParams(1.0, top_p=1.0, repetition_penalty=2.0), num_prompt_tokens=2)
    assert np.ptp(only_repetition(logits, [0, 1])) > 0.0


def test_the_end_is_impossible_before_the_minimum_length_and_no_longer() -> None:
    sampler = Sampler(SamplingParams(1.0, top_p=1.0, min_tokens=2), num_prompt_tokens=1, eos_token_id=frozenset({3}))
    logits = np.zeros((3, 4), np.float32)
    rows = sampler(logits, [0, 1, 1])  # rows after 0, 1 and 2 generated tokens
    assert rows[0, 3] == 0.0
    assert rows[1, 3] == 0.0
    assert rows[2, 3] == 0.25


def test_nothing_that_looks_back_means_the_plain_distribution() -> None:
    logits = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    params = SamplingParams(0.7, top_k=3)
    assert np.array_equal(Sampler(params)(logits, [0, 1, 2]), distribution(logits, params))


@pytest.mark.parametrize(
    "bad",
    [
        {"repetition_penalty": 0.0},
        {"repetition_penalty": float("nan")},
        {"presence_penalty": float("inf")},
        {"frequency_penalty": float("nan")},
        {"min_tokens": -1},
    ],
)
def test_nonsense_is_refused(bad: dict[str, float]) -> None:
    with pytest.raises(OptionError):
        SamplingParams(**bad)
