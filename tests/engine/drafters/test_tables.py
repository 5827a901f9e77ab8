"""Unigram and bigram drafts."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispec.engine.drafters import TableDrafter, TokenTable
from minispec.engine.drafters.tables import read_text
from minispec.errors import CorpusError, OptionError

from .laws import EXACT, GREEDY, PLAIN, check_rows_are_the_law, propose


@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=30),
    st.lists(st.integers(0, 3), max_size=3),
    st.sampled_from([1, 2]),
    st.sampled_from([1e-6, 0.5, 1.0, 100.0]),
)
def test_rows_are_smoothed_counts(tokens, context, order, k):
    row = TokenTable(tokens, 4, order, k).next_probs(context)
    unigram = [(tokens.count(x) + k / 4) / (len(tokens) + k) for x in range(4)]
    pairs = list(itertools.pairwise(tokens)) if order == 2 and context else []
    followers = [y for x, y in pairs if x == context[-1]]
    expected = (
        [(followers.count(x) + k * unigram[x]) / (len(followers) + k) for x in range(4)] if followers else unigram
    )
    assert row == pytest.approx(expected, rel=1e-12)
    assert row.min() > 0.0
    assert abs(row.sum() - 1.0) < EXACT


@pytest.mark.parametrize("order", [1, 2])
def test_rows_are_the_law(order):
    table = TokenTable([0, 1, 2, 0, 1, 1, 0], 3, order)
    assert len(check_rows_are_the_law(lambda: TableDrafter(table, PLAIN), [0, 1], 3)) == 27


def test_greedy_takes_the_likeliest_follower():
    table = TokenTable([0, 1, 2, 0, 1, 2, 0], 3, 2)
    assert propose(TableDrafter(table, GREEDY), [0], 4).tokens == (1, 2, 0, 1)


def test_edges():
    table = TokenTable([0], 1, 2)
    assert propose(TableDrafter(table, PLAIN), [0], 2).tokens == (0, 0)
    assert propose(TableDrafter(table, PLAIN), [0], 0).probs.shape == (0, 1)
    wide = TokenTable([0, 1], 5, 1, k=1.0)
    draft = propose(TableDrafter(wide, PLAIN), [0], 3, more=lambda row: 0)
    assert draft.tokens == ()
    with pytest.raises(OptionError, match="k=1"):
        TokenTable([0], 1, 1, k=0.0)
    with pytest.raises(OptionError, match="k=1"):
        TokenTable([0], 1, 1, k=float("nan"))


@pytest.mark.parametrize(
    ("content", "problem"), [(None, "cannot be read"), (b"", "is empty"), (b"\xff\xfe\x00", "is not UTF-8")]
)
def test_a_text_that_cannot_be_counted_is_one_clear_line(tmp_path, content, problem):
    path = tmp_path / "text.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(CorpusError, match=problem) as caught:
        read_text(path)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_folder_is_no_text(tmp_path):
    with pytest.raises(CorpusError, match="cannot be read"):
        read_text(tmp_path)


def test_a_large_table_is_sparse():
    """A bigram over a real vocabulary holds its pairs, not V x V numbers."""
    table = TokenTable(np.arange(5000).tolist(), 50257, 2)
    assert table.next_probs([17]).argmax() == 18
