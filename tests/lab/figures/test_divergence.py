"""Two runs are held against each other: where they part, and why."""

from __future__ import annotations

import numpy as np
import pytest

from minispec.engine.model.toy import TableModel
from minispec.lab.explain.divergence import diverge, first_difference


@pytest.mark.parametrize(
    ("a", "b", "where"),
    [([1, 2], [1, 2], None), ([1, 2], [1, 3], 1), ([1], [1, 2], 1), ([], [], None), ([], [0], 0), ([5, 1], [4, 1], 0)],
)
def test_the_first_difference(a: list[int], b: list[int], where: int | None) -> None:
    assert first_difference(a, b) == where


def model_with(*probs: float) -> TableModel:
    return TableModel(len(probs), table={(0, 1): probs, (0,): probs})


def cause(
    model: TableModel,
    a: list[int],
    b: list[int],
    *,
    expected_equal: bool = True,
    same_end: bool = True,
    drawn: bool = True,
) -> str:
    found = diverge(model, [0], a, b, expected_equal=expected_equal, same_end=same_end, drawn=drawn)
    assert found is not None
    return found.cause


def test_a_tie_a_rounding_and_a_bug_are_told_apart() -> None:
    assert cause(model_with(0.4, 0.4, 0.2), [1, 0], [1, 1]) == "tie"
    assert cause(model_with(0.40001, 0.4, 0.19999), [1, 0], [1, 1]) == "rounding"
    assert cause(model_with(0.5, 0.3, 0.2), [1, 0], [1, 1]) == "bug"  # the margin is far too wide
    assert cause(model_with(0.4, 0.4, 0.2), [1, 0], [1, 2]) == "bug"  # the third token was no candidate
    assert cause(model_with(0.4, 0.4, 0.2), [1], [1, 2]) == "bug"  # one of them ended
    assert cause(model_with(0.5, 0.3, 0.2), [1, 0], [1, 1], expected_equal=False) == "another draw"


def test_where_nothing_is_drawn_no_draw_is_blamed() -> None:
    model = model_with(0.5, 0.3, 0.2)
    for expected in (True, False):
        for drawn in (True, False):
            assert cause(model, [1], [1, 0], expected_equal=expected, same_end=False, drawn=drawn) == "cut short"
    assert cause(model, [1, 0], [1, 2], same_end=False) == "bug"  # the end of neither
    assert cause(model, [1, 0], [1, 2], expected_equal=False, drawn=False) == "other options"
    near = model_with(0.40001, 0.4, 0.19999)
    assert cause(near, [1, 0], [1, 1], expected_equal=False, drawn=False) == "rounding"


def test_the_report_names_position_tokens_candidates_and_margin() -> None:
    found = diverge(model_with(0.2, 0.5, 0.3), [0], [1, 1], [1, 2], expected_equal=True, same_end=True, drawn=False)
    assert found is not None
    assert (found.position, found.tokens) == (1, (1, 2))
    assert [token for token, _ in found.top2] == [1, 2]
    assert found.margin == pytest.approx(np.log(0.5 / 0.3), abs=1e-6)  # float32 logits
    assert diverge(model_with(1.0), [0], [0, 0], [0, 0], expected_equal=True, same_end=True, drawn=False) is None
