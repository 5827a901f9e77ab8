"""One budget of rows for a batch: no other way to spend it promises more, and no machine is slower than by load."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispec.engine.control import budget
from minispec.engine.control.budget import BudgetGamma, share_rows
from minispec.engine.control.load import Load, LoadGamma
from minispec.engine.model.toy import TableModel

from .machine import HalfRight, decode_on, draft_s, target_s

NOISE = 0.97  # of load's rate: what the coins of so many tokens move


@st.composite
def companies(draw):
    """S of up to three requests and three places, other requests, and increasing times of the target by rows."""
    together, most = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    rates = st.lists(st.floats(0.0, 1.0), min_size=most, max_size=most)
    survivals = np.cumprod([draw(rates) for _ in range(together)], axis=1)
    rows = together * most + 1
    dearer = draw(st.lists(st.floats(0.0, 0.5), min_size=rows, max_size=rows))
    return survivals, draw(st.integers(0, 2)), 1.0 + np.cumsum(dearer)


def promise(lengths, survivals, num_plain, target_s, draft_s):
    """Tokens per second of draft lengths, where a draft's forward takes so long whatever its rows."""
    tokens = num_plain + len(lengths) + sum(survivals[i, :length].sum() for i, length in enumerate(lengths))
    return tokens / (target_s[sum(lengths)] + max(lengths) * draft_s)


def find_best(survivals, *others):
    every = itertools.product(range(survivals.shape[1] + 1), repeat=len(survivals))
    return max(promise(lengths, survivals, *others) for lengths in every)


@given(companies(), st.floats(0.0, 0.4))
def test_no_lengths_promise_more(company, draft_s):
    survivals, num_plain, times = company
    shared = share_rows(*company, np.full(2 * len(survivals) + 1, draft_s))
    best = find_best(*company, draft_s)
    assert shared.rate == pytest.approx(best)
    assert promise(shared.lengths, *company, draft_s) == pytest.approx(best)
    assert shared.plain == (num_plain + len(survivals)) / times[0]


def test_rows_given_to_everyone_in_turn_promise_less(monkeypatch):
    """The control: the first places of all before any second one, as a common length gives them."""
    company = np.cumprod([[0.9, 0.9], [0.3, 0.3]], axis=1), 0, np.array([1.0, 1.0, 1.0, 2.0, 3.0])
    best = find_best(*company, 0.0)
    assert share_rows(*company, np.zeros(5)).rate == pytest.approx(best)
    monkeypatch.setattr(budget.np, "argsort", lambda values, kind: np.arange(len(values)).reshape(2, -1).T.ravel())
    assert share_rows(*company, np.zeros(5)).rate < 0.9 * best


@given(companies(), st.floats(0.0, 0.4), st.floats(0.0, 0.1))
def test_no_common_length_promises_more(company, first_s, row_s):
    """With rows of the draft that cost, those of drafts that were accepted whole among them."""
    survivals, num_plain, times = company
    together, most = survivals.shape
    shared = share_rows(*company, first_s + row_s * np.arange(2 * together + 1))
    for gamma in range(1, most + 1):
        late = survivals[:, gamma - 1].sum()
        drafting = gamma * (first_s + row_s * together) + row_s * late
        tokens = num_plain + together + survivals[:, :gamma].sum()
        assert shared.rate >= (1 - 1e-9) * tokens / (times[gamma * together] + drafting)


@pytest.mark.parametrize("size", [4, 8, 16])
@pytest.mark.parametrize("shares", [(0.8,), (0.9, 0.6, 0.3, 0.1)], ids=["alike", "mixed"])
def test_on_a_machine_it_is_no_slower_than_load(size, shares):
    """The real engine on a simulated clock, all requests running all the time. Where drafts differ, it is faster."""
    target = TableModel(8, 80, seed=1, concentration=0.1)
    drafts = [HalfRight(target, share) for share in shares]

    def measure(gamma):
        options = {"gamma": gamma, "verify": "gumbel", "max_tokens": 60}
        requests = [([0], options | {"seed": i, "draft": drafts[i % len(drafts)]}) for i in range(size)]
        return decode_on(target, requests)[0]

    gain = measure("budget") / measure("load")
    assert gain > NOISE
    if size == 8:
        assert gain > 1.04, "two dozen rows are as cheap as one; a common length uses sixteen of them"


def test_who_follows_the_load_draws_on_the_budget_of_another():
    load = Load()
    for rows in range(1, 40):
        load.target.add(rows, target_s(rows)), load.draft.add(rows, draft_s(rows))
    shares, follows = BudgetGamma(load), LoadGamma(load)
    load.begin_step([shares, follows], 0)
    assert load.allot() == {shares: shares.gamma(), follows: follows.gamma()}
    assert shares.gamma() == follows.gamma() > 0
    load.begin_step([follows], 0)
    assert load.allot() is None
