"""A tree is drawn whole: every candidate at its place, children beside one another, the kept path in its colour."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from minispec.viz.plots import style
from minispec.viz.plots.trees import tree_figure

BLUE = style.COLOURS["blue"]
TREES = st.integers(0, 9).flatmap(lambda count: st.tuples(*(st.integers(-1, i - 1) for i in range(count))))


@settings(max_examples=25)
@given(TREES)
def test_every_candidate_stands_at_its_level_and_alone(parents: tuple[int, ...]) -> None:
    (axes,) = tree_figure("root", [f"t{i}" for i in range(len(parents))], parents).axes
    places = {text.get_text(): text.get_position() for text in axes.texts}
    assert list(places) == ["root", *(f"t{i}" for i in range(len(parents)))]
    assert len(set(places.values())) == len(places)
    for i, parent in enumerate(parents):
        above = places["root" if parent < 0 else f"t{parent}"]
        assert places[f"t{i}"][0] == above[0] + 1
    edges = {tuple(map(float, (*line.get_xdata(), *line.get_ydata()))) for line in axes.lines}
    assert edges == {
        (above[0], place[0], above[1], place[1])
        for i, parent in enumerate(parents)
        for above, place in [(places["root" if parent < 0 else f"t{parent}"], places[f"t{i}"])]
    }


@settings(max_examples=25)
@given(TREES)
def test_edges_of_one_level_do_not_cross(parents: tuple[int, ...]) -> None:
    (axes,) = tree_figure("root", ["t"] * len(parents), parents).axes
    for one, other in itertools.combinations(axes.lines, 2):
        (left, right), (start, end) = one.get_xdata(), one.get_ydata()
        (left2, right2), (start2, end2) = other.get_xdata(), other.get_ydata()
        if (left, right) == (left2, right2):
            assert (start - start2) * (end - end2) >= 0


def test_the_path_is_blue_and_nothing_else_is() -> None:
    (axes,) = tree_figure("the", ["cat", "dog", "sat", "$x$", "ran"], [-1, -1, 0, 0, 1], path=[0, 3]).axes
    blue = {text.get_text() for text in axes.texts if text.get_bbox_patch().get_facecolor()[:3] != (1.0, 1.0, 1.0)}
    assert blue == {"the", "cat", "$x$"}
    assert [line.get_color() == BLUE for line in axes.lines] == [True, False, False, True, False]
