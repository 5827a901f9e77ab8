"""The rules between figures and words: laws, and wrong rules they reject."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from minispec.experiments.verdicts import (
    Interval,
    above,
    below,
    difference,
    inside,
    median_of,
    side,
    spell,
    tally,
    within,
)

numbers = st.floats(-100, 100)


@st.composite
def intervals(draw: st.DrawFn) -> Interval:
    low, value, high = sorted(draw(st.tuples(numbers, numbers, numbers)))
    return Interval(value, low, high)


answers = st.lists(st.sampled_from([True, False, None]), min_size=1, max_size=6)


@given(intervals(), numbers)
def test_a_side_is_that_of_every_point_of_the_interval(figure: Interval, bound: float) -> None:
    sides = {"above" if point > bound else "below" if point < bound else "unclear" for point in figure}
    assert side(figure, bound) == (sides.pop() if len(sides) == 1 else "unclear")
    if above(figure, bound) is not None:
        assert above(figure, bound) is not below(figure, bound)


def test_a_value_alone_does_not_decide() -> None:
    """The wrong rule, value > bound, would call both clear."""
    assert above(Interval(1.3, 0.9, 1.7), 1.0) is None
    assert above(Interval(1.3, 1.2, 1.7), 1.0) is True


@given(intervals(), numbers, numbers)
def test_inside_means_all_of_it(figure: Interval, a: float, b: float) -> None:
    low, high = min(a, b), max(a, b)
    everything = all(low <= point <= high for point in figure)
    assert (within(figure, low, high) == "inside") == everything
    assert (inside(figure, low, high) is True) == everything


@given(intervals(), intervals())
def test_a_difference_turns_round(a: Interval, b: Interval) -> None:
    one, other = difference(a, b), difference(b, a)
    assert one.value == -other.value
    assert abs(one.low + other.high) < 1e-9
    assert one.low <= one.value <= one.high


@given(intervals(), intervals())
def test_a_difference_is_wider_than_either(a: Interval, b: Interval) -> None:
    made = difference(a, b)
    assert made.high - made.value >= max(a.high - a.value, b.value - b.low) - 1e-9


@given(st.lists(numbers, min_size=1))
def test_the_interval_of_repetitions_holds_their_median(values: list[float]) -> None:
    made = median_of(values)
    assert min(values) <= made.low
    assert made.high <= max(values)
    assert made.low <= made.value <= made.high


@given(answers)
def test_a_tally_does_not_depend_on_the_order(given_answers: list[bool | None]) -> None:
    assert tally(given_answers) == tally(given_answers[::-1])


@given(answers)
def test_one_contrary_answer_makes_it_depend(given_answers: list[bool | None]) -> None:
    assert tally([*given_answers, True, False]) == "depends"


def test_an_unclear_figure_is_not_passed_over() -> None:
    """The wrong rule, all clear answers agree, would say "holds here"."""
    assert tally([True, None]) == "undecided"
    assert tally([False, None]) == "undecided"


@given(st.integers(1, 40))
def test_the_interval_of_repetitions_covers_as_often_as_it_says(n: int) -> None:
    """The median lies between the k-th smallest and the k-th largest unless fewer than k fall on one side."""
    made = median_of(list(range(n)))
    k = int(made.low) + 1
    coverage = 1 - 2 * sum(math.comb(n, i) for i in range(k)) / 2**n
    narrower = 1 - 2 * sum(math.comb(n, i) for i in range(k + 1)) / 2**n
    assert coverage >= 0.95 or k == 1
    assert narrower < 0.95, "the narrowest"
    assert made.high == n - k


def test_one_disturbed_round_of_nine_decides_nothing() -> None:
    """The wrong interval, the whole range, would call a clear gain unclear."""
    assert above(median_of([1.3, 1.2, 1.3, 1.25, 1.3, 1.35, 1.3, 1.28, 0.2]), 1.0) is True


def test_cases_are_spelt_by_their_answers() -> None:
    assert spell({"a": None, "b": True, "c": False}) == "yes: b; no: c; unclear: a"
