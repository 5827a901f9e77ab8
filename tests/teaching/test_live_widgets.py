"""In a live kernel every slider shows a picture, and another one after it was moved."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import nbformat
import pytest

from minispec.teaching import notebooks as books
from minispec.teaching.explore import STATIC
from minispec.teaching.find import ROOTS, lessons
from tests.teaching.kernel import Kernel, live_kernel

pytest.importorskip("ipywidgets")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")

CELL = """
import numpy as np
from minispec.teaching import explore
from minispec.viz.plots.laws import overlap_figure

def drafts(sharpness):
    target = np.array([0.6, 0.3, 0.1])
    return overlap_figure(target, sharpness * target + (1 - sharpness) * target[::-1])

explore(drafts, sharpness=[0.0, 0.5, 1.0])
"""


def surroundings(folder: Path) -> dict[str, Any]:
    """Return what a kernel is started with: a learner's folder, this checkout's package, a live frontend."""
    environment = {name: value for name, value in os.environ.items() if name != STATIC}
    environment["PYTHONPATH"] = str(ROOTS[0].parent) + os.pathsep + os.environ.get("PYTHONPATH", "")
    return {"cwd": str(folder), "env": environment}


def assert_moves(kernel: Kernel, cell: str) -> int:
    """Run a cell; each slider in it must show a picture before and another after a move. Return their number."""
    heard = kernel.run(cell)
    assert not heard.errors, heard.errors
    assert len(heard.pictures) >= len(heard.sliders), "a slider without a picture"
    for comm_id, state in heard.sliders.items():
        first, last = (kernel.move(comm_id, index) for index in (0, len(state["_options_labels"]) - 1))
        assert not first.errors + last.errors
        assert len(first.pictures) == len(last.pictures) == 1, "no picture after a move"
        assert first.pictures != last.pictures, "the picture did not change"
    return len(heard.sliders)


def test_a_slider_shows_a_picture_before_and_after_a_move(tmp_path: Path) -> None:
    with live_kernel(**surroundings(tmp_path)) as kernel:
        assert assert_moves(kernel, CELL) == 1


WITH_SLIDERS = [files for files in lessons() if "explore(" in files.source.read_text(encoding="utf-8")]


@pytest.mark.slow
@pytest.mark.parametrize("files", WITH_SLIDERS, ids=lambda files: files.number)
def test_every_slider_of_the_lessons_moves(files: Any, tmp_path: Path) -> None:
    source = files.source.read_text(encoding="utf-8")
    book = nbformat.reads(books.notebook(source, files.number, solved=True), as_version=4)
    cells = [cell.source for cell in book.cells if cell.cell_type == "code"]
    with live_kernel(**surroundings(tmp_path)) as kernel:
        found = sum(assert_moves(kernel, cell) for cell in cells)
    assert found == sum(cell.count("\nexplore(") for cell in cells)
