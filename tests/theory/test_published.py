"""The formulas against the literature's printed tables, and against our own reference tables.

Tolerances are half a unit of the last digit printed, unless said otherwise.
"""

from __future__ import annotations

import pytest

from minispec.engine.drafters.trees.shapes import fixed_tree, sequoia_tree
from minispec.theory import (
    alpha_for_speedup,
    alpha_from_rate,
    batch_break_even,
    best_gamma,
    chains_tokens,
    cost_ratio_for_speedup,
    draft_acceptance_rate,
    expected_steps,
    free_batch,
    operations_factor,
    pooled_tau,
    response_speedup,
    ridge_tokens,
    roofline_verify_cost,
    speedup,
    steps_law,
    survivals,
    tau,
    tau_by_position,
    tokens_law,
)


@pytest.mark.parametrize(
    ("alpha", "gamma", "operations", "speed"),
    [
        (0.6, 2, 1.53, 1.96),
        (0.7, 3, 1.58, 2.53),
        (0.8, 2, 1.23, 2.44),
        (0.8, 5, 1.63, 3.69),
        (0.9, 2, 1.11, 2.71),
        (0.9, 10, 1.60, 6.86),
    ],
)
def test_table_1_of_leviathan_et_al(alpha, gamma, operations, speed):
    """Operations and speed at c = c^ = 0."""
    assert round(speedup(tau(alpha, gamma), gamma, cost_ratio=0.0), 2) == speed
    assert round(operations_factor(alpha, gamma, 0.0), 2) == operations


def test_tau_to_five_digits():
    assert tau(0.8, 5) == pytest.approx(3.68928, abs=1e-12)  # a sum of six exact decimals; "roughly 4.5" it is not


TABLE_4 = [  # gamma, alpha, c, "Exp" as it is printed, the formula with the printed alpha and c: T5-XXL
    (7, 0.75, 0.02, 3.2, 3.16),
    (7, 0.80, 0.04, 3.3, 3.25),
    (7, 0.82, 0.11, 2.5, 2.50),
    (7, 0.62, 0.02, 2.3, 2.26),
    (5, 0.68, 0.04, 2.4, 2.35),
    (3, 0.71, 0.11, 2.0, 1.93),
    (5, 0.65, 0.02, 2.4, 2.40),
    (5, 0.73, 0.04, 2.6, 2.62),
    (3, 0.74, 0.11, 2.0, 2.02),
    (5, 0.53, 0.02, 1.9, 1.89),
    (3, 0.55, 0.04, 1.8, 1.80),
    (3, 0.56, 0.11, 1.6, 1.54),
]


@pytest.mark.parametrize(("gamma", "alpha", "c", "printed", "ours"), TABLE_4)
def test_table_4_of_leviathan_et_al(gamma, alpha, c, printed, ours):
    """Alpha and c are printed rounded, so two of the twelve differ by more than half a unit of the last digit."""
    assert speedup(tau(alpha, gamma), gamma, c) == pytest.approx(ours, abs=0.00501)
    assert speedup(tau(alpha, gamma), gamma, c) == pytest.approx(printed, abs=0.075)


@pytest.mark.parametrize(("alpha", "printed"), [(0.75, 3.3), (0.80, 3.9), (0.87, 4.9)])
def test_the_lenience_row_at_temperature_0(alpha, printed):
    """Appendix A.5: gamma 8, c .015; the lenience (1 and .5, .3, .1) enters through alpha alone."""
    assert round(speedup(tau(alpha, 8), 8, 0.015), 1) == printed


def test_bigram_drafts_for_nothing():
    assert round(speedup(tau(0.2, 3), 3, 0.0), 2) == 1.25


