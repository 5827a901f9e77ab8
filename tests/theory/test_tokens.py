"""Tokens per step: limits, monotony, enumeration of all outcomes, simulation."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispec.errors import OptionError
from minispec.theory import (
    CountLaw,
    acceptance_probability,
    alpha_from_rate,
    conditional_acceptances,
    draft_acceptance_rate,
    pooled_tau,
    survivals,
    tau,
    tau_by_position,
    tokens_law,
    tokens_law_by_position,
)
from tests.theory.simulation import accepted_lengths, agrees, rng

alphas = st.floats(0.0, 1.0)
gammas = st.integers(0, 12)
chains = st.lists(alphas, max_size=7)
ROUNDING = 1e-12
"""A few dozen float64 operations on numbers of order 1 to 10."""


def enumerated(acceptances):
    """P(N = n) by the definition: every pattern of tosses, the tokens it yields."""
    probs = [0.0] * (len(acceptances) + 2)
    for pattern in itertools.product((True, False), repeat=len(acceptances)):
        chance = math.prod(a if kept else 1.0 - a for a, kept in zip(acceptances, pattern, strict=True))
        probs[1 + len(list(itertools.takewhile(bool, pattern)))] += chance
    return probs


@given(chains)
def test_the_law_by_position_is_that_of_all_outcomes(acceptances):
    law = tokens_law_by_position(acceptances)
    assert law.probs.tolist() == pytest.approx(enumerated(acceptances), abs=ROUNDING)
    assert law.mean == pytest.approx(tau_by_position(acceptances), abs=ROUNDING)
    assert law.mean == pytest.approx(1.0 + sum(survivals(acceptances)), abs=ROUNDING)
    assert [law.tail(k) for k in range(1, len(acceptances) + 1)] == pytest.approx(survivals(acceptances), abs=ROUNDING)


@given(alphas, gammas)
def test_equal_acceptances_are_the_capped_geometric_law(alpha, gamma):
    law = tokens_law(alpha, gamma)
    assert tau_by_position([alpha] * gamma) == tau(alpha, gamma)
    assert law.mean == pytest.approx(tau(alpha, gamma), abs=ROUNDING)
    squares = sum((2 * k + 1) * alpha**k for k in range(gamma + 1))
    assert law.variance == pytest.approx(squares - tau(alpha, gamma) ** 2, abs=1e-10)
    if alpha < 0.99:
        closed = (1.0 - alpha ** (gamma + 1)) / (1.0 - alpha)
        assert tau(alpha, gamma) == pytest.approx(closed, abs=1e-10)


@given(alphas, alphas, gammas)
def test_tau_grows_with_alpha_and_gamma_within_its_bounds(a, b, gamma):
    low, high = sorted((a, b))
    assert tau(low, gamma) <= tau(high, gamma)
    assert tau(low, gamma) <= tau(low, gamma + 1)
    assert 1.0 <= tau(low, gamma) <= gamma + 1
    assert low == 1.0 or tau(low, gamma) <= 1.0 / (1.0 - low) * (1.0 + ROUNDING)


def test_tau_at_the_ends():
    assert tau(0.0, 7) == 1.0
    assert tau(1.0, 7) == 8.0
    assert tau(0.5, 0) == 1.0


@given(chains, st.data())
def test_a_better_position_never_costs_tokens(acceptances, data):
    better = [data.draw(st.floats(a, 1.0)) for a in acceptances]
    assert tau_by_position(acceptances) <= tau_by_position(better)


@given(st.lists(st.floats(0.01, 1.0), max_size=7))
def test_acceptances_and_survivals_are_each_others_inverse(acceptances):
    assert conditional_acceptances(survivals(acceptances)) == pytest.approx(acceptances, rel=1e-9)


@pytest.mark.parametrize("acceptances", [[0.8] * 5, [0.9, 0.2, 0.99], [0.3]])
def test_the_law_is_that_of_simulated_steps(acceptances):
    tokens = accepted_lengths(rng(1), acceptances, 100_000) + 1
    law = tokens_law_by_position(acceptances)
    assert agrees(tokens, law.mean)
    assert agrees((tokens - law.mean) ** 2, law.variance)
    for n in range(1, len(acceptances) + 2):
        assert agrees(tokens == n, law.probs[n])


@given(st.lists(st.tuples(st.floats(0.01, 1.0), st.floats(0.01, 1.0)), min_size=1, max_size=6))
def test_acceptance_probability_is_one_minus_total_variation(weights):
    p, q = (np.array(side) / sum(side) for side in zip(*weights, strict=True))
    beta = acceptance_probability(p, q)
    assert beta == pytest.approx(1.0 - 0.5 * np.abs(p - q).sum(), abs=ROUNDING)
    assert beta == acceptance_probability(q, p)
    assert acceptance_probability(p, p) == pytest.approx(1.0, abs=ROUNDING)


@given(alphas, st.integers(1, 12))
def test_the_acceptance_rate_is_not_alpha_and_leads_back_to_it(alpha, gamma):
    """alpha' from r differs by the rounding of r over the slope of r, which is at least 1 / gamma."""
    rate = draft_acceptance_rate(alpha, gamma)
    assert 0.0 <= rate <= alpha + ROUNDING
    assert tau(alpha, gamma) == pytest.approx(1.0 + rate * gamma, abs=ROUNDING)
    assert alpha_from_rate(rate, gamma) == pytest.approx(alpha, abs=1e-12)


