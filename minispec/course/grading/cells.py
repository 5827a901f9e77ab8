"""What the test cells of exported notebooks call.

A student's copy runs the public checks on the saved file: those in the folder ``checks`` beside the notebook, or in the
folder that the variable ``MINISPEC_ASSIGNMENTS`` names. Points are given elsewhere
(:mod:`minispec.course.grading.platforms`): there, otter's tests look the verdict up in a report, and nbgrader's are not
run at all.
"""

from __future__ import annotations

import json
import os
from functools import lru_cache
from pathlib import Path

from minispec.course.grading.classroom import Job, grade_all
from minispec.course.grading.grade import DEFAULT_SECRET
from minispec.course.grading.jail import LAYERS
from minispec.course.grading.manifest import load_assignment
from minispec.course.grading.report import Report
from minispec.errors import InputError

REPORT = "MINISPEC_REPORT"
"""Names the report that was formed before the tests are run."""


def require(notebook: str, assignment: str, name: str) -> None:
    """Raise unless a check passes, or all checks of a question that are here.

    Parameters
    ----------
    notebook : str
        Path of the notebook, saved.
    assignment, name : str
        Of the assignment, and of the check or the question.

    Raises
    ------
    AssertionError
        With what is wrong.
    InputError
        Under ``nbgrader autograde``: whatever is run there can be forged.
    """
    if os.environ.get("NBGRADER_EXECUTION") == "autograde":
        raise InputError(
            "graded nowhere: nbgrader_config.py has to call minispec.course.grading.platforms.use_with_nbgrader"
        )
    report = _given_report(os.environ[REPORT]) if REPORT in os.environ else _try_out(notebook, assignment)
    found = [check for check in report.checks if check.id == name or check.id.startswith(f"{name}.")]
    lost = [check for check in found if check.points < check.max_points]
    if lost:
        told = [report.obstacle, *(f"{check.title}: {check.text}" for check in lost)]
        raise AssertionError("\n".join(filter(None, told)))
    if not found:
        print("checked when you hand in")


@lru_cache(maxsize=1)
def _given_report(path: str) -> Report:
    return Report.from_dict(json.loads(Path(path).read_text(encoding="utf-8")))


def _try_out(notebook: str, assignment: str) -> Report:
    path = Path(notebook)
    folder = Path(os.environ.get("MINISPEC_ASSIGNMENTS") or path.parent / "checks")
    return _public_report(path, path.stat().st_mtime_ns if path.exists() else 0, assignment, folder)


@lru_cache(maxsize=1)
def _public_report(notebook: Path, changed_ns: int, assignment: str, folder: Path) -> Report:
    """Grade a notebook; once for all its cells, as long as the file stays the same."""
    if not load_assignment(assignment, folder).is_bundle:
        raise InputError(f"{folder} holds more than the public checks; put the student's bundle there")
    (report,) = grade_all(Job(assignment, folder, DEFAULT_SECRET, LAYERS), [notebook], jobs=1)
    return report