COSTS = (0.01, 0.02, 0.05, 0.10, 0.20, 0.30, 0.50)
GRID = {  # gamma*:eta*; "0:1" where nothing pays
    0.3: "3:1.376 3:1.337 2:1.264 1:1.182 1:1.083 0:1 0:1",
    0.4: "4:1.586 3:1.532 2:1.418 2:1.300 1:1.167 1:1.077 0:1",
    0.5: "5:1.875 4:1.794 3:1.630 2:1.458 1:1.250 1:1.154 0:1",
    0.55: "6:2.065 5:1.964 4:1.759 3:1.553 2:1.323 1:1.192 1:1.033",
    0.6: "7:2.297 6:2.170 4:1.921 3:1.674 2:1.400 1:1.231 1:1.067",
    0.65: "8:2.591 7:2.426 5:2.113 3:1.805 2:1.480 2:1.295 1:1.100",
    0.7: "9:2.972 8:2.758 6:2.353 4:1.981 3:1.583 2:1.369 1:1.133",
    0.75: "11:3.489 9:3.199 7:2.666 5:2.192 3:1.709 2:1.445 1:1.167",
    0.8: "14:4.232 11:3.817 8:3.092 6:2.470 4:1.868 3:1.554 2:1.220",
    0.85: "17:5.392 14:4.753 10:3.701 7:2.853 5:2.076 4:1.686 2:1.286",
    0.9: "24:7.486 19:6.365 13:4.674 10:3.431 7:2.373 5:1.874 3:1.376",
    0.95: "40:12.54 31:9.954 21:6.600 15:4.479 10:2.875 8:2.175 5:1.514",
}


@pytest.mark.parametrize("alpha", GRID)
def test_the_grid_of_best_gammas(alpha):
    for c, cell in zip(COSTS, GRID[alpha].split(), strict=True):
        gamma, _, eta = cell.partition(":")
        best = best_gamma(alpha, c)
        assert best.gamma == int(gamma), (alpha, c)
        digits = len(eta.partition(".")[2])
        assert best.speedup == pytest.approx(float(eta), abs=0.501 * 10**-digits), (alpha, c)
    assert best_gamma(alpha, 0.0, max_gamma=2000).speedup == pytest.approx(1.0 / (1.0 - alpha), rel=1e-9)


def test_acceptance_rates_and_their_alphas():
    assert draft_acceptance_rate(0.8, 5) == pytest.approx(0.538, abs=5e-4)
    table = {0.3: 0.624, 0.4: 0.709, 0.5: 0.777, 0.6: 0.834, 0.7: 0.883, 0.8: 0.927}
    for rate, alpha in table.items():
        assert alpha_from_rate(rate, 5) == pytest.approx(alpha, abs=5.01e-4)


@pytest.mark.parametrize(("gamma", "formula", "by_steps"), [(5, 2.941, 3.551), (8, 3.199, 4.606)])
def test_two_kinds_of_steps(gamma, formula, by_steps):
    assert tau(0.7, gamma) == pytest.approx(formula, abs=5e-4)
    taus = [tau(0.45, gamma), tau(0.95, gamma)]
    assert pooled_tau(taus, [1, 1], weights_are="steps") == pytest.approx(by_steps, abs=5e-4)
    if gamma == 5:
        assert pooled_tau(taus, [1, 1], weights_are="tokens") == pytest.approx(2.691, abs=5e-4)


def test_decaying_acceptance():
    """Every single alpha misses the truth, the pooled one by the least."""
    acceptances = [0.8 * 0.9**i for i in range(5)]
    kept = survivals(acceptances)
    pooled = sum(kept) / sum([1.0, *kept[:-1]])
    assert tau_by_position(acceptances) == pytest.approx(3.081, abs=5e-4)
    assert pooled == pytest.approx(0.7015, abs=5e-5)
    assert [tau(a, 5) for a in (0.8, sum(acceptances) / 5, pooled)] == pytest.approx([3.689, 2.671, 2.951], abs=5e-4)


@pytest.mark.parametrize(
    ("alpha", "gamma", "mean", "variance"),
    [(0.5, 4, 1.9375, 1.4336), (0.7, 4, 2.7731, 2.4218), (0.8, 5, 3.6893, 3.8641), (0.9, 8, 6.1258, 9.1291)],
)
def test_mean_and_variance(alpha, gamma, mean, variance):
    law = tokens_law(alpha, gamma)
    assert (law.mean, law.variance) == pytest.approx((mean, variance), abs=5e-5)


def test_steps_of_responses():
    law = tokens_law(0.7, 4)
    table = {1: 1.0, 5: 2.2, 10: 4.07, 20: 7.689, 50: 18.508, 200: 72.599}
    for n, steps in table.items():
        assert expected_steps(n, law) == pytest.approx(steps, abs=5e-4)


