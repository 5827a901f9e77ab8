"""Finite responses: enumeration of all ways to get there, Wald, limits, simulation."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from minispec.errors import OptionError
from minispec.theory import (
    CountLaw,
    expected_steps,
    expected_steps_asymptote,
    response_speedup,
    speedup,
    steps_law,
    tau,
    tokens_law,
    tokens_law_by_position,
)
from tests.theory.simulation import accepted_lengths, agrees, rng

chains = st.lists(st.floats(0.0, 1.0), max_size=4)
ROUNDING = 1e-10


def enumerated(num_tokens, probs):
    """P(R = r): every sequence of step lengths, down to the last token."""
    law = [0.0] * (num_tokens + 1)

    def go_on(left, steps, chance):
        if left <= 0:
            law[steps] += chance
            return
        for length in range(1, len(probs)):
            go_on(left - length, steps + 1, chance * probs[length])

    go_on(num_tokens, 0, 1.0)
    return law


@given(st.integers(0, 6), chains)
def test_the_law_of_the_steps_is_that_of_all_ways_there(num_tokens, acceptances):
    tokens = tokens_law_by_position(acceptances)
    law = steps_law(num_tokens, tokens)
    assert law.probs.tolist() == pytest.approx(enumerated(num_tokens, tokens.probs), abs=ROUNDING)


@given(st.integers(0, 60), chains)
def test_the_mean_of_the_law_is_the_recursions(num_tokens, acceptances):
    tokens = tokens_law_by_position(acceptances)
    law = steps_law(num_tokens, tokens)
    mean = expected_steps(num_tokens, tokens)
    assert law.mean == pytest.approx(mean, abs=ROUNDING)
    assert num_tokens / (len(acceptances) + 1) <= mean + ROUNDING
    assert num_tokens <= mean * tokens.mean + ROUNDING  # Wald: mu E[R] = n + overshoot
    assert mean * tokens.mean <= num_tokens + len(acceptances) + ROUNDING
    assert expected_steps(num_tokens + 1, tokens) >= mean - ROUNDING


@pytest.mark.parametrize(("alpha", "gamma"), [(0.5, 4), (0.7, 4), (0.8, 5), (0.9, 8)])
def test_the_asymptote(alpha, gamma):
    """Close from about five full steps on; what a finite response loses is a part of one step."""
    law = tokens_law(alpha, gamma)
    for n, close in ((5 * (gamma + 1), 0.01), (100, 1e-3), (400, 1e-6)):
        assert expected_steps(n, law) == pytest.approx(expected_steps_asymptote(n, law), abs=close)
    assert 0.3 < expected_steps_asymptote(0, law) < 0.6


def test_the_ends():
    assert steps_law(7, tokens_law(0.0, 3)).probs.tolist() == [0.0] * 7 + [1.0]
    assert steps_law(7, tokens_law(1.0, 3)).probs.tolist() == [0.0, 0.0, 1.0] + [0.0] * 5
    assert expected_steps(0, tokens_law(0.5, 3)) == 0.0
    assert steps_law(0, tokens_law(0.5, 3)).probs.tolist() == [1.0]
    rounded = CountLaw([0, *[0.3333333333] * 3])
    assert steps_law(100, rounded).mean == pytest.approx(expected_steps(100, rounded), rel=1e-6)


def test_the_longest_response_is_quick_and_stays_a_law():
    law = steps_law(4096, tokens_law(0.7, 4))
    assert law.probs.sum() == pytest.approx(1.0, abs=1e-9)
    assert law.mean == pytest.approx(expected_steps_asymptote(4096, tokens_law(0.7, 4)), abs=1e-6)


def simulated_steps(acceptances, num_tokens, repeats):
    tokens = accepted_lengths(rng(5), acceptances, repeats * num_tokens).reshape(repeats, num_tokens) + 1
    return (np.cumsum(tokens, axis=1) < num_tokens).sum(axis=1) + 1


@pytest.mark.parametrize("acceptances", [[0.7] * 4, [0.9, 0.5, 0.2]])
def test_the_law_is_that_of_simulated_responses(acceptances):
    steps = simulated_steps(acceptances, 20, 20_000)
    law = steps_law(20, tokens_law_by_position(acceptances))
    assert agrees(steps, law.mean)
    assert agrees((steps - law.mean) ** 2, law.variance)
    for r in range(20):
        if 0.005 < law.tail(r) < 0.995:  # 100 expected of either outcome: the normal approximation is fair
            assert agrees(steps > r, law.tail(r))


def slow_cost(num_tokens, acceptances, c, v):
    """The engine's rule, one outcome at a time: draft min(gamma, room - 1), pay, go on with what is left."""

    @functools.cache
    def cost(left):
        if left <= 0:
            return 0.0
        g = min(len(acceptances), left - 1)
        probs = tokens_law_by_position(acceptances[:g]).probs
        return g * c + (v if g else 1.0) + sum(probs[n] * cost(left - n) for n in range(1, g + 2))

    return cost(num_tokens)


