"""The course's own assignments: nothing for the starter, everything for right answers, mistakes caught and named.

Slow: each grades hundreds of submissions.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from minispec.grading.classroom import Job, grade_all, submissions_in
from minispec.grading.grade import DEFAULT_SECRET
from minispec.grading.jail import LAYERS
from minispec.grading.manifest import assignments_folder, load_assignment
from minispec.grading.verify import check_assignment, summary

from .example import ASSIGNMENTS, SECRET, example, with_accept, write

NAMES = sorted(path.parent.name for path in assignments_folder(None).glob("*/assignment.toml"))
JOBS = os.cpu_count() or 1
LONGEST, LONG = ("a1", "a2", "a3", "a4", "a5"), pytest.mark.exhaustive
"""What is run by hand: minutes each. Their catalogues are graded in one process by ``test_content.py``, in CI too."""
CAUGHT, NAMED = 0.95, 0.60
"""What is asked for of an assignment's held-out wrong submissions; `test_content.py` asks for more of all together."""


def test_there_are_six() -> None:
    assert NAMES == ["a1", "a2", "a3", "a4", "a5", "a6"]


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


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=LONG if name in LONGEST else pytest.mark.slow) for name in NAMES]
)
def test_an_assignment_keeps_the_rules(name: str) -> None:
    findings = check_assignment(Job(name, None, DEFAULT_SECRET, LAYERS, examples=False), jobs=JOBS, num_secrets=5)
    assert [finding for finding in findings if finding.fault] == []
    count, caught, named = summary(findings).get("held_out", (0, 0, 0))
    assert caught >= CAUGHT * count
    assert named >= NAMED * count


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
