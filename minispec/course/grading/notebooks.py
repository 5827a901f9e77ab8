"""The notebook forms: the sources of nbgrader and of otter. Their test cells let students try the public checks.

The verdict is formed by :mod:`minispec.course.grading.platforms`, from the notebook's text, or by ``minispec grade``
itself.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from typing import Any

from minispec.course.grading.manifest import STUB, Assignment, CheckInfo, Question

_HOW_TO = (
    "Write your answers in the cells below. The test cells read this notebook's file: save it before you run them. "
    "They run the checks you have; more are run on what you hand in."
)
_BY_HAND = "## For a person to mark\n\nThe questions are in the handout; answer them in the next cell."
_BEGIN = re.compile(r"^ *# BEGIN SOLUTION", re.M)


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
    pieces = split_answers(assignment.solution)
    cells = [
        _cell("markdown", "handout", _introduction(assignment)),
        _cell("markdown", "how-to", _HOW_TO),
        _nbgrader_answers("answers", pieces.pop(0)),
    ]
    for number, question in enumerate(assignment.questions, 1):
        name = _test_name(question.id)
        most = sum(check.points for check in question.checks)
        role = {"grade": True, "locked": True, "solution": False, "points": most}
        cells.append(_cell("markdown", f"about-{name}", f"## {question.title}\n"))
        if number in pieces:
            cells.append(_nbgrader_answers(f"answers-{name}", pieces[number]))
        code = "from minispec.course.grading.cells import require\n\n" + _make_require(assignment, question.id)
        cells.append(_cell("code", f"test-{name}", code, role))
    if assignment.points_by_hand:
        role = {"grade": True, "locked": False, "solution": True, "points": assignment.points_by_hand}
        cells.append(_cell("markdown", "about-by-hand", _BY_HAND))
        cells.append(_cell("markdown", "by-hand", "", role))  # nbgrader puts its own words in
    return _notebook(cells)


def _nbgrader_answers(name: str, piece: str) -> dict[str, Any]:
    """Return a cell for answers; nbgrader puts its stub in place of a whole one that is marked and has no region."""
    role = {"grade": False, "locked": False, "solution": True}
    return _cell("code", name, piece, role if _BEGIN.search(piece) else None)


def split_answers(solution: str) -> dict[int, str]:
    r"""Cut a solution into the cells of a notebook: what stands before the questions, 0, and each question's functions.

    A function belongs to the question that its docstring begins with; what has no such docstring belongs to the one
    before it, a suggested structure at the end to the last.

    Examples
    --------
    >>> split_answers('import math\n\n\n# One.\ndef f():\n    "Q1. A."\n')
    {0: 'import math', 1: '# One.\ndef f():\n    "Q1. A."'}
    """
    lines = solution.splitlines()
    begins = dict(_find_questions(ast.parse(solution), lines))
    ends = [*list(begins.values())[1:], len(lines)]
    return {
        number: "\n".join(lines[start:end]).strip("\n")
        for (number, start), end in zip(begins.items(), ends, strict=True)
    }


def _find_questions(tree: ast.Module, lines: list[str]) -> Iterator[tuple[int, int]]:
    """Yield each question's number and where it begins, with the comment above its first function."""
    yield 0, 0
    last = 0
    for node in tree.body:
        told = re.match(r"Q(\d+)\.", ast.get_docstring(node) or "") if isinstance(node, ast.FunctionDef) else None
        if told and int(told[1]) > last:
            last, start = int(told[1]), node.lineno - 1
            while lines[start - 1].startswith("#"):
                start -= 1
            yield last, start


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
        "plugins": [{"minispec.course.grading.platforms.OtterJudge": {"assignment": assignment.id}}],
        "tests": {"ok_format": False},
        "export_cell": False,
        "strip_solutions_from_all_cells": True,
    }
    pieces = split_answers(assignment.solution)
    cells = [
        _cell("raw", "config", f"# ASSIGNMENT CONFIG\n{json.dumps(config, indent=1)}"),  # JSON is YAML
        _cell("markdown", "handout", _introduction(assignment)),
        _cell("markdown", "how-to", _HOW_TO),
        _cell("code", "answers", _otter_solution(pieces.pop(0))),
    ]
    for number, question in enumerate(assignment.questions, 1):
        name = _test_name(question.id)
        cells.append(_cell("markdown", f"about-{name}", f"## {question.title}\n"))
        if number in pieces:
            cells.append(_cell("code", f"answers-{name}", _otter_solution(pieces[number])))
        cells += _otter_question(assignment, question)
    if assignment.points_by_hand:
        cells += _otter_by_hand(assignment.points_by_hand)
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
        _cell("raw", f"begin-tests-{name}", "# BEGIN TESTS"),
        *[_otter_test(assignment, check) for check in question.checks],
        _cell("raw", f"end-tests-{name}", "# END TESTS"),
        _cell("raw", f"end-{name}", "# END QUESTION"),
    ]


def _otter_by_hand(points: float) -> list[dict[str, Any]]:
    told = json.dumps({"name": "by-hand", "manual": True, "points": points})
    return [
        _cell("raw", "begin-by-hand", f"# BEGIN QUESTION\n{told}"),
        _cell("markdown", "about-by-hand", _BY_HAND),
        _cell("raw", "begin-solution-by-hand", "# BEGIN SOLUTION"),
        _cell("markdown", "by-hand", "See the rubric."),
        _cell("raw", "end-solution-by-hand", "# END SOLUTION"),
        _cell("raw", "end-by-hand", "# END QUESTION"),
    ]


def _otter_test(assignment: Assignment, check: CheckInfo) -> dict[str, Any]:
    config = {"points": check.points, "hidden": check.visibility == "hidden"}
    code = (
        f'""" # BEGIN TEST CONFIG\n{json.dumps(config)}\n""" # END TEST CONFIG\n'
        f"def test_{check.id.rpartition('.')[2]}(env):\n"
        "    from minispec.course.grading.cells import require\n"
        f"    {_make_require(assignment, check.id)}\n"
    )
    return _cell("code", f"test-{_test_name(check.id)}".replace("_", "-"), code)