@given(st.integers(1, 30), chains, st.floats(0.0, 1.0), st.floats(1.0, 2.0))
def test_the_speedup_of_a_response(num_tokens, acceptances, c, v):
    cut = response_speedup(num_tokens, acceptances, c, v)
    assert cut == pytest.approx(num_tokens / slow_cost(num_tokens, acceptances, c, v), rel=1e-9)
    full = response_speedup(num_tokens, acceptances, c, v, cut_drafts=False)
    tokens = tokens_law_by_position(acceptances)
    step = len(acceptances) * c + (v if acceptances else 1.0)
    assert full == pytest.approx(num_tokens / (expected_steps(num_tokens, tokens) * step), rel=1e-9)
    assert cut >= full * (1.0 - 1e-9)
    assert response_speedup(num_tokens, acceptances, c, v, speculative_setup=1.0) < cut


@given(st.integers(1, 60), st.floats(0.0, 1.0), st.integers(1, 8), st.floats(0.0, 1.0))
def test_cut_drafts_that_pay_in_the_long_run_pay_at_every_length(num_tokens, alpha, gamma, c):
    assume(speedup(tau(alpha, gamma), gamma, c) >= 1.0)
    assert response_speedup(num_tokens, [alpha] * gamma, c) >= 1.0 - 1e-9


def test_full_drafts_may_lose_on_a_short_response_where_cut_ones_gain():
    assert 1.0 / response_speedup(2, [0.6] * 4, 0.2, cut_drafts=False) == pytest.approx(1.26, abs=5e-3)
    assert response_speedup(2, [0.6] * 4, 0.2) == pytest.approx(1.25, abs=1e-12)


def test_a_long_response_has_the_speedup_of_the_formula():
    for alpha, gamma, c in ((0.7, 4, 0.05), (0.8, 5, 0.05), (0.6, 4, 0.2)):
        long = response_speedup(16_000, [alpha] * gamma, c)
        assert long == pytest.approx(speedup(tau(alpha, gamma), gamma, c), rel=1e-3)
    assert response_speedup(1, [0.7] * 4, 0.05) == 1.0  # one token: no room for a draft


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: steps_law(-1, tokens_law(0.5, 2)), "number of tokens is -1"),
        (lambda: steps_law(10**6, tokens_law(0.5, 2)), "number of tokens is 1000000"),
        (lambda: expected_steps(1.5, tokens_law(0.5, 2)), "number of tokens is 1.5"),
        (lambda: steps_law(3, CountLaw(np.array([0.5, 0.5]))), "0 tokens a probability of 0.5"),
        (lambda: response_speedup(0, [0.5], 0.1), "number of tokens is 0"),
        (lambda: response_speedup(5, [1.5], 0.1), "acceptance[0] is 1.5"),
        (lambda: response_speedup(5, [0.5], -0.1), "cost ratio is -0.1"),
        (lambda: response_speedup(5, [0.5], 0.1, plain_setup=-1.0), "plain setup is -1.0"),
        (lambda: response_speedup(5, [0.5], 0.1, speculative_setup=float("inf")), "speculative setup is inf"),
    ],
)
def test_bad_input_is_one_line_with_the_value(call, named):
    with pytest.raises(OptionError) as caught:
        call()
    assert named in str(caught.value)
    assert "\n" not in str(caught.value)
    assert str(caught.value).count(";") >= 2  # value; rule; way out
