"""Prompt lookup against a search that looks at everything."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispec.engine.drafters import NgramDrafter
from minispec.errors import OptionError

from .laws import propose, while_true

TEXTS = st.lists(st.integers(0, 2), max_size=24)


def slow_twin(tokens, gamma, n, min_n):
    """Try every n, the longest first, and every earlier place, the latest first; copy token by token."""
    for size in range(n, min_n - 1, -1):
        for end in range(len(tokens) - 2, size - 2, -1):
            if size <= len(tokens) and tokens[end - size + 1 : end + 1] == tokens[len(tokens) - size :]:
                text = list(tokens)
                for i in range(gamma):
                    text.append(text[end + 1 + i])
                return tuple(text[len(tokens) :])
    return ()


@given(TEXTS, st.integers(0, 5), st.integers(1, 4), st.data())
def test_equals_the_slow_twin(tokens, gamma, n, data):
    min_n = data.draw(st.integers(1, n))
    draft = propose(NgramDrafter(3, n, min_n), tokens, gamma)
    assert draft.tokens == slow_twin(tokens, gamma, n, min_n)
    assert draft.probs.shape == (len(draft), 3)
    assert all(draft.probs[i, token] == 1.0 == draft.probs[i].sum() for i, token in enumerate(draft.tokens))


@given(st.lists(st.tuples(TEXTS, st.integers(0, 24)), max_size=6), st.integers(1, 3))
def test_rollbacks_at_any_point_leave_no_trace(rounds, n):
    """Grow, propose, go back, grow otherwise; the index is the one of a drafter that never saw the rest."""
    drafter, text = NgramDrafter(3, n), []
    for more, length in rounds:
        text = [*text, *more]
        assert propose(drafter, text, 3).tokens == slow_twin(text, 3, n, 1)
        text = text[:length]
        drafter.rollback(length)
    fresh = NgramDrafter(3, n)
    fresh.prefill(text)
    drafter.prefill(text)
    assert drafter._ends == fresh._ends


def test_another_text_without_a_rollback_is_noticed():
    drafter = NgramDrafter(3, 2)
    drafter.prefill([0, 1, 2, 0, 1])
    assert propose(drafter, [0, 2, 0], 2).tokens == (2, 0)


def test_longest_then_most_recent_then_reading_on_in_the_copy():
    assert propose(NgramDrafter(10, 3), [1, 2, 3, 4, 9, 2, 3, 5, 1, 2, 3], 2).tokens == (4, 9)
    assert propose(NgramDrafter(10, 1), [3, 4, 3, 5, 3], 1).tokens == (5,)
    assert propose(NgramDrafter(10, 3), [7, 7], 4).tokens == (7, 7, 7, 7)
    assert propose(NgramDrafter(10, 3, 2), [3, 4, 3, 5, 3], 4).tokens == ()


@pytest.mark.parametrize("tokens", [[], [0]])
def test_nothing_to_match(tokens):
    draft = propose(NgramDrafter(4), tokens, 3)
    assert draft.tokens == ()
    assert draft.probs.shape == (0, 4)


def test_gamma_zero_and_a_vocabulary_of_one():
    assert propose(NgramDrafter(1), [0, 0, 0], 0).tokens == ()
    assert propose(NgramDrafter(1), [0, 0, 0], 2).tokens == (0, 0)


def test_it_asks_for_more_before_each_token():
    asked = []
    more = while_true(lambda row: not asked.append(row.argmax()) and len(asked) < 3)
    draft = propose(NgramDrafter(2), [0, 1, 0, 1], 4, more=more)
    assert draft.tokens == (0, 1)
    assert len(draft.probs) == 2
    assert asked == [0, 1, 0]


@pytest.mark.parametrize("allowed", range(6))
def test_as_many_more_as_it_is_told(allowed):
    """Told so for the first token; the others are free."""
    answers = iter([allowed, 9, 9, 9, 9])
    draft = propose(NgramDrafter(2), [0, 1, 0, 1], 4, more=lambda row: next(answers))
    assert draft.tokens == (0, 1, 0, 1)[:allowed]


@pytest.mark.parametrize(("n", "min_n"), [(0, 1), (-1, 1), (2, 3), (2, 0)])
def test_bad_windows(n, min_n):
    with pytest.raises(OptionError, match=r"Try ngram:n="):
        NgramDrafter(4, n, min_n)
