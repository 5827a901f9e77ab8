"""Estimators of alpha: largest likelihood, known intervals, and how often the intervals cover."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispec.errors import OptionError
from minispec.theory import alpha_from_counts, alpha_from_overlaps
from minispec.theory.estimate import binomial_tail
from tests.theory.simulation import Z, agrees, rng


def slow_tail(count, trials, prob):
    return math.fsum(math.comb(trials, j) * prob**j * (1.0 - prob) ** (trials - j) for j in range(count, trials + 1))


@given(st.integers(1, 120).flatmap(lambda n: st.tuples(st.integers(1, n), st.just(n))), st.floats(0.0, 1.0))
def test_the_binomial_tail_is_its_sum(counts, prob):
    """Tolerance: lgamma of numbers up to 500 is right to about 1e-13 of them."""
    assert binomial_tail(*counts, prob) == pytest.approx(slow_tail(*counts, prob), abs=1e-12)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=30))
def test_accepted_over_evaluated_is_the_largest_likelihood(accepted_of_steps):
    """Steps of four drafts, censored at four: no alpha of a fine grid has a larger likelihood."""
    rejections = sum(k < 4 for k in accepted_of_steps)
    accepted = sum(accepted_of_steps)

    def log_likelihood(alpha):
        steps = (alpha**k * (1.0 - alpha if k < 4 else 1.0) for k in accepted_of_steps)
        return sum(math.log(chance) if chance > 0.0 else -math.inf for chance in steps)

    best = alpha_from_counts(accepted, accepted + rejections).value
    assert all(log_likelihood(best) >= log_likelihood(i / 200) - 1e-9 for i in range(201))


def test_known_intervals():
    """Wilson: 81 of 263 is example 1 of Newcombe, Statistics in Medicine 17, 1998, as is the exact one."""
    assert alpha_from_counts(81, 263) == pytest.approx((0.30798, 0.2553, 0.3662), abs=5e-5)
    assert alpha_from_counts(81, 263, interval="exact") == pytest.approx((0.30798, 0.2527, 0.3676), abs=5e-5)
    assert alpha_from_counts(0, 5, interval="exact") == pytest.approx((0.0, 0.0, 1.0 - 0.025**0.2), abs=1e-12)
    assert alpha_from_counts(5, 5, interval="exact") == pytest.approx((1.0, 0.025**0.2, 1.0), abs=1e-12)


@given(
    st.integers(1, 10_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    st.sampled_from(["wilson", "exact"]),
)
def test_intervals_hold_their_estimate_mirror_each_other_and_widen(counts, interval):
    accepted, evaluated = counts
    value, low, high = alpha_from_counts(accepted, evaluated, interval=interval)
    assert 0.0 <= low <= value <= high <= 1.0
    _, mirrored_low, mirrored_high = alpha_from_counts(evaluated - accepted, evaluated, interval=interval)
    assert (1.0 - mirrored_high, 1.0 - mirrored_low) == pytest.approx((low, high), abs=1e-9)
    _, wide_low, wide_high = alpha_from_counts(accepted, evaluated, confidence=0.99, interval=interval)
    assert wide_low <= low + 1e-12
    assert wide_high >= high - 1e-12


def coverage(alpha, evaluated, interval):
    """P(the interval holds alpha), exactly: the evaluated positions fixed, all outcomes added up."""
    total = 0.0
    for accepted in range(evaluated + 1):
        _, low, high = alpha_from_counts(accepted, evaluated, interval=interval)
        if low <= alpha <= high:
            total += math.comb(evaluated, accepted) * alpha**accepted * (1.0 - alpha) ** (evaluated - accepted)
    return total


@pytest.mark.parametrize("evaluated", [20, 50])
def test_coverage_where_the_evaluated_positions_are_fixed(evaluated):
    grid = [(i + 0.5) / 40 for i in range(40)]
    exact = [coverage(alpha, evaluated, "exact") for alpha in grid]
    wilson = [coverage(alpha, evaluated, "wilson") for alpha in grid]
    assert min(exact) >= 0.95
    assert 0.94 < sum(wilson) / len(wilson) < 0.965
    assert min(wilson) > 0.83  # it dips near 0 and 1, where one outcome more or less matters


def counts_law(alpha, gamma, num_steps):
    """P(accepted = a, evaluated = e) after a number of steps, exactly."""
    law = {(0, 0): 1.0}
    outcomes = [((k, k + 1), alpha**k * (1.0 - alpha)) for k in range(gamma)] + [((gamma, gamma), alpha**gamma)]
    for _ in range(num_steps):
        after = {}
        for (a, e), chance in law.items():
            for (more_a, more_e), p in outcomes:
                key = (a + more_a, e + more_e)
                after[key] = after.get(key, 0.0) + chance * p
        law = after
    return law


@pytest.mark.parametrize("alpha", [0.2, 0.5, 0.7, 0.8, 0.9])
def test_coverage_where_the_steps_are_fixed(alpha):
    """As in a run: 25 steps of four drafts, a random number of evaluated positions. All outcomes, no simulation."""
    for interval, least in (("wilson", 0.93), ("exact", 0.949)):
        covered = 0.0
        for (a, e), chance in counts_law(alpha, 4, 25).items():
            if chance > 1e-9:  # there are below 3000 outcomes: what is left out is below 3e-6
                _, low, high = alpha_from_counts(a, e, interval=interval)
                covered += chance * (low <= alpha <= high)
        assert covered >= least, (interval, covered)


def simulated_runs(alpha_of_step, spread, num_steps, repeats, seed):
    """Runs of steps of five drafts; beta of a position is the step's level +- spread. Yields overlaps, counts."""
    generator = rng(seed)
    for _ in range(repeats):
        levels = alpha_of_step(generator, num_steps)
        betas = levels[:, None] + spread * generator.choice([-1.0, 1.0], (num_steps, 5))
        accepted = np.cumprod(generator.random((num_steps, 5)) < betas, axis=1).sum(axis=1)
        evaluated = np.minimum(accepted + 1, 5)
        yield [row[:e] for row, e in zip(betas, evaluated, strict=True)], int(accepted.sum()), int(evaluated.sum())


