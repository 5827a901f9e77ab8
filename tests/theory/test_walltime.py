"""Speedup, the best gamma, break-even, batches and trees: limits, monotony, brute force."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from minispec.errors import OptionError
from minispec.theory import (
    alpha_for_speedup,
    batch_break_even,
    best_gamma,
    best_gamma_by_position,
    break_even_rate,
    can_pay,
    chains_tokens,
    cost_ratio_for_speedup,
    draft_acceptance_rate,
    free_batch,
    one_more_pays,
    operations_factor,
    ridge_tokens,
    roofline_verify_cost,
    speedup,
    step_cost,
    tau,
    tau_by_position,
    tree_reach,
    tree_tokens,
)
from tests.theory.simulation import accepted_lengths, agrees, rng

alphas = st.floats(0.0, 1.0)
gammas = st.integers(1, 12)
costs = st.floats(0.0, 2.0)
verify_costs = st.floats(1.0, 3.0)
ROUNDING = 1e-9


@given(alphas, st.integers(0, 12), costs, costs)
def test_speedup_falls_with_every_cost(alpha, gamma, c, d):
    cheap, dear = sorted((c, d))
    tokens = tau(alpha, gamma)
    assert speedup(tokens, gamma, dear) <= speedup(tokens, gamma, cheap)
    assert speedup(tokens, gamma, c, 1.0 + dear) <= speedup(tokens, gamma, c, 1.0 + cheap)
    assert speedup(tokens, gamma, c, 1.0, dear) <= speedup(tokens, gamma, c, 1.0, cheap)
    assert speedup(tokens, gamma, 0.0) == tokens
    assert speedup(tokens, gamma, c, lambda rows: 0.5 + 0.5 * rows) == speedup(tokens, gamma, c, 1.0 + 0.5 * gamma)


def test_speedup_without_drafts_is_none():
    assert speedup(tau(0.3, 0), 0, cost_ratio=0.7) == 1.0


@given(alphas, costs, verify_costs, st.floats(0.0, 1.0), st.integers(0, 12))
def test_the_best_gamma_beats_every_other(alpha, c, v, overhead, max_gamma):
    best = best_gamma(alpha, c, v, overhead, max_gamma=max_gamma)
    etas = [1.0] + [speedup(tau(alpha, g), g, c, v, overhead) for g in range(1, max_gamma + 1)]
    assert best.speedup == pytest.approx(max(etas), rel=ROUNDING)
    assert best.speedup == pytest.approx(etas[best.gamma], rel=ROUNDING)
    assert best.tokens_per_step == pytest.approx(tau(alpha, best.gamma), rel=ROUNDING)
    assert all(eta < best.speedup * (1.0 - 1e-13) for eta in etas[: best.gamma])


@given(alphas, alphas, st.floats(0.001, 1.0), st.floats(0.001, 1.0))
def test_the_best_speedup_grows_with_alpha_and_falls_with_cost(a, b, c, d):
    (low, high), (cheap, dear) = sorted((a, b)), sorted((c, d))
    assert best_gamma(low, c).speedup <= best_gamma(high, c).speedup * (1.0 + ROUNDING)
    assert best_gamma(a, dear).speedup <= best_gamma(a, cheap).speedup * (1.0 + ROUNDING)


@given(st.floats(0.01, 0.99), st.floats(0.001, 1.0), st.floats(0.0, 0.5))
def test_the_speedup_is_unimodal_and_one_more_pays_up_to_its_peak(alpha, c, slope):
    """Where v is linear: the marginal rule holds exactly for the lengths at which the speedup still rises."""
    v = lambda rows: 1.0 + slope * (rows - 1)  # noqa: E731
    etas = [speedup(tau(alpha, g), g, c, v) for g in range(41)]
    rises = [after > before for before, after in itertools.pairwise(etas)]
    near = [abs(after / before - 1.0) < ROUNDING for before, after in itertools.pairwise(etas)]
    assume(not any(near[: rises.index(False) + 1] if False in rises else near))
    assert rises == sorted(rises, reverse=True)
    for g in range(1, 41):
        assume(not math.isclose(alpha**g, (c + slope) * etas[g - 1], rel_tol=ROUNDING))
        assert one_more_pays(alpha**g, etas[g - 1], c, slope) == rises[g - 1]


@given(st.lists(alphas, max_size=8), costs)
def test_the_best_gamma_by_position_beats_every_prefix(acceptances, c):
    best = best_gamma_by_position(acceptances, c)
    etas = [speedup(tau_by_position(acceptances[:g]), g, c) for g in range(len(acceptances) + 1)]
    assert best.speedup == pytest.approx(max(etas), rel=ROUNDING)
    assert etas[best.gamma] == pytest.approx(best.speedup, rel=ROUNDING)


@given(alphas, st.floats(0.001, 2.0))
def test_alpha_above_c_is_necessary_and_sufficient(alpha, c):
    assume(abs(alpha - c) > 1e-6)
    best = best_gamma(alpha, c)
    assert can_pay(alpha, c) == (best.gamma > 0)
    if can_pay(alpha, c):
        assert best.speedup >= (1.0 + alpha) / (1.0 + c) * (1.0 - ROUNDING)


@given(alphas, gammas, costs, verify_costs, st.floats(0.0, 1.0))
def test_the_rate_at_break_even(alpha, gamma, c, v, overhead):
    eta = speedup(tau(alpha, gamma), gamma, c, v, overhead)
    assume(abs(eta - 1.0) > ROUNDING)
    rate = break_even_rate(gamma, c, v, overhead)
    assert rate == pytest.approx(c + (v - 1.0 + overhead) / gamma, abs=1e-12)
    assert (draft_acceptance_rate(alpha, gamma) > rate) == (eta > 1.0)


@given(st.floats(0.1, 10.0), gammas, costs, verify_costs)
def test_alpha_and_cost_for_a_speedup_lead_back_to_it(wanted, gamma, c, v):
    alpha = alpha_for_speedup(wanted, gamma, c, v)
    if alpha is None:
        assert speedup(gamma + 1, gamma, c, v) < wanted
        return
    reached = speedup(tau(alpha, gamma), gamma, c, v)
    assert reached >= wanted * (1.0 - ROUNDING)
    if alpha > 0.0:
        assert reached == pytest.approx(wanted, rel=1e-6)
        again = cost_ratio_for_speedup(wanted, tau(alpha, gamma), gamma, v)
        assert (again or 0.0) == pytest.approx(c, abs=1e-6)


@given(alphas, st.integers(0, 12), costs)
def test_speculation_never_saves_arithmetic(alpha, gamma, ratio):
    assert operations_factor(alpha, gamma, ratio) >= 1.0 - ROUNDING
    assert operations_factor(1.0, gamma, 0.0) == 1.0


@given(alphas, gammas, st.floats(0.0, 0.5), st.floats(1.0, 1000.0))
def test_the_batch_at_break_even(alpha, gamma, c, ridge):
    def eta(batch):
        return speedup(tau(alpha, gamma), gamma, c, roofline_verify_cost(batch, ridge))

    limit = batch_break_even(alpha, gamma, c, ridge)
    if limit is None:
        assert eta(1e-6) <= 1.0 + ROUNDING
        return
    assert free_batch(gamma, ridge) <= limit * (1.0 + ROUNDING)
    assert limit <= ridge * (1.0 + ROUNDING)
    assert eta(limit) == pytest.approx(1.0, rel=1e-6)
    assert eta(limit * 0.5) >= 1.0 - ROUNDING
    assert eta(limit * 2.0) <= 1.0 + ROUNDING


@given(st.floats(1.0, 1000.0), st.floats(1.0, 1000.0), gammas)
def test_the_verify_cost_of_a_batch(batch, ridge, gamma):
    v = roofline_verify_cost(batch, ridge)
    assert v(1) == 1.0
    assert 1.0 <= v(gamma + 1) <= gamma + 1 + ROUNDING
    if batch <= free_batch(gamma, ridge) * (1.0 - ROUNDING):
        assert v(gamma + 1) == 1.0
    if batch >= ridge:
        assert v(gamma + 1) == pytest.approx(gamma + 1, rel=ROUNDING)


@given(alphas, st.integers(0, 8))
def test_a_chain_is_a_tree(alpha, gamma):
    assert tree_tokens(range(-1, gamma - 1), [alpha] * gamma) == pytest.approx(tau(alpha, gamma), rel=ROUNDING)
    assert chains_tokens(alpha, gamma, 1) == pytest.approx(tau(alpha, gamma), rel=ROUNDING)


@given(alphas, gammas, st.integers(1, 6))
def test_more_chains_yield_more(alpha, gamma, num_chains):
    fewer, more = chains_tokens(alpha, gamma, num_chains), chains_tokens(alpha, gamma, num_chains + 1)
    assert fewer <= more + ROUNDING
    assert more <= gamma + 1 + ROUNDING


def test_a_trees_tokens_are_those_of_all_its_walks():
    """From the root, walk to one child or stop; the tokens are the nodes visited and one more."""
    parents, chances = [-1, -1, 0, 1, 1], [0.5, 0.25, 0.75, 0.5, 0.25]

    def walk(node):
        children = [i for i, parent in enumerate(parents) if parent == node]
        return 1.0 + sum(chances[child] * walk(child) for child in children)  # E[tokens from here]

    assert tree_tokens(parents, chances) == pytest.approx(walk(-1), abs=1e-12)
    assert tree_reach(parents, chances) == [0.5, 0.25, 0.375, 0.125, 0.0625]


def test_chains_are_those_simulated():
    generator = rng(4)
    lengths = [accepted_lengths(generator, [0.7] * 5, 50_000) for _ in range(3)]
    best = [max(each) for each in zip(*lengths, strict=True)]
    assert agrees([length + 1 for length in best], chains_tokens(0.7, 5, 3))


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: speedup(2.0, 3, -0.1), "cost ratio is -0.1"),
        (lambda: speedup(2.0, 3, NAN), "cost ratio is nan"),
        (lambda: speedup(2.0, 3, INF), "cost ratio is inf"),
        (lambda: speedup(2.0, 3, "cheap"), "cost ratio is 'cheap'"),
        (lambda: speedup(-2.0, 3, 0.1), "tokens per step is -2.0"),
        (lambda: speedup(2.0, -3, 0.1), "gamma is -3"),
        (lambda: speedup(2.0, 3, 0.1, -1.0), "verify cost is -1.0"),
        (lambda: speedup(2.0, 3, 0.1, lambda rows: NAN), "verify cost is nan"),
        (lambda: speedup(2.0, 3, 0.1, 1.0, -1.0), "overhead is -1.0"),
        (lambda: speedup(2.0, 0, 0.1, 0.0), "cost of a step is 0.0"),
        (lambda: step_cost(2, None), "cost ratio is None"),
        (lambda: best_gamma(1.5, 0.1), "alpha is 1.5"),
        (lambda: best_gamma(0.5, 0.1, max_gamma=-1), "gamma is -1"),
        (lambda: best_gamma_by_position([0.5, -1.0], 0.1), "acceptance[1] is -1.0"),
        (lambda: one_more_pays(1.5, 2.0, 0.1), "reach probability is 1.5"),
        (lambda: operations_factor(0.5, 2, -1.0), "operations ratio is -1.0"),
        (lambda: can_pay(0.5, -0.1), "cost ratio is -0.1"),
        (lambda: break_even_rate(0, 0.1), "gamma is 0"),
        (lambda: alpha_for_speedup(0.0, 2, 0.1), "wanted speedup is 0.0"),
        (lambda: cost_ratio_for_speedup(1.5, -1.0, 2), "tokens per step is -1.0"),
        (lambda: ridge_tokens(0.0, 1.0, 4), "peak is 0.0"),
        (lambda: ridge_tokens(1.0, -1.0, 4), "bandwidth is -1.0"),
        (lambda: free_batch(4, 0.0), "ridge is 0.0"),
        (lambda: roofline_verify_cost(0, 20.0), "batch is 0"),
        (lambda: batch_break_even(0.5, 0, 0.1, 20.0), "gamma is 0"),
        (lambda: tree_tokens([-1], []), "1 parents, 0 chances"),
        (lambda: tree_tokens([0], [0.5]), "parents[0] is 0"),
        (lambda: tree_tokens([-1], [1.5]), "chance[0] is 1.5"),
        (lambda: chains_tokens(0.5, 2, 0), "number of chains is 0"),
    ],
)
def test_bad_input_is_one_line_with_the_value(call, named):
    with pytest.raises(OptionError) as caught:
        call()
    assert named in str(caught.value)
    assert "\n" not in str(caught.value)
    assert str(caught.value).count(";") >= 2  # value; rule; way out
