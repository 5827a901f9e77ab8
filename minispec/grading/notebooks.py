"""The notebook forms: nbgrader's and otter's. Both only call our grader; neither is where a verdict can be trusted.

Their test cells run in the student's kernel. ``minispec grade`` reads the same notebook and runs its code in a worker:
that is the grade to keep where it matters.
"""

from __future__ import annotations

import json
from typing import Any

from minispec.grading.manifest import Assignment, CheckInfo, Question


def _cell(kind: str, name: str, source: str, nbgrader: dict[str, Any] | None = None) -> dict[str, Any]:
    metadata = {} if nbgrader is None else {"nbgrader": {"schema_version": 3, "grade_id": name, **nbgrader}}
    cell: dict[str, Any] = {"cell_type": kind, "id": name, "metadata": metadata, "source": source}
    return cell | {"execution_count": None, "outputs": []} if kind == "code" else cell


def _notebook(cells: list[dict[str, Any]]) -> str:
    metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"


def _introduction(assignment: Assignment) -> str:
    path = assignment.folder / "HANDOUT.md"
    return path.read_text(encoding="utf-8") if path.is_file() else f"# {assignment.title}\n"


def _test_name(name: str) -> str:
    return name.replace(".", "-")


def nbgrader_notebook(assignment: Assignment) -> str:
    """Return nbgrader's source notebook: the solution between its markers, and one test cell per question.

    ``nbgrader generate_assignment`` takes the solution out, and puts its own stub in.
    """
    cells = [
        _cell("markdown", "handout", _introduction(assignment)),
        _cell("code", "answers", assignment.solution, {"grade": False, "locked": False, "solution": True}),
    ]
    for question in assignment.questions:
        most = sum(check.points for check in question.checks)
        code = (
            "from minispec.grading.cells import points_for\n\n"
            f'points_for("{assignment.id}.ipynb", "{assignment.id}", "{question.id}")'
        )
        role = {"grade": True, "locked": True, "solution": False, "points": most}
        cells.append(_cell("markdown", f"about-{_test_name(question.id)}", f"## {question.title}\n"))
        cells.append(_cell("code", f"test-{_test_name(question.id)}", code, role))
    return _notebook(cells)


def otter_files(assignment: Assignment) -> dict[str, str]:
    """Return otter's files: the starter as a notebook, and exception-based tests, one file per question."""
    files = {
        f"{assignment.id}.ipynb": _notebook(
            [
                _cell("code", "otter", f'import otter\n\ngrader = otter.Notebook("{assignment.id}.ipynb")'),
                _cell("markdown", "handout", _introduction(assignment)),
                _cell("code", "answers", assignment.starter),
                *[
                    _cell("code", f"check-{_test_name(question.id)}", f'grader.check("{_test_name(question.id)}")')
                    for question in assignment.questions
                ],
            ]
        )
    }
    for question in assignment.questions:
        files[f"tests/{_test_name(question.id)}.py"] = _otter_tests(assignment, question)
    return files


def _otter_tests(assignment: Assignment, question: Question) -> str:
    head = (
        "from minispec.grading.cells import require\nfrom otter.test_files import test_case\n\n"
        f"OK_FORMAT = False\nname = {json.dumps(_test_name(question.id))}\npoints = None\n"
    )
    return head + "".join(_otter_case(assignment, check) for check in question.checks)


def _otter_case(assignment: Assignment, check: CheckInfo) -> str:
    hidden = check.visibility == "hidden"
    return (
        f"\n\n@test_case(name={json.dumps(check.title)}, points={check.points!r}, hidden={hidden!r})\n"
        f"def test_{check.id.rpartition('.')[2]}(env):\n"
        f'    require("{assignment.id}.ipynb", "{assignment.id}", "{check.id}")\n'
    )
