"""In a live kernel a slider or a text field shows a picture, and another after a move; so do those of the lessons."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.course.teaching.kernel import assert_moves, live_kernel, surroundings

CELL = """
import numpy as np
from minispec.course.teaching import explore
from minispec.lab.viz.plots.theory import overlap_figure

def drafts(sharpness):
    target = np.array([0.6, 0.3, 0.1])
    return overlap_figure(target, sharpness * target + (1 - sharpness) * target[::-1])

explore(drafts, sharpness=[0.0, 0.5, 1.0])
"""


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_a_slider_shows_a_picture_before_and_after_a_move(tmp_path: Path) -> None:
    pytest.importorskip("ipywidgets")
    with live_kernel(**surroundings(tmp_path)) as kernel:
        assert len(assert_moves(kernel, CELL).sliders) == 1


STEPS = """
import minispec
from minispec.course.teaching import explore, record

target, draft = (minispec.load_model(name, backend="numpy") for name in ("draft-1.6m", "draft-0.6m"))

def run(prompt, gamma):
    return record(prompt, target=target, draft=draft, gamma=gamma, temperature=0.0, max_tokens=4)

explore(run, prompt="Once upon a time", gamma=[1, 2])
"""


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_a_prompt_of_ones_own_runs_the_pair_anew(tmp_path: Path) -> None:
    pytest.importorskip("ipywidgets")
    with live_kernel(**surroundings(tmp_path)) as kernel:
        heard = assert_moves(kernel, STEPS)
        assert len(heard.sliders) == len(heard.fields) == 1
        (comm_id,) = heard.fields
        (page,) = kernel.write(comm_id, "The old mill by the river").pictures
    assert "mill" in page
    assert "upon" not in page
