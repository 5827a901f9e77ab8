"""Grades under nbgrader and otter: what they would run in a kernel, our judge grades from the notebook's text.

Both run the tests in the kernel that ran the submission, which can therefore forge every verdict. Here the submission
never comes near a kernel: nbgrader's step that executes notebooks is replaced, and what otter executes is empty.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from minispec.course.grading.cells import REPORT
from minispec.course.grading.classroom import Job, grade_all
from minispec.course.grading.jail import LAYERS
from minispec.course.grading.manifest import load_assignment
from minispec.course.grading.report import QuestionResult, Report
from minispec.errors import InputError


def use_with_nbgrader(config: Any, folder: Path, *, without: Sequence[str] = ()) -> None:
    """Make ``nbgrader autograde`` grade with us; to be called in ``nbgrader_config.py``.

    Parameters
    ----------
    config : traitlets.config.Config
        What ``get_config()`` returns there.
    folder : Path
        Holds the assignments, each with its secret.
    without : sequence of str
        Layers of isolation to leave out.
    """
    from nbgrader.converters import Autograde
    from nbgrader.preprocessors import Execute

    def execute(notebook: Any, resources: Any) -> tuple[Any, Any]:
        fill_in(notebook, resources["nbgrader"]["assignment"], folder, without)
        return notebook, resources

    usual = Autograde.class_traits()["autograde_preprocessors"].default()
    config.Autograde.autograde_preprocessors = [execute if step is Execute else step for step in usual]


def fill_in(notebook: Any, assignment: str, folder: Path, without: Sequence[str] = ()) -> None:
    """Grade a notebook, and write into its test cells what nbgrader reads there: text, and the points as a result.

    Parameters
    ----------
    notebook : nbformat.NotebookNode
        Changed in place.
    assignment : str
    folder : Path
    without : sequence of str

    Raises
    ------
    InputError
        If nothing can be graded here.
    """
    with tempfile.TemporaryDirectory() as home:
        path = Path(home) / f"{assignment}.ipynb"
        path.write_text(json.dumps(notebook), encoding="utf-8")
        report = grade_notebook(path, assignment, folder, without)
    questions = {f"test-{question.id.replace('.', '-')}": question for question in report.questions}
    notes = "".join(f"{note}\n" for note in report.told)
    for cell in notebook["cells"]:
        told = cell["metadata"].get("nbgrader", {})
        if not told.get("grade") or told.get("solution") or cell["cell_type"] != "code":
            continue  # what a person marks, or nobody
        question = questions.get(told["grade_id"])
        cell["outputs"] = _no_question(told["grade_id"]) if question is None else _outputs(notes, question)
        notes = ""  # said once, at the first


def _outputs(notes: str, question: QuestionResult) -> list[Any]:
    lost = [check for check in question.checks if check.status != "passed"]
    text = notes + "".join(f"{check.title}: {check.text}\n" for check in lost)
    gained = float(sum(check.points for check in question.checks))
    points = {
        "output_type": "execute_result",
        "data": {"text/plain": repr(gained)},
        "execution_count": 1,
        "metadata": {},
    }
    told = [_node({"output_type": "stream", "name": "stdout", "text": text})] if text else []
    return [*told, _node(points)]


def _no_question(name: str) -> list[Any]:
    """Make nbgrader give no points: without any output it would give all."""
    words = f"{name} is no question of this assignment, and nothing else is run here"
    return [_node({"output_type": "error", "ename": "InputError", "evalue": words, "traceback": [words]})]


def _node(told: dict[str, Any]) -> Any:
    """Return nbformat's form of a part of a notebook."""
    from nbformat import from_dict

    return from_dict(told)  # type: ignore[no-untyped-call]


def grade_notebook(path: Path, assignment: str, folder: Path, without: Sequence[str] = ()) -> Report:
    """Grade a notebook with the secret that lies beside the assignment.

    Raises
    ------
    InputError
        If there is none, the assignment is broken, or the isolation is not safe here.
    """
    secret = load_assignment(assignment, folder).secret
    if secret is None:
        raise InputError(
            f"{folder / assignment} has no file 'secret', so its hidden cases would be everybody's; "
            "make the folder with minispec assignment build"
        )
    layers = tuple(layer for layer in LAYERS if layer not in without)
    (report,) = grade_all(Job(assignment, folder, secret, layers), [path], jobs=1)
    return report


class OtterJudge:
    """A plugin of otter's: grades the submission, and has otter run its tests beside nothing of the submission's.

    It has the events of ``otter.plugins.AbstractOtterPlugin``, but not that class for a base: otter may be missing.

    Parameters
    ----------
    submission_path : str or None
        None while the autograder is built.
    submission_metadata : dict
    plugin_config : dict
        ``assignment``: its name; ``without``: layers of isolation to leave out.
    """

    def __init__(self, submission_path: str | None, submission_metadata: Any, plugin_config: dict[str, Any]) -> None:
        self._path = Path(submission_path or "")
        self._assignment: str = plugin_config["assignment"]
        self._without: Sequence[str] = plugin_config.get("without", ())

    def before_grading(self, config: Any) -> None:
        """Remove what was handed in beside the notebook: a module it could pass off as another, or a pickle."""
        home = self._path.parent
        os.chmod(home.parent / "source", 0o700)  # where the submission runs under a user id of its own
        for path in home.iterdir():
            if path.is_dir() and not path.is_symlink():
                if path.name != "tests":  # otter's own, put there afresh
                    shutil.rmtree(path)
            elif path != self._path:
                path.unlink()

    def before_execution(self, submission: Any) -> Any:
        """Grade; return an empty notebook for otter to execute."""
        folder = self._path.parent.parent / "source" / "files" / "grader"
        report = grade_notebook(self._path, self._assignment, folder, self._without)
        path = self._path.parent.parent / "results" / "report.json"
        path.write_text(json.dumps(report.to_dict()), encoding="utf-8")
        os.environ[REPORT] = str(path)  # for the kernel that runs otter's tests
        kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
        return _node({"cells": [], "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5})

    def after_grading(self, results: Any) -> None:
        """Do nothing: otter's tests have looked their verdicts up."""

    def during_assign(self, assignment: Any) -> None:
        """Do nothing."""

    def during_generate(self, otter_config: Any, assignment: Any) -> None:
        """Do nothing."""

    def generate_report(self) -> str:
        """Return nothing to print."""
        return ""
