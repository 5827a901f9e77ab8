"""Catalogues: what is read is what is written; what is no cell is refused in one line; nothing in them is run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from minispec.course.grading.catalogue import read_catalogue, write_catalogue
from minispec.course.grading.manifest import CATALOGUES, load_assignment
from minispec.errors import InputError

from .example import ASSIGNMENTS

SOLUTION = load_assignment("v0", ASSIGNMENTS).solution


@pytest.mark.parametrize("name", ["a1", "a2", "a3", "a4", "a5", "a6"])
def test_what_is_written_is_read_again(name: str) -> None:
    assignment = load_assignment(name)
    for kind in CATALOGUES:
        overlays = assignment.overlays(kind)
        assert read_catalogue(write_catalogue(overlays), assignment.solution) == overlays


def test_a_cell_is_its_name_its_check_its_sentence_and_what_differs() -> None:
    exit_, wrong = read_catalogue(
        "import sys\n# %% wrong fails v0.q1.share is b also c also d in share\n# Two\n# lines.\n"
        "# - return counts[i] / sum(counts)\n# + return counts[i]\n# %% exit is nothing\nraise SystemExit\n",
        SOLUTION,
    )
    assert (wrong.what, wrong.fails, wrong.mistake, wrong.also) == ("Two lines.", "v0.q1.share", "b", ("c", "d"))
    assert wrong.code == "def share(counts, i):\n    return counts[i]"
    about = '"""Two\nlines.\n"""\n\nFAILS = "v0.q1.share"\nMISTAKE = "b"\nALSO = ("c", "d")'
    assert wrong.source == f"{SOLUTION}\n\n{about}\n\n\n{wrong.code}\n"
    assert (exit_.what, exit_.fails, exit_.mistake, exit_.code) == ("", "", "", "raise SystemExit")


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        ("a-b", "'a-b' is no cell: a name, then pairs of fails, is, also, in"),
        ("", "'' is no cell"),
        ("one fails", "'one' is no cell"),
        ("one breaks v0.q1.share", "'one' is no cell"),
        ("share_of_the_rest fails v0.q1.share", "'share_of_the_rest' is there twice"),
        ("one in nowhere\n# - a\n# + b", "'one' is in nowhere, which is no function of the solution"),
        ("one in share\n# - return 1\n# + return 2", "'one' replaces 'return 1', which share of the solution does not"),
        ("one in share\n# + return 2", "'one' replaces '', which share of the solution does not have once"),
        ("one in share\n# - return counts[i] / sum(counts)\n# + (", "'one' is no Python"),
        ("one in share\nx = 1", "'one' has code, and says in what function to replace lines"),
    ],
)
def test_what_is_no_cell_is_refused(cell: str, says: str, tmp_path: Path) -> None:
    shutil.copytree(ASSIGNMENTS / "v0", tmp_path / "v0")
    with open(tmp_path / "v0" / "mistakes.py", "a", encoding="utf-8") as file:
        file.write(f"\n# %% {cell}\n")
    with pytest.raises(InputError) as refused:
        load_assignment("v0", tmp_path).overlays("mutants")
    assert f"mistakes.py: {says}" in str(refused.value)
    assert "\n" not in str(refused.value)
