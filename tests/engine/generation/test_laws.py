"""The engine's exact output law is the target's: shown by enumeration, not by sampling.

Tolerance 1e-12: each probability is a product of at most a few dozen float64 factors (relative error about 1e-15 each)
and the laws have at most a few hundred outcomes.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from minispec.engine.generation.stopping import Limits
from minispec.engine.laws import Enumerator, outcome, speculative_stream, target_law, total_variation
from minispec.engine.model.toy import TableModel
from minispec.engine.sampling import SamplingParams

from .tiny import GREEDY, PLAIN, byte_tokenizer

EXACT = 1e-12
PROMPT = (0, 1)


def distance(target, draft, params, limits, *, gamma, prompt=PROMPT, tokenizer=None):
    """Total variation between the engine's law over (ids, text, reason, stop) and the target's."""

    def run(noise):
        return outcome(
            speculative_stream(noise, target, draft, params, prompt, limits, gamma=gamma, tokenizer=tokenizer).run()
        )

    law = Enumerator(run).law()
    wanted = target_law(target, params, prompt, limits, tokenizer)
    assert sum(law.values()) == pytest.approx(1.0, abs=EXACT)
    return total_variation(law, wanted)


def opened(vocab_size, n_positions=64, *, seed, table=None):
    """A target that is certain of its first token, which no draft reaches: what is enumerated begins with a draft."""
    first = {PROMPT: np.eye(vocab_size)[1]}
    return TableModel(vocab_size, n_positions, seed, table=(table or {}) | first)


@pytest.mark.parametrize(
    ("vocab_size", "num_tokens", "gamma"), [(2, 6, 1), (2, 6, 2), (2, 5, 3), (3, 4, 2), (4, 4, 2), (4, 3, 3)]
)
def test_law_is_the_targets(vocab_size, num_tokens, gamma):
    """For unrelated random tables keyed by the whole prefix."""
    target, draft = opened(vocab_size, seed=1), TableModel(vocab_size, seed=2)
    assert distance(target, draft, PLAIN, Limits(num_tokens, 64), gamma=gamma) < EXACT


@pytest.mark.parametrize("num_tokens", [0, 1, 2, 3, 4, 5])
@pytest.mark.parametrize("gamma", [0, 1, 3, 9])
def test_law_with_any_budget_and_gamma_larger_than_the_room(num_tokens, gamma):
    target, draft = TableModel(2, seed=3), TableModel(2, seed=4)
    assert distance(target, draft, PLAIN, Limits(num_tokens, 64), gamma=gamma) < EXACT


@pytest.mark.parametrize(
    "params",
    [
        SamplingParams(0.0, 0, 1.0, 0.0),
        SamplingParams(0.3, 0, 1.0, 0.0),
        SamplingParams(2.5, 0, 1.0, 0.0),
        SamplingParams(1e-300, 0, 1.0, 0.0),
        SamplingParams(1.0, 1, 1.0, 0.0),
        SamplingParams(1.0, 2, 1.0, 0.0),
        SamplingParams(0.7, 3, 1.0, 0.0),
        SamplingParams(1.0, 0, 0.6, 0.0),
        SamplingParams(1.3, 0, 0.9, 0.0),
        SamplingParams(1.0, 0, 1.0, 0.4),
        SamplingParams(0.8, 3, 0.9, 0.2),
    ],
    ids=str,
)
def test_law_with_processors(params):
    """Temperature, top-k, top-p, min-p: draft and target each pass through them, supports come apart."""
    target, draft = opened(4, seed=5), TableModel(4, seed=6)
    assert distance(target, draft, params, Limits(4, 64), gamma=2) < EXACT


@pytest.mark.parametrize("eos", [{1}, {0, 2}, {0, 1, 2}])
def test_law_with_end_of_sequence_tokens(eos):
    target, draft = TableModel(3, seed=7, eos_token_id=frozenset(eos)), TableModel(3, seed=8)
    assert distance(target, draft, PLAIN, Limits(5, 64, eos_token_id=frozenset(eos)), gamma=2) < EXACT


@pytest.mark.parametrize("room", [1, 2, 3, 4, 5])
def test_law_at_the_context_limit(room):
    """The last slot of the target's context is used, none beyond; budget and context may coincide."""
    context = len(PROMPT) + room
    target, draft = TableModel(2, context, seed=9), TableModel(2, 64, seed=10)
    for max_tokens in (room, 99):
        assert distance(target, draft, PLAIN, Limits(max_tokens, context), gamma=3) < EXACT


@pytest.mark.parametrize("window", range(1, 8))
def test_law_with_a_draft_window_smaller_than_the_text(window):
    """When the draft's window is full, plain steps go on; the text neither shortens nor changes."""
    target, draft = TableModel(2, 64, seed=11), TableModel(2, window, seed=12)
    assert distance(target, draft, PLAIN, Limits(6, 64), gamma=2) < EXACT