@pytest.mark.parametrize(
    ("alpha", "num_tokens", "quantiles"),
    [(0.7, 20, [5, 8, 10, 12]), (0.7, 200, [65, 72, 81, 84]), (0.5, 20, [8, 11, 14, 15])],
)
def test_quantiles_of_responses(alpha, num_tokens, quantiles):
    law = steps_law(num_tokens, tokens_law(alpha, 4))
    assert [law.quantile(level) for level in (0.05, 0.5, 0.95, 0.99)] == quantiles


LENGTHS = (1, 2, 5, 10, 20, 50, 100)


@pytest.mark.parametrize(
    ("alpha", "gamma", "c", "asymptote", "row"),
    [
        (0.5, 4, 0.05, 1.615, "0.833 1.111 1.389 1.490 1.550 1.588 1.601"),
        (0.7, 4, 0.05, 2.311, "0.833 1.282 1.894 2.048 2.168 2.251 2.281"),
        (0.8, 5, 0.05, 2.951, "0.800 1.333 2.222 2.485 2.698 2.845 2.897"),
        (0.6, 4, 0.2, 1.281, "0.556 0.794 1.068 1.157 1.215 1.254 1.267"),
    ],
)
def test_speedup_of_short_responses(alpha, gamma, c, asymptote, row):
    assert speedup(tau(alpha, gamma), gamma, c) == pytest.approx(asymptote, abs=5.01e-4)
    for n, cell in zip(LENGTHS, row.split(), strict=True):
        value = response_speedup(n, [alpha] * gamma, c, cut_drafts=False)
        assert value == pytest.approx(float(cell), abs=5.01e-4), n


def test_speedup_of_short_responses_with_cut_drafts_and_with_prefill():
    cut = [response_speedup(n, [0.7] * 4, 0.05) for n in (1, 2, 5, 20)]
    assert cut == pytest.approx([1.0, 1.48, 2.008, 2.211], abs=2e-3)
    # here the prefill, 4 steps long, yields the first token: n - 1 are left for the steps
    setup = {"plain_setup": 4.0, "cut_drafts": False}
    table = {(0.7, 0.05): {2: 0.78, 5: 1.07, 10: 1.35, 20: 1.64, 50: 1.96, 400: 2.26}}
    table |= {(0.5, 0.05): {5: 0.98, 10: 1.15, 20: 1.32}, (0.6, 0.2): {10: 0.95, 20: 1.07}}
    for (alpha, c), row in table.items():
        for n, wanted in row.items():
            value = response_speedup(n - 1, [alpha] * 4, c, speculative_setup=4.0 + 1.0 + 4.0 * c, **setup)
            assert value == pytest.approx(wanted, abs=5.01e-3), (alpha, c, n)


def test_break_even_alphas():
    table = {4: {0.05: 0.167, 0.1: 0.287, 0.2: 0.455, 0.3: 0.574}, 5: {0.05: 0.2, 0.1: 0.334, 0.2: 0.509, 0.3: 0.624}}
    for gamma, row in table.items():
        for c, alpha in row.items():
            assert alpha_for_speedup(1.0, gamma, c) == pytest.approx(alpha, abs=5.01e-4)
    assert [alpha_for_speedup(1.5, g, 0.1) for g in (4, 5)] == pytest.approx([0.547, 0.571], abs=5e-4)


def test_draft_costs_that_give_1_8_at_one_half():
    per_token = {3: 0.0139, 4: 0.0191, 5: 0.0187, 6: 0.0171, 8: 0.0136}
    for gamma, c in per_token.items():
        assert cost_ratio_for_speedup(1.8, tau(0.5, gamma), gamma) == pytest.approx(c, abs=5.01e-5)
    assert cost_ratio_for_speedup(1.8, tau(0.5, 2), 2) is None
    per_draft = {3: 0.130, 4: 0.167, 5: 0.189}
    for gamma, c in per_draft.items():
        assert cost_ratio_for_speedup(1.8, 1 + gamma / 2, gamma) == pytest.approx(c, abs=5.01e-4)


H100, A100, CPU = ridge_tokens(989e12, 3.35e12, 2), ridge_tokens(312e12, 2.039e12, 2), ridge_tokens(400e9, 40e9, 4)


