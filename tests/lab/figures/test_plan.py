"""A plan agrees with the theory it is made of, and refuses what cannot be planned."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispec.errors import OptionError
from minispec.lab.explain.plan import make_plan
from minispec.theory import speedup, tau
from minispec.theory.intervals import Figure

ALPHAS, COSTS = st.floats(0, 1), st.floats(0.01, 1)
VERIFY, OVERHEAD = st.floats(1, 3), st.floats(0, 1)


@given(ALPHAS, COSTS, VERIFY, OVERHEAD)
def test_lengths_are_the_formula_and_the_best_is_the_largest(
    alpha: float, cost: float, verify: float, overhead: float
) -> None:
    plan = make_plan(Figure(alpha), cost, verify, overhead, max_gamma=8)
    for length in plan.lengths[1:]:
        gain = speedup(tau(alpha, length.gamma), length.gamma, cost, verify, overhead)
        assert length.speedup == Figure(gain)
        if abs(gain - 1) > 1e-9:
            assert (gain > 1) == (length.break_even_alpha is not None and alpha > length.break_even_alpha)
            assert (gain > 1) == (length.break_even_cost is not None and cost < length.break_even_cost)
    assert plan.best.speedup == pytest.approx(max(length.speedup.value or 0 for length in plan.lengths))
    assert (
        plan.sensitivity[round(alpha, 12)][cost]
        == make_plan(Figure(round(alpha, 12)), cost, verify, overhead, max_gamma=8).best
    )


@given(st.tuples(ALPHAS, ALPHAS, ALPHAS).map(sorted), COSTS, VERIFY)
def test_alphas_interval_brackets_the_speedup(alphas: list[float], cost: float, verify: float) -> None:
    low, alpha, high = alphas
    for length in make_plan(Figure(alpha, low, high), cost, verify, max_gamma=4).lengths[1:]:
        assert length.speedup.low is not None
        assert length.speedup.value is not None
        assert length.speedup.high is not None
        assert length.speedup.low <= length.speedup.value <= length.speedup.high


@given(ALPHAS, COSTS, VERIFY)
def test_sensitivity_rises_with_alpha_and_falls_with_cost(alpha: float, cost: float, verify: float) -> None:
    rows = [list(row.values()) for row in make_plan(Figure(alpha), cost, verify, max_gamma=6).sensitivity.values()]
    for row in rows:
        assert [best.speedup for best in row] == sorted((best.speedup for best in row), reverse=True)
    for column in zip(*rows, strict=True):
        assert [best.speedup for best in column] == sorted(best.speedup for best in column)


@pytest.mark.parametrize(
    ("alpha", "cost", "verify", "overhead", "max_gamma"),
    [
        (1.1, 0.1, 1.0, 0.0, 8),
        (-0.1, 0.1, 1.0, 0.0, 8),
        (None, 0.1, 1.0, 0.0, 8),
        (float("nan"), 0.1, 1.0, 0.0, 8),
        (0.5, 0.0, 1.0, 0.0, 8),
        (0.5, -0.1, 1.0, 0.0, 8),
        (0.5, float("nan"), 1.0, 0.0, 8),
        (0.5, 0.1, -1.0, 0.0, 8),
        (0.5, 0.1, 1.0, -0.1, 8),
        (0.5, 0.1, 1.0, 0.0, 0),
    ],
)
def test_nonsense_is_refused_in_one_line(
    alpha: float | None, cost: float, verify: float, overhead: float, max_gamma: int
) -> None:
    with pytest.raises(OptionError) as caught:
        make_plan(Figure(alpha), cost, verify, overhead, max_gamma)
    assert "\n" not in str(caught.value)
