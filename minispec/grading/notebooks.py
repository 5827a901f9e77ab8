"""The notebook forms: the sources of nbgrader and of otter. Their test cells let students try the public checks.

The verdict is formed by :mod:`minispec.grading.platforms`, from the notebook's text, or by ``minispec grade`` itself.
"""

from __future__ import annotations

import json
import re
from typing import Any

from minispec.grading.manifest import STUB, Assignment, CheckInfo, Question

_HOW_TO = (
    "Write your answers in the cell below. The test cells read this notebook's file: save it before you run them. They "
    "run the checks you have; more are run on what you hand in."
)


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
        _cell("markdown", "how-to", _HOW_TO),
        _cell("code", "answers", assignment.solution, {"grade": False, "locked": False, "solution": True}),
    ]
    for question in assignment.questions:
        most = sum(check.points for check in question.checks)
        role = {"grade": True, "locked": True, "solution": False, "points": most}
        cells.append(_cell("markdown", f"about-{_test_name(question.id)}", f"## {question.title}\n"))
        code = "from minispec.grading.cells import require\n\n" + _make_require(assignment, question.id)
        cells.append(_cell("code", f"test-{_test_name(question.id)}", code, role))
    return _notebook(cells)


def _make_require(assignment: Assignment, name: str) -> str:
    return f'require("{assignment.id}.ipynb", "{assignment.id}", "{name}")'


def otter_notebook(assignment: Assignment, requirements: str, autograder_files: list[str], files: list[str]) -> str:
    """Return the notebook that ``otter assign`` makes the student's copy and the autograder of.

    Parameters
    ----------
    assignment : Assignment
    requirements : str
        Name of the file with what has to be installed where it is graded.
    autograder_files, files : list of str
        Names of what goes along to the autograder only, and to students too.
    """
    config = {
        "name": assignment.id,
        "requirements": requirements,
        "files": files,
        "autograder_files": autograder_files,
        "plugins": [{"minispec.grading.platforms.OtterJudge": {"assignment": assignment.id}}],
        "tests": {"ok_format": False},
        "export_cell": False,
        "strip_solutions_from_all_cells": True,
    }
    cells = [
        _cell("raw", "config", f"# ASSIGNMENT CONFIG\n{json.dumps(config, indent=1)}"),  # JSON is YAML
        _cell("markdown", "handout", _introduction(assignment)),
        _cell("markdown", "how-to", _HOW_TO),
        _cell("code", "answers", _otter_solution(assignment.solution)),
    ]
    for question in assignment.questions:
        cells += _otter_question(assignment, question)
    return _notebook(cells)


def _otter_solution(solution: str) -> str:
    """Have otter leave our stub where a region was, not ``...``, which would pass for an answer."""
    begun = re.sub(r"^( *)# BEGIN SOLUTION *$", r"\1# BEGIN SOLUTION NO PROMPT", solution, flags=re.M)
    stub = rf'\1# END SOLUTION\n\1""" # BEGIN PROMPT\n\1{STUB}\n\1""" # END PROMPT'
    return re.sub(r"^( *)# END SOLUTION *$", stub, begun, flags=re.M)


def _otter_question(assignment: Assignment, question: Question) -> list[dict[str, Any]]:
    name = _test_name(question.id)
    return [
        _cell("raw", f"begin-{name}", f"# BEGIN QUESTION\n{json.dumps({'name': name})}"),
        _cell("markdown", f"about-{name}", f"## {question.title}\n"),
        _cell("raw", f"begin-tests-{name}", "# BEGIN TESTS"),
        *[_otter_test(assignment, check) for check in question.checks],
        _cell("raw", f"end-tests-{name}", "# END TESTS"),
        _cell("raw", f"end-{name}", "# END QUESTION"),
    ]


def _otter_test(assignment: Assignment, check: CheckInfo) -> dict[str, Any]:
    config = {"points": check.points, "hidden": check.visibility == "hidden"}
    code = (
        f'""" # BEGIN TEST CONFIG\n{json.dumps(config)}\n""" # END TEST CONFIG\n'
        f"def test_{check.id.rpartition('.')[2]}(env):\n"
        "    from minispec.grading.cells import require\n"
        f"    {_make_require(assignment, check.id)}\n"
    )
    return _cell("code", f"test-{_test_name(check.id)}".replace("_", "-"), code)