def test_the_acceptance_rate_at_the_ends():
    assert [draft_acceptance_rate(end, 5) for end in (0.0, 1.0)] == [0.0, 1.0]
    assert [alpha_from_rate(end, 5) for end in (0.0, 1.0)] == [0.0, 1.0]
    assert alpha_from_rate(0.37, 1) == pytest.approx(0.37, abs=1e-15)


def test_the_acceptance_rate_is_that_of_simulated_steps():
    accepted = accepted_lengths(rng(2), [0.8] * 5, 100_000)
    assert agrees(accepted / 5, draft_acceptance_rate(0.8, 5))
    assert not agrees(accepted / 5, 0.8)


@given(st.lists(st.tuples(alphas, st.floats(0.1, 10.0)), min_size=1, max_size=4), gammas)
def test_pools_lie_in_order(kinds, gamma):
    """Harmonic <= arithmetic mean; and one acceptance per step, drawn anew, yields more than its mean would."""
    taus = [tau(alpha, gamma) for alpha, _ in kinds]
    weights = [weight for _, weight in kinds]
    by_tokens, by_steps = (pooled_tau(taus, weights, weights_are=kind) for kind in ("tokens", "steps"))
    mean_alpha = min(1.0, sum(alpha * weight for alpha, weight in kinds) / sum(weights))
    assert min(taus) <= by_tokens * (1.0 + ROUNDING)
    assert by_tokens <= by_steps * (1.0 + ROUNDING)
    assert by_steps <= max(taus) * (1.0 + ROUNDING)
    assert tau(mean_alpha, gamma) <= by_steps * (1.0 + ROUNDING)


def test_equally_long_texts_together_are_the_harmonic_mean():
    """Two texts of equal length, simulated: all their tokens over all their steps. The ratio's spread is below 0.01."""
    steps = {alpha: accepted_lengths(rng(3), [alpha] * 5, 200_000) + 1 for alpha in (0.45, 0.95)}
    length = 300_000
    needed = [int(np.searchsorted(np.cumsum(tokens), length)) for tokens in steps.values()]
    together = pooled_tau([tau(alpha, 5) for alpha in steps], [1, 1])
    assert 2 * length / sum(needed) == pytest.approx(together, abs=0.03)
    assert together == pytest.approx(2.691, abs=5e-4)


def test_quantiles_and_tails_of_a_law():
    law = CountLaw(np.array([0.0, 0.5, 0.25, 0.25]))
    assert [law.quantile(level) for level in (0.0, 0.5, 0.500001, 0.75, 1.0)] == [0, 1, 2, 2, 3]
    assert [law.tail(k) for k in (-1, 0, 1, 2, 3, 9)] == [1.0, 1.0, 0.5, 0.25, 0.0, 0.0]


NAN = float("nan")


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: tau(-0.1, 2), "alpha is -0.1"),
        (lambda: tau(1.1, 2), "alpha is 1.1"),
        (lambda: tau(NAN, 2), "alpha is nan"),
        (lambda: tau("x", 2), "alpha is 'x'"),
        (lambda: tau(0.5, -1), "gamma is -1"),
        (lambda: tau(0.5, 2.5), "gamma is 2.5"),
        (lambda: tau(0.5, 10**12), "gamma is 1000000000000"),
        (lambda: acceptance_probability(np.ones(2) / 2, np.ones(3) / 3), "(2,)"),
        (lambda: acceptance_probability([2, 2], [0.5, 0.5]), "target's probabilities are [2, 2] with sum 4"),
        (lambda: acceptance_probability([0.5, 0.5], [-0.5, 1.5]), "draft's probabilities are [-0.5, 1.5]"),
        (lambda: acceptance_probability([NAN, 1.0], [0.5, 0.5]), "with sum nan"),
        (lambda: acceptance_probability([], []), "with sum 0"),
        (lambda: acceptance_probability(1.0, 1.0), "one row"),
        (lambda: draft_acceptance_rate(0.5, 0), "gamma is 0"),
        (lambda: alpha_from_rate(1.2, 3), "acceptance rate is 1.2"),
        (lambda: survivals([0.5, 1.5]), "acceptance[1] is 1.5"),
        (lambda: tokens_law(2.0, 0), "alpha is 2.0"),
        (lambda: conditional_acceptances([0.2, 0.5]), "divide each count by the number of all steps"),
        (lambda: pooled_tau([], []), "0 taus"),
        (lambda: pooled_tau([2.0], [1.0, 1.0]), "1 taus, 2 weights"),
        (lambda: pooled_tau([0.5], [1.0]), "taus[0] is 0.5"),
        (lambda: pooled_tau([2.0], [0.0]), "sum of the weights is 0"),
        (lambda: pooled_tau([2.0], [-1.0]), "weights[0] is -1.0"),
        (lambda: pooled_tau([2.0], [1.0], weights_are="words"), "'words'"),
        (lambda: CountLaw(np.array([0.5, 0.4])), "[0.5, 0.4]"),
        (lambda: CountLaw(np.array([1.5, -0.5])), "[1.5, -0.5]"),
        (lambda: CountLaw(np.array([1.0])).quantile(1.5), "level is 1.5"),
    ],
)
def test_bad_input_is_one_line_with_the_value(call, named):
    with pytest.raises(OptionError) as caught:
        call()
    assert named in str(caught.value)
    assert "\n" not in str(caught.value)
    assert str(caught.value).count(";") >= 2  # value; rule; way out
