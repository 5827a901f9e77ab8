"""Intervals over texts: what they must keep, and how often they cover the truth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispec.analysis import intervals
from minispec.analysis.intervals import Figure, percentiles, ratio, share

PAIRS = st.lists(st.tuples(st.floats(0, 100), st.floats(0.1, 100)), min_size=2, max_size=12)


@given(PAIRS)
def test_a_ratio_is_that_of_the_sums_and_its_interval_has_it_and_stays_within_the_texts(
    pairs: list[tuple[float, float]],
) -> None:
    above, below = (np.array(column) for column in zip(*pairs, strict=True))
    found = ratio(above, below)
    assert found.value == pytest.approx(above.sum() / below.sum())
    assert found.low is not None
    assert found.high is not None
    each = above / below
    assert min(each) - 1e-9 <= found.low <= found.high <= max(each) + 1e-9


@given(PAIRS, st.floats(0.1, 10))
def test_a_ratio_scales(pairs: list[tuple[float, float]], factor: float) -> None:
    above, below = (np.array(column) for column in zip(*pairs, strict=True))
    assert ratio(factor * above, below) == pytest.approx(tuple(factor * x for x in ratio(above, below)))


def test_what_has_no_figure_and_what_has_no_interval() -> None:
    assert ratio([0.0, 0.0], [0.0, 0.0]) == Figure(None)
    assert ratio([3.0], [2.0]) == Figure(1.5)
    assert share(0, 0) == Figure(None)
    assert percentiles([]) is None


@pytest.mark.parametrize(("texts", "low", "high"), [(8, 0.86, 0.92), (24, 0.91, 0.95)])
def test_the_interval_covers_as_often_as_its_docstring_says(
    texts: int, low: float, high: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ratios of correlated normal sums around 2; the seed of the resampling is the function's own."""
    monkeypatch.setattr(intervals, "RESAMPLES", 500)
    generator = np.random.default_rng(1)
    covered, too_narrow, runs = 0, 0, 2000
    for _ in range(runs):
        below = generator.normal(10.0, 1.0, texts)
        above = 2.0 * below + generator.normal(0.0, 4.0, texts)
        found = ratio(above, below)
        assert found.value is not None
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 2.0 <= found.high
        # Negative control: steps taken for independent texts, as if each text were four of them.
        middle, narrow = found.value, 0.5
        too_narrow += middle - narrow * (middle - found.low) <= 2.0 <= middle + narrow * (found.high - middle)
    assert low <= covered / runs <= high
    assert too_narrow / runs < low