def test_ridges_and_batch_break_even():
    assert [round(ridge) for ridge in (H100, A100, CPU)] == [295, 153, 20]
    assert round(ridge_tokens(989e12, 4.8e12, 2)) == 206  # H200
    assert [round(batch_break_even(0.7, 4, 0.05, ridge)) for ridge in (H100, A100, CPU)] == [152, 79, 10]
    shares = [batch_break_even(alpha, gamma, 0.05, 1.0) for alpha, gamma in ((0.7, 4), (0.6, 4), (0.8, 4), (0.7, 1))]
    assert shares == pytest.approx([0.515, 0.421, 0.632, 0.825], abs=5.01e-4)
    assert [int(free_batch(4, ridge)) for ridge in (H100, A100, CPU)] == [59, 30, 4]


def test_best_gamma_by_batch():
    table = {1: (6, 2.35), 32: (6, 2.35), 64: (3, 2.20), 96: (2, 1.99), 128: (1, 1.62), 192: (1, 1.26)}
    for batch, (gamma, eta) in table.items():
        best = best_gamma(0.7, 0.05, roofline_verify_cost(batch, H100))
        assert best.gamma == gamma
        assert best.speedup == pytest.approx(eta, abs=5.01e-3)
    assert best_gamma(0.7, 0.05, roofline_verify_cost(256, H100)).gamma == 0
    assert speedup(tau(0.7, 1), 1, 0.05, roofline_verify_cost(256, H100)) == pytest.approx(0.95, abs=5e-3)
    cpu = {(4, 1): 2.1, (4, 4): 2.1, (4, 8): 1.2, (4, 16): 0.64, (8, 4): 1.31}
    for (gamma, batch), eta in cpu.items():
        value = speedup(tau(0.7, gamma), gamma, 124.4 / 1557.6, roofline_verify_cost(batch, CPU))
        assert value == pytest.approx(eta, abs=5.01e-3 if eta in (0.64, 1.31) else 0.0501)


def test_a_compute_bound_batch_never_gains():
    table = {(0.8, 1): 0.878, (0.8, 2): 0.787, (0.8, 4): 0.646, (0.8, 8): 0.461, (0.6, 4): 0.443}
    for (alpha, gamma), eta in table.items():
        value = speedup(tau(alpha, gamma), gamma, 0.05, roofline_verify_cost(1000, H100))
        assert value == pytest.approx(eta, abs=5.01e-4)
        assert value == pytest.approx(1.0 / operations_factor(alpha, gamma, 0.05), rel=1e-12)


def test_a_measured_verify_curve():
    """Per-token costs published for one CPU; v(m) = m times them, and the best draft is much shorter."""
    per_token = [1, 0.605, 0.473, 0.408, 0.374, 0.351, 0.334, 0.32, 0.313, 0.30]
    for alpha, (gamma, eta) in {0.7: (2, 1.44), 0.8: (3, 1.66), 0.9: (5, 1.99)}.items():
        best = best_gamma(alpha, 0.05, lambda rows: rows * per_token[int(rows) - 1], max_gamma=9)
        assert best.gamma == gamma
        assert best.speedup == pytest.approx(eta, abs=5.01e-3)


def test_a_batch_that_stops_together_accepts_like_alpha_to_the_batch():
    taus = [tau(0.8**batch, 5) for batch in (1, 2, 4, 8, 16)]
    assert taus == pytest.approx([3.69, 2.59, 1.69, 1.20, 1.03], abs=5.01e-3)


def test_sequoia_trees_and_chains():
    vector = (0.6, 0.15, 0.08, 0.04)
    table = {1: 1.0, 2: 1.6, 3: 1.96, 4: 2.176, 5: 2.326, 8: 2.6356, 16: 3.098, 32: 3.5303, 64: 3.926}
    for nodes, tokens in table.items():
        assert sequoia_tree(vector, nodes).expected_tokens(vector) == pytest.approx(tokens, abs=5.01e-5)
    for nodes, tokens in {5: 2.3056, 8: 2.458}.items():
        assert fixed_tree((1,) * (nodes - 1)).expected_tokens(vector) == pytest.approx(tokens, abs=5.01e-5)
        assert tau(0.6, nodes - 1) == pytest.approx(tokens, abs=5.01e-5)
    chains = [chains_tokens(0.7, 5, b) for b in (1, 2, 4, 8)]
    assert chains == pytest.approx([2.941, 3.949, 4.925, 5.620], abs=5.01e-4)
