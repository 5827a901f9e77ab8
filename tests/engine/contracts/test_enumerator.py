"""The enumerator itself: exact on trees known by hand, and loud where it could be fooled."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispec.engine.laws import Enumerator, total_variation
from minispec.engine.noise import Address
from minispec.errors import InvariantError


def at(position, purpose="accept"):
    return Address(purpose, position)


def test_two_coins_and_a_die():
    def run(noise):
        if noise.bernoulli(0.25, at(0)):
            return "heads"
        return noise.categorical(np.array([0.5, 0.0, 0.5]), at(1)), noise.bernoulli(0.5, at(2))

    enumerator = Enumerator(run)
    third = 0.75 * 0.5 * 0.5
    assert enumerator.law() == {"heads": 0.25, **{(x, y): third for x in (0, 2) for y in (True, False)}}
    assert enumerator.num_runs == 5, "impossible branches are not walked"


@given(st.lists(st.floats(0.0, 1.0), max_size=6))
def test_the_number_of_heads_has_the_law_of_its_convolution(probs):
    law = Enumerator(lambda noise: sum(noise.bernoulli(prob, at(i)) for i, prob in enumerate(probs))).law()
    wanted = np.array([1.0])
    for prob in probs:
        wanted = np.convolve(wanted, [1.0 - prob, prob])
    assert total_variation(law, dict(enumerate(wanted))) < 1e-12  # six products and sums of float64


def test_probabilities_beyond_their_range_are_those_of_certainties():
    """As in Noise: min(1, prob)."""
    assert Enumerator(lambda noise: noise.bernoulli(1.7, at(0))).law() == {True: 1.0}


def test_a_run_without_questions_is_certain():
    assert Enumerator(lambda noise: "same").law() == {"same": 1.0}


def test_a_second_read_of_an_address_raises():
    with pytest.raises(InvariantError, match="read twice"):
        Enumerator(lambda noise: (noise.bernoulli(0.5, at(0)), noise.bernoulli(0.5, at(0)))).law()


def test_another_purpose_is_another_address():
    law = Enumerator(lambda noise: (noise.bernoulli(0.5, at(0)), noise.bernoulli(0.5, at(0, "bonus")))).law()
    assert len(law) == 4


def test_a_run_that_remembers_the_last_one_raises():
    """State carried from one branch to the next would make the law a matter of the order of branches."""
    calls = []

    def run(noise):
        calls.append(None)
        return noise.bernoulli(1.0 / (1 + len(calls)), at(0)), noise.bernoulli(0.5, at(1))

    with pytest.raises(InvariantError, match="not a function of its noise"):
        Enumerator(run).law()


def test_a_run_that_asks_less_on_replay_raises():
    calls = []

    def run(noise):
        calls.append(None)
        return sum([noise.bernoulli(0.5, at(i)) for i in range(3 if len(calls) == 1 else 1)])

    with pytest.raises(InvariantError, match="fewer questions"):
        Enumerator(run).law()


@pytest.mark.parametrize("row", [[0.5, 0.4], [0.6, 0.6], [1.5, -0.5], [np.nan, 1.0], []])
def test_a_question_that_is_no_distribution_raises(row):
    with pytest.raises(InvariantError, match="no distribution"):
        Enumerator(lambda noise: noise.categorical(np.array(row), at(0))).law()


def test_a_probability_that_is_no_number_raises():
    with pytest.raises(InvariantError, match="NaN"):
        Enumerator(lambda noise: noise.bernoulli(float("nan"), at(0))).law()


def test_too_many_branches_raise():
    with pytest.raises(InvariantError, match="branches"):
        Enumerator(lambda noise: sum([noise.bernoulli(0.5, at(i)) for i in range(9)]), max_runs=100).law()


def test_total_variation_by_hand():
    assert total_variation({"a": 0.5, "b": 0.5}, {"a": 0.25, "c": 0.75}) == 0.75
    assert total_variation({"a": 1.0}, {"a": 1.0}) == 0.0
