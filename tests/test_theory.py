"""The formulas, against published values, against brute force, and against the engine itself."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispec.contracts import Enumerator, speculative_stream
from minispec.errors import OptionError
from minispec.generation.stopping import Limits
from minispec.model.toy import TableModel
from minispec.theory import acceptance_probability, speedup, tau
from tests.generation.tiny import PLAIN

alphas = st.floats(0.0, 1.0)


@pytest.mark.parametrize(
    ("alpha", "gamma", "published"),
    [(0.6, 2, 1.96), (0.7, 3, 2.53), (0.8, 2, 2.44), (0.8, 5, 3.69), (0.9, 2, 2.71), (0.9, 10, 6.86)],
)
def test_table_1_of_leviathan_et_al(alpha, gamma, published):
    """Their speed column is tau at c = 0; two decimals were printed."""
    assert round(tau(alpha, gamma), 2) == published
    assert round(speedup(tau(alpha, gamma), gamma, cost_ratio=0.0), 2) == published


def test_tau_to_five_digits():
    assert tau(0.8, 5) == pytest.approx(3.68928, abs=1e-12)  # a sum of six exact decimals


@given(alphas, st.integers(0, 12))
def test_tau_is_the_mean_of_its_definition(alpha, gamma):
    """E[tokens] = sum over k accepted of P(k) (k + 1). Tolerance: a dozen float64 products."""
    expected = sum(alpha**k * (1.0 - alpha) * (k + 1) for k in range(gamma)) + alpha**gamma * (gamma + 1)
    assert tau(alpha, gamma) == pytest.approx(expected, abs=1e-12)


@given(alphas, alphas, st.integers(0, 12))
def test_tau_grows_with_alpha_and_gamma_within_its_bounds(a, b, gamma):
    low, high = sorted((a, b))
    assert tau(low, gamma) <= tau(high, gamma)
    assert tau(low, gamma) <= tau(low, gamma + 1)
    assert 1.0 <= tau(low, gamma) <= gamma + 1


def test_tau_at_the_ends():
    assert tau(0.0, 7) == 1.0
    assert tau(1.0, 7) == 8.0
    assert tau(0.5, 0) == 1.0


@given(alphas, st.integers(0, 12), st.floats(0.0, 2.0), st.floats(0.0, 2.0))
def test_speedup_falls_with_cost(alpha, gamma, c, d):
    cheap, dear = sorted((c, d))
    assert speedup(tau(alpha, gamma), gamma, dear) <= speedup(tau(alpha, gamma), gamma, cheap)
    assert speedup(tau(alpha, gamma), gamma, cheap, 1.5) <= speedup(tau(alpha, gamma), gamma, cheap)


def test_speedup_without_drafts_is_none():
    assert speedup(tau(0.3, 0), 0, cost_ratio=0.7) == 1.0


@given(st.lists(st.tuples(st.floats(0.01, 1.0), st.floats(0.01, 1.0)), min_size=1, max_size=6))
def test_acceptance_probability_is_one_minus_total_variation(weights):
    p, q = (np.array(side) / sum(side) for side in zip(*weights, strict=True))
    beta = acceptance_probability(p, q)
    assert beta == pytest.approx(1.0 - 0.5 * np.abs(p - q).sum(), abs=1e-12)
    assert beta == acceptance_probability(q, p)
    assert acceptance_probability(p, p) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(("alpha", "gamma"), [(-0.1, 2), (1.1, 2), (float("nan"), 2), (0.5, -1)])
def test_arguments_outside_their_range_are_refused(alpha, gamma):
    with pytest.raises(OptionError):
        tau(alpha, gamma)


def test_a_negative_cost_is_refused():
    with pytest.raises(OptionError):
        speedup(2.0, 3, -0.1)


@pytest.mark.parametrize("gamma", [0, 1, 2, 3])
def test_the_engines_mean_tokens_per_step_is_tau(gamma):
    """On tables that are the same after every prefix acceptances are independent and equally likely, as tau assumes.
    The first step has room for gamma + 1 tokens. Tolerance: float32 logits, 6e-8 relative each."""
    p, q = [0.6, 0.4], [0.3, 0.7]
    everywhere = [prefix for length in range(1, 6) for prefix in itertools.product(range(2), repeat=length)]
    target = TableModel(2, 64, table=dict.fromkeys(everywhere, p))
    draft = TableModel(2, 64, table=dict.fromkeys(everywhere, q))

    def first_step(noise):
        stream = speculative_stream(noise, target, draft, PLAIN, (0,), Limits(gamma + 1, 64), gamma=gamma)
        while not stream.generation.steps:
            next(stream)
        return len(stream.generation.steps[0].tokens)

    mean = sum(length * prob for length, prob in Enumerator(first_step).law().items())
    assert mean == pytest.approx(tau(acceptance_probability(np.array(p), np.array(q)), gamma), abs=1e-6)
