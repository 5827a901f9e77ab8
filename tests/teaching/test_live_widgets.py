"""In a live kernel a slider shows a picture, and another one after it was moved; so do those of the lessons."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.teaching.kernel import assert_moves, live_kernel, surroundings

CELL = """
import numpy as np
from minispec.teaching import explore
from minispec.viz.plots.laws import overlap_figure

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
