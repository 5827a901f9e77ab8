"""A draft spoilt to order: exactly alpha at every position."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minispec.engine.drafters import SyntheticDrafter, synthetic
from minispec.engine.model import Session
from minispec.engine.model.toy import TableModel
from minispec.engine.sampling import SamplingParams
from minispec.errors import OptionError
from minispec.theory import acceptance_probability, tau

from .laws import (
    EXACT,
    GREEDY,
    PLAIN,
    check_rows_are_the_law,
    drafted_run,
    propose,
)


def rows(draw):
    weights = draw(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=6).filter(lambda row: sum(row) > 1e-3))
    return np.asarray(weights) / sum(weights)


@given(st.composite(rows)(), st.floats(0.0, 1.0))
@example(np.array([1.0]), 0.5)
@example(np.array([0.0, 1.0, 0.0]), 0.25)
@example(np.array([0.0, 1.0, 0.0]), 0.0)
@example(np.array([0.5, 0.5]), 0.0)
@example(np.array([0.25, 0.25, 0.25, 0.25]), 0.3)
def test_acceptance_is_exactly_alpha_or_the_least_there_is(p, alpha):
    q = synthetic.mix_to_acceptance(p, alpha)
    assert np.all(q >= 0.0)
    assert abs(q.sum() - 1.0) < EXACT
    assert abs(acceptance_probability(p, q) - max(alpha, p.min())) < EXACT


@given(st.composite(rows)())
def test_alpha_one_is_the_target_itself(p):
    assert synthetic.mix_to_acceptance(p, 1.0) is p


@pytest.mark.parametrize("params", [PLAIN, GREEDY, SamplingParams(0.7, 2, 0.9, 0.0)], ids=["plain", "greedy", "cut"])
@pytest.mark.parametrize("alpha", [0.3, 0.8, 1.0])
def test_rows_are_the_law_and_each_accepts_alpha(params, alpha):
    """Also at temperature 0, where the target's row is one-hot: the draft guesses it with probability alpha."""
    target = TableModel(3, seed=1)

    def new_drafter():
        return SyntheticDrafter(Session(target), params, alpha)

    drafts = check_rows_are_the_law(new_drafter, [0, 1], 2)
    for draft in (draft for _, draft in drafts.values()):
        exact = SyntheticDrafter(Session(target), params, 1.0)
        for i, row in enumerate(draft.probs):
            session = Session(target)
            p = exact.probs(session.score([0, 1, *draft.tokens[:i]], num_logits=1), [])
            assert abs(acceptance_probability(p, row) - max(alpha, p.min())) < EXACT


def test_tokens_per_step_are_leviathans_tau_exactly():
    """The assumption behind the formula is true here: sum over all drafts of their expected accepted length."""
    target, alpha, gamma = TableModel(4, seed=3), 0.7, 3
    drafts = check_rows_are_the_law(lambda: SyntheticDrafter(Session(target), PLAIN, alpha), [0, 1], gamma)
    expected = 1.0
    for prob, draft in drafts.values():
        session = Session(target)
        exact = SyntheticDrafter(session, PLAIN, 1.0)
        ratios = [
            min(
                1.0, exact.probs(Session(target).score([0, 1, *draft.tokens[:i]], num_logits=1), [])[token] / row[token]
            )
            for i, (token, row) in enumerate(zip(draft.tokens, draft.probs, strict=True))
        ]
        expected += prob * sum(math.prod(ratios[: i + 1]) for i in range(gamma))
    assert expected == pytest.approx(tau(alpha, gamma), abs=EXACT)


def test_measured_acceptance_is_alpha():
    """2000 steps' worth of coins; five standard deviations are 0.05."""
    target = TableModel(6, 600, seed=4)
    generation = drafted_run(target, lambda _: SyntheticDrafter(Session(target), PLAIN, 0.75), (0,), PLAIN, 590)
    steps = generation.steps
    evaluated = sum(step.num_evaluated for step in steps)
    alpha = sum(step.num_accepted for step in steps) / evaluated
    assert abs(alpha - 0.75) < 5 * math.sqrt(0.75 * 0.25 / evaluated)


def test_edges():
    one = TableModel(1)
    assert propose(SyntheticDrafter(Session(one), PLAIN, 0.2), [0], 2).tokens == (0, 0)
    small = TableModel(2, 3)
    assert len(propose(SyntheticDrafter(Session(small), PLAIN, 0.5), [0, 1, 0], 5)) == 1
    assert len(propose(SyntheticDrafter(Session(small), PLAIN, 0.5), [0], 0)) == 0
    assert SyntheticDrafter(Session(one), PLAIN, 0.5).simulated_cost is None
    assert SyntheticDrafter(Session(one), PLAIN, 0.5, 0.05).simulated_cost == 0.05


@pytest.mark.parametrize(("alpha", "cost"), [(-0.1, None), (1.1, None), (float("nan"), None), (0.5, -1.0)])
def test_bad_values(alpha, cost):
    with pytest.raises(OptionError, match="Try"):
        SyntheticDrafter(Session(TableModel(2)), PLAIN, alpha, cost)