def _constant(rows):
    """The same few rows whatever the prefix: row number (length mod len(rows))."""
    return {
        prefix: rows[len(prefix) % len(rows)]
        for length in range(1, 8)
        for prefix in itertools.product(range(len(rows[0])), repeat=length)
    }


@pytest.mark.parametrize(
    ("target_rows", "draft_rows"),
    [
        ([[0.5, 0.5, 0.0, 0.0]], [[0.0, 0.0, 0.3, 0.7]]),
        ([[0.5, 0.5, 0.0]], [[0.0, 0.3, 0.7]]),
        ([[0.2, 0.3, 0.5]], [[0.2, 0.3, 0.5]]),
        ([[0.2, 0.3, 0.5]], [[1.0, 0.0, 0.0]]),
        ([[0.0, 1.0, 0.0]], [[0.2, 0.3, 0.5]]),
        ([[0.0, 1.0], [1.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]]),
        ([[0.0, 1.0], [0.5, 0.5]], [[1.0, 0.0], [0.1, 0.9]]),
        ([[1.0 - 1e-12, 1e-12]], [[1e-12, 1.0 - 1e-12]]),
        ([[1.0, 1e-300]], [[1e-300, 1.0]]),
    ],
)
def test_law_of_hard_pairs(target_rows, draft_rows):
    """Disjoint supports, p = q, one-hot rows on either side, next to nothing in common."""
    vocab_size = len(target_rows[0])
    target = opened(vocab_size, seed=1, table=_constant(target_rows))
    draft = TableModel(vocab_size, seed=2, table=_constant(draft_rows))
    assert distance(target, draft, PLAIN, Limits(4, 64), gamma=2) < EXACT


def test_law_when_draft_and_target_are_one_model():
    """p = q everywhere: all is accepted, and the law is still the target's."""
    target = opened(3, seed=13)
    assert distance(target, target, PLAIN, Limits(5, 64), gamma=3) < EXACT


def test_law_of_a_vocabulary_of_one():
    assert distance(TableModel(1), TableModel(1, seed=1), PLAIN, Limits(5, 64), gamma=2, prompt=(0,)) == 0.0


def test_plain_decoding_has_the_targets_law():
    """The baseline itself, enumerated: no drafter."""
    tokenizer = byte_tokenizer([b"a", b"b", b"ab"])
    target = TableModel(3, seed=14, eos_token_id=frozenset())
    assert distance(target, None, PLAIN, Limits(4, 64, ("bb",)), gamma=2, tokenizer=tokenizer) < EXACT


@pytest.mark.parametrize(
    ("vocabulary", "stop", "num_tokens", "gamma"),
    [
        ([b"a", b"b"], ("ab",), 5, 2),
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
    """Over (ids, text, reason, stop), against an oracle that reads character by character."""
    target, draft = TableModel(len(vocabulary), seed=15), TableModel(len(vocabulary), seed=16)
    limits = Limits(num_tokens, 64, stop)
    assert distance(target, draft, PLAIN, limits, gamma=gamma, tokenizer=byte_tokenizer(vocabulary)) < EXACT


def test_law_with_everything_at_once():
    """Stops, an EOS token, temperature, top-k, a small draft window and the context limit together."""
    params = SamplingParams(0.7, 3, 0.98, 0.01)
    context = len(PROMPT) + 5
    target = opened(4, context, seed=17)
    draft = TableModel(4, 5, seed=18)
    limits = Limits(9, context, ("ba", "aa"), frozenset({3}))
    tokenizer = byte_tokenizer([b"a", b"b", b"ab", b"."])
    assert distance(target, draft, params, limits, gamma=2, tokenizer=tokenizer) < EXACT


def test_greedy_law_is_one_text():
    """At temperature 0 the law is a point, the greedy text, although the draft disagrees."""
    target, draft = TableModel(4, seed=19), TableModel(4, seed=20)
    prefix = list(PROMPT)
    for _ in range(5):
        prefix.append(int(np.argmax(target.next_probs(prefix).astype(np.float32))))
    law = Enumerator(
        lambda noise: speculative_stream(noise, target, draft, GREEDY, PROMPT, Limits(5, 64), gamma=3).run().token_ids
    ).law()
    assert law == {tuple(prefix[2:]): 1.0}


@pytest.mark.parametrize(
    ("vocab_size", "num_tokens", "gamma"),
    [
        *(pytest.param(*tree, marks=pytest.mark.slow) for tree in [(3, 5, 3), (2, 7, 3)]),
        *(pytest.param(*tree, marks=pytest.mark.exhaustive) for tree in [(4, 5, 2), (3, 6, 2)]),
    ],
)
def test_law_is_the_targets_on_larger_trees(vocab_size, num_tokens, gamma):
    for seed in range(3):
        target, draft = opened(vocab_size, seed=2 * seed), TableModel(vocab_size, seed=2 * seed + 1)
        assert distance(target, draft, PLAIN, Limits(num_tokens, 64), gamma=gamma) < EXACT
