"""The rules between figures and words: laws, and wrong rules they reject."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from minispec.lab.ledger.verdicts import (
    Interval,
    above,
    below,
    inside,
    side,
    spell,
    tally,
    within,
)
from minispec.theory.intervals import median

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


@given(answers)
def test_a_tally_does_not_depend_on_the_order(given_answers: list[bool | None]) -> None:
    assert tally(given_answers) == tally(given_answers[::-1])


@given(answers)
def test_one_contrary_answer_makes_it_depend(given_answers: list[bool | None]) -> None:
    assert tally([*given_answers, True, False]) == "depends"


def test_an_unclear_figure_is_not_passed_over() -> None:
    """The wrong rule, all clear answers agree, would say "holds here" and "false"."""
    assert tally([True, None]) == "undecided"
    assert tally([False, None]) == "at best depends"


@given(answers)
def test_one_clear_counterexample_excludes_that_it_holds(given_answers: list[bool | None]) -> None:
    assert tally([*given_answers, False]) in ("depends", "at best depends", "false")


@given(answers)
def test_one_clear_confirmation_excludes_that_it_is_false(given_answers: list[bool | None]) -> None:
    assert tally([*given_answers, True]) in ("depends", "undecided", "holds here")


def test_one_disturbed_round_of_nine_decides_nothing() -> None:
    """The wrong interval, the whole range, would call a clear gain unclear."""
    assert above(median([1.3, 1.2, 1.3, 1.25, 1.3, 1.35, 1.3, 1.28, 0.2]), 1.0) is True


def test_cases_are_spelt_by_their_answers() -> None:
    assert spell({"a": None, "b": True, "c": False}) == "yes: b; no: c; unclear: a"