def equal(_, num_steps):
    return np.full(num_steps, 0.7)


def two_kinds(generator, num_steps):
    return generator.choice([0.45, 0.85], num_steps)


def covers(estimates, truth):
    return [estimate.low <= truth <= estimate.high for estimate in estimates]


def test_both_estimators_estimate_alpha_and_the_overlaps_vary_less():
    """Variance ratio for independent beta = .7 +- .2: Var[beta] / (alpha (1 - alpha)) = .04 / .21 = .19."""
    runs = list(simulated_runs(equal, 0.2, 200, 400, seed=6))
    by_overlap = [alpha_from_overlaps(overlaps) for overlaps, _, _ in runs]
    by_count = [alpha_from_counts(a, e) for _, a, e in runs]
    assert np.mean([estimate.value for estimate in by_overlap]) == pytest.approx(0.7, abs=0.002)
    assert np.mean([estimate.value for estimate in by_count]) == pytest.approx(0.7, abs=0.005)
    ratio = np.var([estimate.value for estimate in by_overlap]) / np.var([estimate.value for estimate in by_count])
    assert 0.12 < ratio < 0.29  # an F ratio of 400 runs each has a relative error of about 0.1
    assert agrees([e * estimate.value - a for (_, a, e), estimate in zip(runs, by_overlap, strict=True)], 0.0)


@pytest.mark.parametrize("kind", [equal, two_kinds])
def test_coverage_of_the_overlaps_interval(kind):
    """400 runs of 100 steps, level .95. If the coverage is .94 or more (the normal interval is asymptotic), the share
    of covered runs falls Z = 6 standard errors below that with probability below 1e-7: the least passing share is .875.
    """
    truth = 0.7
    if kind is two_kinds:  # per evaluated position: E[accepted] / E[evaluated], both sums over the two kinds
        reached = [[level**k for k in range(6)] for level in (0.45, 0.85)]
        truth = sum(sum(row[1:]) for row in reached) / sum(sum(row[:5]) for row in reached)
    runs = list(simulated_runs(kind, 0.1, 100, 400, seed=7))
    covered = np.mean(covers([alpha_from_overlaps(overlaps) for overlaps, _, _ in runs], truth))
    assert covered >= 0.94 - Z * math.sqrt(0.05 * 0.95 / len(runs))


def test_one_value_throughout_has_an_interval_of_no_width():
    assert alpha_from_overlaps([[0.5, 0.5], [], [0.5]]) == (0.5, 0.5, 0.5)


@pytest.mark.parametrize("beta", [0.0, 1.0])
def test_of_steps_that_are_all_alike_the_number_counts(beta):
    """At temperature 0: three steps that accept everything do not prove that the fourth does."""
    assert alpha_from_overlaps([[beta] * 5, [], [beta], [beta] * 2]) == alpha_from_counts(3 * int(beta), 3)


NAN = float("nan")


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: alpha_from_counts(0, 0), "evaluated tokens is 0"),
        (lambda: alpha_from_counts(5, 3), "accepted tokens is 5"),
        (lambda: alpha_from_counts(-1, 3), "accepted tokens is -1"),
        (lambda: alpha_from_counts(0.5, 3), "accepted tokens is 0.5"),
        (lambda: alpha_from_counts(1, 3, confidence=1.0), "confidence is 1.0"),
        (lambda: alpha_from_counts(1, 3, confidence=NAN), "confidence is nan"),
        (lambda: alpha_from_counts(1, 3, interval="wald"), "interval is 'wald'"),
        (lambda: alpha_from_overlaps([]), "0 steps"),
        (lambda: alpha_from_overlaps([[0.5], []]), "1 steps"),
        (lambda: alpha_from_overlaps([[0.5], [1.5]]), "beta of step 1[0] is 1.5"),
        (lambda: alpha_from_overlaps([[0.5], [0.5]], confidence=0.0), "confidence is 0.0"),
    ],
)
def test_bad_input_is_one_line_with_the_value(call, named):
    with pytest.raises(OptionError) as caught:
        call()
    assert named in str(caught.value)
    assert "\n" not in str(caught.value)
    assert str(caught.value).count(";") >= 2  # value; rule; way out
