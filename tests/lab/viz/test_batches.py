"""What is drawn of a batch: every row of a forward, every moment of a request, every slot of a page."""

from __future__ import annotations

from itertools import pairwise

import pytest
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex

from minispec import Engine
from minispec.engine.model.toy import TableModel
from minispec.lab.viz.plots import style
from minispec.lab.viz.plots.runs import Bar, gantt_figure, pages_figure, ragged_figure

BLUE, RED, ORANGE = (style.COLOURS[name] for name in ("blue", "red", "orange"))


def bars(axes) -> list[tuple[float, float, float, str]]:
    """Return left, width, top and colour of each bar that has a width."""
    found = []
    for each in axes.collections:
        assert isinstance(each, PolyCollection)
        (left, top), (right, _) = each.get_paths()[0].vertices.min(0), each.get_paths()[0].vertices.max(0)
        face = each.get_facecolor()
        if right > left:
            found.append((float(left), float(right - left), float(top), to_hex(face[0]) if len(face) else "none"))
    return found


def test_every_row_of_every_forward_is_a_cell() -> None:
    engine = Engine(TableModel(4))
    for seed in range(3):
        engine.add([0], draft=TableModel(4, seed=1), gamma=3, max_tokens=13, seed=seed)
    made = engine.run()
    (axes,) = ragged_figure({str(i): text.steps for i, text in enumerate(made)}, 2).axes
    steps = [step for text in made for step in text.steps[1:3]]  # the first token is the prompt's forward's
    colours = [colour for *_, colour in bars(axes)]
    assert len(colours) == sum(len(step.draft_tokens) + 1 for step in steps)
    assert colours.count(BLUE) == sum(step.verdict.num_accepted for step in steps)
    assert colours.count(RED) == len(steps)


def test_bars_lie_where_their_times_are() -> None:
    panel = [Bar("a", 0.0, 0.001, "prompt"), Bar("a", 0.001, 0.004, "decodes"), Bar("b", 0.0, 0.002, "waits")]
    upper, lower = gantt_figure({"one": panel, "other": panel[:2]}).axes
    assert upper.get_xlim() == lower.get_xlim()
    drawn = {colour: (left, width, int(top)) for left, width, top, colour in bars(upper)}
    assert drawn[ORANGE] == pytest.approx((0.0, 1.0, 0))
    assert drawn[BLUE] == pytest.approx((1.0, 3.0, 0))
    assert [int(top) for _, _, top, colour in bars(upper) if colour not in (ORANGE, BLUE)] == [1]


def test_a_page_is_as_full_as_it_is_drawn_and_shared_by_its_holders() -> None:
    figure = pages_figure({"a": ([0, 1], 20), "b": ([0, 2], 32)}, 16)
    found = bars(figure.axes[0])
    filled = {(colour, left): width for left, width, _, colour in found if colour != "none"}
    first, second = style.SERIES[:2]
    assert filled == {(first, 0): 16, (second, 0): 16, (first, 19): 4, (second, 38): 16}
    tops = sorted(top for left, _, top, colour in found if left == 0 and colour != "none")
    assert [b > a for a, b in pairwise(tops)] == [True]  # halves of page 0, one above the other


def test_an_engine_says_who_waits_and_who_has_which_page() -> None:
    """What the lesson draws its pictures from."""
    engine = Engine(TableModel(4), max_running=2, page_size=2)
    for length in (7, 4, 5):
        engine.add([0, 1, 2], draft=None, max_tokens=length)
    assert (engine.running, engine.waiting) == ((), (0, 1, 2))
    engine.step()
    assert (engine.running, engine.waiting) == ((0, 1), (2,))
    assert (len(engine.pages(0)), engine.pages(1)) == (2, ())  # the other waits for the page that both begin with
    engine.step()
    while engine.waiting:
        for number in engine.running:
            made = engine.generation(number)
            slots = made.metrics.num_prompt_tokens + len(made.token_ids) - 1  # the newest token is not fed yet
            assert len(engine.pages(number)) == -(-slots // 2)
        held = [page for number in engine.running for page in engine.pages(number)[1:]]  # all but the first, common one
        assert len(held) == len(set(held))
        engine.step()
    assert engine.running == (0, 2)
    assert engine.pages(2)
    assert len(engine.run()) == 3
