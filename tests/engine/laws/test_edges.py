"""Each rule at the edges, through the engine: hypothesis chooses the tables.

Disjoint supports, ties, one-hot rows on either side, equal rows (no residual mass), a vocabulary of one, gamma 0, and
probabilities that vanish in float32 or in the product of a path.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minispec.engine.generation import api
from minispec.engine.model.toy import TableModel
from minispec.engine.noise.philox import PhiloxNoise
from tests.engine.generation.tiny import byte_tokenizer

from .space import EXACT, PLAIN, distance_of, with_tokenizer

PROMPT = (0,)
WEIGHTS = st.sampled_from([0.0, 0.0, 1e-300, 1e-46, 1e-39, 1e-17, 1e-8, 0.25, 0.25, 0.5, 1.0]) | st.floats(0.01, 1.0)


def tables(vocab: int) -> st.SearchStrategy[TableModel]:
    """A row for each length of the prefix: zeros, ties, one-hots and what float32 cannot hold."""
    row = st.lists(WEIGHTS, min_size=vocab, max_size=vocab).filter(lambda row: max(row) >= 0.01)
    one_hot = st.integers(0, vocab - 1).map(lambda x: [float(i == x) for i in range(vocab)])

    def model(rows):
        table = {
            prefix: np.array(rows[length - 1]) / sum(rows[length - 1])
            for length in range(1, 6)
            for prefix in itertools.product(range(vocab), repeat=length)
        }
        return TableModel(vocab, table=table)

    return st.lists(row | one_hot, min_size=5, max_size=5).map(model)


@st.composite
def problems(draw):
    """Target, draft (now and then the same, or on other tokens), gamma and processors."""
    vocab = draw(st.integers(1, 3))
    target = draw(tables(vocab))
    draft = draw(st.just(target) | tables(vocab))
    options = draw(st.sampled_from([{}, {}, {"temperature": 0.0}, {"top_k": 1}, {"top_k": 2}, {"temperature": 0.05}]))
    return target, draft, draw(st.integers(0, 2)), options


@pytest.mark.parametrize("verify", ["rejection", "block", "tree", "traversal", "match"])
@settings(max_examples=60)
@given(problem=problems())
def test_law_is_the_targets(verify, problem):
    target, draft, gamma, options = problem
    assert distance_of(target, draft, PROMPT, verify=verify, gamma=gamma, max_tokens=4, **options) < EXACT


@pytest.mark.parametrize(
    ("vocabulary", "stop", "num_tokens", "gamma"),
    [
        ([b"a", b"b"], ("bb", "aba"), 6, 3),
        ([b"a", b"b", b"ab"], ("ba",), 5, 2),
        ([b"a", b"b", b"ab"], ("b",), 4, 3),
        ([b"a", b"b", b"ab", b"c"], ("abc", "cc"), 4, 2),
        ([b"a", b"b", b"aab"], ("ab", "aab"), 4, 2),
        ([b"\xc3", b"\xa9", b"x"], ("é",), 5, 2),
        ([b"\xc3", b"\xa9", b"\xa9x"], ("éx", "é\ufffd"), 4, 2),
    ],
    ids=str,
)
def test_law_with_stop_strings(vocabulary, stop, num_tokens, gamma):
    """Over (ids, text, reason, stop), where stops and characters straddle tokens."""
    target = with_tokenizer(TableModel(len(vocabulary), seed=15), byte_tokenizer(vocabulary))
    draft = TableModel(len(vocabulary), seed=16)
    assert distance_of(target, draft, (0, 1), gamma=gamma, max_tokens=num_tokens, stop=stop) < EXACT


@pytest.mark.parametrize("ends", [{3}, {0, 3}])
@pytest.mark.parametrize("min_tokens", [0, 3])
def test_law_with_everything_at_once(ends, min_tokens):
    """Stops, end-of-text tokens, filters, a small draft window and the context limit together."""
    target = TableModel(4, 7, seed=17, table={(0, 1): np.eye(4)[1]}, eos_token_id=frozenset(ends))
    target = with_tokenizer(target, byte_tokenizer([b"a", b"b", b"ab", b"."]))
    options = {"temperature": 0.7, "top_k": 3, "top_p": 0.98, "min_p": 0.01, "min_tokens": min_tokens}
    assert distance_of(target, TableModel(4, 5, seed=18), (0, 1), max_tokens=9, stop=("ba", "aa"), **options) < EXACT


@pytest.mark.parametrize(
    ("vocab_size", "num_tokens", "gamma"),
    [
        *(pytest.param(*tree, marks=pytest.mark.slow) for tree in [(3, 5, 3), (2, 7, 3)]),
        *(pytest.param(*tree, marks=pytest.mark.exhaustive) for tree in [(4, 5, 2), (3, 6, 2)]),
    ],
)
def test_law_is_the_targets_on_larger_trees(vocab_size, num_tokens, gamma):
    for seed in range(3):
        target = TableModel(vocab_size, seed=2 * seed, table={(0, 1): np.eye(vocab_size)[1]})
        draft = TableModel(vocab_size, seed=2 * seed + 1)
        assert distance_of(target, draft, (0, 1), gamma=gamma, max_tokens=num_tokens) < EXACT


@pytest.mark.parametrize("verify", ["match", "gumbel"])
@settings(max_examples=60)
@given(problem=problems(), seed=st.integers(0, 2**64 - 1))
def test_text_is_that_of_plain_sampling(verify, problem, seed):
    target, draft, gamma, options = problem
    options = {**PLAIN, **options, "gamma": gamma, "max_tokens": 4}
    plain, fast = (
        api.stream(PROMPT, target=target, draft=d, noise=PhiloxNoise(seed), **options, **more).run()
        for d, more in ((None, {}), (draft, {"verify": verify}))
    )
    assert fast.token_ids == plain.token_ids


@pytest.mark.parametrize("verify", ["rejection", "block", "tree", "traversal", "match", "gumbel"])
@settings(max_examples=60)
@given(problem=problems(), seed=st.integers(0, 2**64 - 1))
def test_nothing_impossible_is_ever_emitted(verify, problem, seed):
    """And the record of every step is whole: probabilities are probabilities, one detail per token."""
    target, draft, gamma, options = problem
    options = {**PLAIN, **options, "verify": verify, "gamma": gamma, "max_tokens": 5, "logprobs": True, "audit": True}
    generation = api.stream(PROMPT, target=target, draft=draft, noise=PhiloxNoise(seed), **options).run()
    text = list(PROMPT)
    for token in generation.token_ids:
        assert target.next_probs(text)[token] > 0.0
        text.append(token)
    for step in generation.steps:
        assert all(0.0 <= prob <= 1.0 for prob in step.verdict.accept_probs)
        assert all(detail.target_prob > 0.0 for detail in step.details)
        assert len(step.details) == len(step.tokens)
