"""What the test cells of exported notebooks call. They read the notebook file, not the kernel's variables.

The assignments are those of the checkout, or of the folder named by the variable ``MINISPEC_ASSIGNMENTS``.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

from minispec.grading.classroom import Job, grade_all
from minispec.grading.grade import DEFAULT_SECRET
from minispec.grading.jail import LAYERS
from minispec.grading.report import CheckResult, Report


@lru_cache(maxsize=1)
def _report(notebook: str, changed_ns: int, assignment: str) -> Report:
    """Grade a notebook; once for all its cells, as long as the file stays the same."""
    folder = os.environ.get("MINISPEC_ASSIGNMENTS")
    job = Job(assignment, Path(folder) if folder else None, DEFAULT_SECRET, LAYERS)
    (report,) = grade_all(job, [Path(notebook)], jobs=1)
    return report


def _checks(notebook: str, assignment: str) -> list[CheckResult]:
    path = Path(notebook)
    return _report(notebook, path.stat().st_mtime_ns if path.exists() else 0, assignment).checks


def points_for(notebook: str, assignment: str, question: str) -> float:
    """Return the points of a question, and print what is wrong.

    Parameters
    ----------
    notebook : str
        Path of the notebook, saved.
    assignment, question : str
    """
    checks = [check for check in _checks(notebook, assignment) if check.id.startswith(f"{question}.")]
    for check in checks:
        if check.status != "passed":
            print(f"{check.title}: {check.text}")
    return float(sum(check.points for check in checks))


def require(notebook: str, assignment: str, check: str) -> None:
    """Raise unless a check passes.

    Raises
    ------
    AssertionError
        With what is wrong.
    """
    (found,) = [one for one in _checks(notebook, assignment) if one.id == check]
    if found.status != "passed":
        raise AssertionError(found.text)
