"""Public tests of A3: `python -m pytest test_a3.py`. The grader asks more."""

import a3
import numpy as np
import pytest


def test_acceptance():
    assert a3.acceptance_probability(np.array([0.5, 0.5]), np.array([0.9, 0.1])) == pytest.approx(0.6)


def test_tau():
    assert a3.tau(0.5, 2) == pytest.approx(1.75)
    assert a3.tau(1.0, 3) == pytest.approx(4.0)


def test_the_law_has_the_mean_tau():
    law = np.asarray(a3.tokens_law(0.7, 4))
    assert law.sum() == pytest.approx(1.0)
    assert law @ np.arange(1, 6) == pytest.approx(a3.tau(0.7, 4))


def test_two_figures():
    assert a3.estimate([5], [1]) == pytest.approx((1 / 5, 1 / 2))
    assert a3.estimate([], []) == (None, None)


def test_speedup():
    assert a3.speedup(0.5, 2, 0.1, [1.0, 1.0, 1.0]) == pytest.approx(1.75 / 1.2)
    assert a3.speedup(0.5, 2, 0.1, [1.0, 1.2, 1.4]) == pytest.approx(1.75 / 1.6)


def test_useless_drafts_are_best_not_made():
    assert a3.best_gamma(0.1, 0.5, [1.0, 1.0, 1.0]) == 0


def test_break_even():
    alpha = a3.break_even_alpha(2, 0.1, [1.0, 1.0, 1.0])
    assert a3.speedup(alpha, 2, 0.1, [1.0, 1.0, 1.0]) == pytest.approx(1.0, abs=1e-5)
    assert a3.break_even_alpha(1, 2.0, [1.0, 1.0]) is None


def test_costs_of_a_tiny_model():
    assert a3.count_weights(1, 2, 3) == 12 * 4 + 6
    assert tuple(a3.forward_costs(1, 2, 3, 1, 5, 4)) == (2 * 54 + 4 * 2 * 5, (54 + 2 * 2 * 5) * 4)


def test_roofline():
    assert a3.roofline_time(8e9, 4e9, 4e11, 4e10) == pytest.approx(0.1)
    assert a3.ridge_rows(400e9, 40e9, 4) == pytest.approx(20.0)
    assert a3.roofline_verify_cost(8, 4, 16.0) == pytest.approx([1.0, 1.0, 1.5, 2.0])


def test_means():
    assert a3.tau_by_position([0.8, 0.5]) == pytest.approx(1 + 0.8 + 0.4)
    assert a3.pooled_tau([2.0, 4.0], [100.0, 100.0]) == pytest.approx(200 / 75)


def test_two_tokens():
    assert a3.expected_steps(2, 0.5, 1) == pytest.approx(1.5)
