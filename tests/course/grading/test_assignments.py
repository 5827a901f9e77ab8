"""The course's own assignments: nothing for the starter, everything for right answers, mistakes caught and named.

Slow: each grades hundreds of submissions.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from minispec.course.grading.classroom import Job, grade_all, submissions_in
from minispec.course.grading.grade import DEFAULT_SECRET
from minispec.course.grading.jail import LAYERS
from minispec.course.grading.manifest import assignments_folder, load_assignment
from minispec.course.grading.notebooks import nbgrader_notebook, otter_notebook, split_answers
from minispec.course.grading.verify import check_assignment, summary

from .example import ASSIGNMENTS, SECRET, example, with_accept, write

ROOT = Path(__file__).resolve().parents[3]
NAMES = sorted(path.parent.name for path in assignments_folder(None).glob("*/assignment.toml"))
JOBS = os.cpu_count() or 1
LONG = pytest.mark.exhaustive
"""What is run by hand: minutes each. Their catalogues are graded in one process by ``test_content.py``, in CI too."""
CAUGHT, NAMED = 0.95, 0.60
"""What is asked for of an assignment's held-out wrong submissions; `test_content.py` asks for more of all together."""


def test_there_are_six() -> None:
    assert NAMES == ["a1", "a2", "a3", "a4", "a5", "a6"]


def test_an_installed_package_finds_the_assignments_of_the_clone_it_is_called_in(tmp_path: Path) -> None:
    """The package without its checkout, as ``pip install .`` leaves it."""
    site, clone = tmp_path / "site-packages", tmp_path / "clone"
    shutil.copytree(ROOT / "minispec", site / "minispec", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ASSIGNMENTS, clone / "lessons" / "assignments")

    def call(folder: Path, *arguments: str) -> str:
        environment = {**os.environ, "PYTHONPATH": str(site)}
        command = [sys.executable, "-P", "-m", "minispec", *arguments]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        return done.stdout if done.returncode == 0 else done.stderr

    told = ("grade", str(ASSIGNMENTS / "a0" / "solution.py"), "-a", "a0")
    assert "10 of 10" in call(clone, *told)
    assert "there is no folder lessons/assignments; assignments come" in call(tmp_path, *told)


@pytest.mark.parametrize("name", NAMES)
def test_an_assignment_can_be_read_and_its_starter_holds_no_answer(name: str) -> None:
    assignment = load_assignment(name)
    assert set(assignment.checks) == {info.id for question in assignment.questions for info in question.checks}
    assert "SOLUTION" not in assignment.starter
    compile(assignment.starter, name, "exec")
    for overlay in assignment.overlays("mutants"):
        assert overlay.fails in assignment.checks, overlay.name
        assert overlay.what, overlay.name
    for overlay in assignment.overlays("held_out"):
        assert overlay.mistake is not None, overlay.name


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", NAMES)
def test_an_assignment_keeps_the_rules(name: str) -> None:
    findings = check_assignment(Job(name, None, DEFAULT_SECRET, LAYERS, examples=False), jobs=JOBS, num_secrets=5)
    assert [finding for finding in findings if finding.fault] == []
    count, caught, named = summary(findings).get("held_out", (0, 0, 0))
    assert caught >= CAUGHT * count
    assert named >= NAMED * count


def test_the_rubrics_points_have_a_place_in_the_notebooks() -> None:
    """What a person marks has a cell under nbgrader and otter, with the points of the manifest and the rubric."""
    given = {}
    for name in NAMES:
        assignment = load_assignment(name)
        rubric = (assignment.folder / "RUBRIC.md").read_text(encoding="utf-8")
        told = re.match(r"# .*\((\d+) points, besides", rubric)
        given[name] = assignment.points_by_hand
        assert assignment.points_by_hand == (float(told[1]) if told else 0)
        cells = json.loads(nbgrader_notebook(assignment))["cells"]
        roles = [cell["metadata"]["nbgrader"] for cell in cells if cell["id"] == "by-hand"]
        assert [(one["points"], one["grade"], one["solution"]) for one in roles] == [
            (points, True, True) for points in [assignment.points_by_hand] if points
        ]
        otter = otter_notebook(assignment, "requirements.txt", [], [])
        assert ("manual" in otter) == bool(roles)
    assert given == {"a1": 0, "a2": 0, "a3": 20, "a4": 10, "a5": 30, "a6": 10}


def test_the_sessions_of_a2s_public_tests_refuse_what_the_graders_refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "a2", ModuleType("a2"))
    folder, public = load_assignment("a2").folder, dict[str, Any]()
    exec((folder / "test_a2.py").read_text(encoding="utf-8"), public)
    with pytest.raises(ValueError, match="score needs at least one token"):
        public["Session"](1).score([])
    assert "feed at least one token" in (folder / "HANDOUT.md").read_text(encoding="utf-8")


def test_a_notebook_has_a_cell_for_each_question() -> None:
    """Nothing of the solution is lost or said twice; only A5 asks for a single function."""
    for name in NAMES:
        assignment = load_assignment(name)
        pieces = split_answers(assignment.solution)
        lines = [line for piece in pieces.values() for line in piece.splitlines() if line]
        assert lines == [line for line in assignment.solution.splitlines() if line]
        numbers = [] if name == "a5" else list(range(1, len(assignment.questions) + 1))
        assert list(pieces) == [0, *numbers], name


@pytest.mark.parametrize("size", [pytest.param(60, marks=pytest.mark.slow), pytest.param(300, marks=LONG)])
def test_a_whole_class(size: int, tmp_path: Path) -> None:
    room = tmp_path / "class"
    for i in range(size):
        source = example().solution if i % 3 else with_accept("return True")
        write(room / f"student{i:03}.py", f"{source}\n# {i}\n")
    counts: list[int] = []
    start = time.monotonic()
    job = Job("a0", ASSIGNMENTS, SECRET, LAYERS)
    reports = grade_all(
        job,
        submissions_in(room),
        jobs=JOBS,
        results=tmp_path / "results",
        progress=lambda count, _, __: counts.append(count),
    )
    assert [report.score for report in reports] == [10 if i % 3 else 4 for i in range(size)]
    assert counts == list(range(1, size + 1))
    print(f"{size} submissions in {time.monotonic() - start:.0f} s with {JOBS} processes")
