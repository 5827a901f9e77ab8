"""The suffix automaton against a search over all suffixes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispec.drafters import SuffixDrafter
from minispec.drafters.suffix import SuffixAutomaton
from minispec.errors import OptionError
from minispec.model.toy import TableModel

from .laws import EXACT, engine_distance, propose, while_true
from .test_ngram import slow_twin

TEXTS = st.lists(st.integers(0, 2), max_size=24)


def slow_match(tokens):
    """Length of the longest suffix that also ends earlier, and where it does last."""
    for size in range(len(tokens) - 1, 0, -1):
        for end in range(len(tokens) - 2, size - 2, -1):
            if tokens[end - size + 1 : end + 1] == tokens[len(tokens) - size :]:
                return size, end
    return 0, -1


def snapshot(automaton):
    return (automaton.tokens, automaton.match, automaton._length, automaton._link, automaton._next, automaton._recent)


@given(TEXTS)
def test_match_equals_the_slow_twin_at_every_length(tokens):
    automaton = SuffixAutomaton()
    for i, token in enumerate(tokens):
        automaton.push(token)
        length, end = slow_match(tokens[: i + 1])
        assert automaton.match[i][0] == length
        assert length == 0 or automaton.match[i][1] == end


@given(TEXTS)
def test_it_holds_exactly_the_substrings(tokens):
    automaton = SuffixAutomaton()
    for token in tokens:
        automaton.push(token)
    found, paths = set(), [((), 0)]
    while paths:
        word, state = paths.pop()
        found.add(word)
        paths += [((*word, token), follower) for token, follower in automaton._next[state].items()]
    assert found == {tuple(tokens[i:j]) for i in range(len(tokens) + 1) for j in range(i, len(tokens) + 1)}
    assert len(automaton._length) <= max(2, 2 * len(tokens))


@given(TEXTS, st.integers(0, 4), st.integers(1, 3))
def test_draft_equals_the_slow_twin(tokens, gamma, min_length):
    """It is the n-gram lookup without a bound on n."""
    draft = propose(SuffixDrafter(3, min_length), tokens, gamma)
    assert draft.tokens == slow_twin(tokens, gamma, max(min_length, len(tokens)), min_length)


@given(st.lists(st.tuples(TEXTS, st.integers(0, 24)), max_size=6))
def test_rollbacks_at_any_point_leave_no_trace(rounds):
    drafter, text = SuffixDrafter(3), []
    for more, length in rounds:
        text = [*text, *more]
        assert propose(drafter, text, 3).tokens == slow_twin(text, 3, max(1, len(text)), 1)
        text = text[:length]
        drafter.rollback(length)
    fresh = SuffixDrafter(3)
    fresh.prefill(text)
    drafter.prefill(text)
    assert snapshot(drafter.automaton) == snapshot(fresh.automaton)


def test_edges():
    assert propose(SuffixDrafter(4), [], 3).probs.shape == (0, 4)
    assert propose(SuffixDrafter(4), [2], 3).tokens == ()
    assert propose(SuffixDrafter(1), [0, 0], 3).tokens == (0, 0, 0)
    assert propose(SuffixDrafter(2), [0, 1, 0], 0).tokens == ()
    assert propose(SuffixDrafter(2), [0, 1, 0], 3, more=while_true(lambda row: row[0] == 0.0)).tokens == (1,)
    with pytest.raises(OptionError, match="suffix:min=1"):
        SuffixDrafter(4, 0)


@pytest.mark.parametrize(("vocab_size", "num_tokens", "gamma"), [(2, 5, 2), (3, 3, 3)])
def test_the_engines_law_is_the_targets(vocab_size, num_tokens, gamma):
    target = TableModel(vocab_size, seed=2)
    distance = engine_distance(
        target, lambda _: SuffixDrafter(vocab_size), num_tokens=num_tokens, gamma=gamma, prompt=(0, 1, 0)
    )
    assert distance < EXACT
