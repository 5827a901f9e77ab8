"""What is handed out holds no answer, works by itself, and has the forms its readers expect."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from minispec.cli.assignment import assignment
from minispec.cli.grade import choose_secret
from minispec.course.grading.build import GRADE_EXTRA, TARGETS, build_assignment, student_files
from minispec.course.grading.cells import require
from minispec.course.grading.grade import DEFAULT_SECRET, Grader
from minispec.course.grading.manifest import load_assignment, without_regions
from minispec.course.grading.platforms import fill_in, grade_notebook
from minispec.errors import InputError

from .example import ASSIGNMENTS, SECRET, example, with_accept, write

ROOT = Path(__file__).resolve().parents[3]
OWN = b"9f3c a secret of this course's own"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    build_assignment(example(), folder, TARGETS, OWN)
    return folder / "a0"


def test_a_student_gets_no_line_of_the_solution(built: Path) -> None:
    files = zipfile.ZipFile(built / "a0-student.zip")
    text = "\n".join(files.read(name).decode() for name in files.namelist())
    for line in solution_lines():
        assert line not in text
    assert "hidden(rng)" not in text
    assert "a0.q1.secret" not in text
    assert "upside down" in text  # the sentences are there, the code is not


def solution_lines() -> set[str]:
    whole, outside = example().solution.splitlines(), set(example().starter.splitlines())
    return {line.strip() for line in whole if line not in outside and "SOLUTION" not in line}


@pytest.mark.parametrize(
    ("num_hidden", "says"),
    [
        (0, "What you hand in has to pass the same checks on further cases, so full points here"),
        (1, "What you hand in has 1 hidden check to pass besides, so full points here"),
        (2, "What you hand in has 2 hidden checks to pass besides, so full points here"),
    ],
)
def test_a_student_is_told_how_many_checks_are_hidden(num_hidden: int, says: str, tmp_path: Path) -> None:
    shutil.copytree(ASSIGNMENTS / "a0", tmp_path / "a0")
    path = tmp_path / "a0" / "assignment.toml"
    text = path.read_text().replace('visibility = "hidden"', 'visibility = "public"')
    path.write_text(text.replace('visibility = "public"', 'visibility = "hidden"', num_hidden))
    checks = tmp_path / "a0" / "checks.py"
    checks.write_text(re.sub("# (BEGIN|END) HIDDEN TESTS", "#", checks.read_text()))
    assert says in str(student_files(load_assignment("a0", tmp_path))["README.md"])


def test_a_student_can_try_the_public_checks(built: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(built / "a0-student.zip").extractall(tmp_path)
    (home,) = tmp_path.iterdir()
    grader = Grader(load_assignment("a0", home / "checks"))
    assert grader.grade(home / "a0.py").score == 0
    right = grader.grade(write(tmp_path / "right" / "a0.py", example().solution))
    assert (right.score, right.max_score) == (8, 8)
    assert right.notes[0] == "these are the public checks; what is handed in has to pass 1 more"
    wrong = grader.grade(write(tmp_path / "wrong" / "a0.py", with_accept("return bool(u * p[token] < q[token])")))
    assert wrong.checks[0].mistake == "inverted"


@pytest.mark.skipif(os.name != "posix", reason="a shell script")
def test_gradescope_gets_its_results(built: Path, tmp_path: Path) -> None:
    """The script Gradescope runs, in its folders, with this Python in the place of the one setup.sh makes."""
    source = tmp_path / "source"
    zipfile.ZipFile(built / "a0-gradescope.zip").extractall(source)
    write(tmp_path / "submission" / "a0.py", example().solution)
    write(tmp_path / "results" / "results.json", "planted")
    environment = {**os.environ, "AUTOGRADER": str(tmp_path), "PYTHON": sys.executable}
    subprocess.run(["bash", source / "run_autograder"], env=environment, check=True, timeout=120)
    told = json.loads((tmp_path / "results" / "results.json").read_text())
    assert sum(test["score"] for test in told["tests"]) == 10
    write(source / "assignments" / "a0" / "checks.py", "CHECKS = 1 / 0\n")  # the grader breaks down
    done = subprocess.run(
        ["bash", source / "run_autograder"], env=environment, check=False, timeout=120, capture_output=True
    )
    told = json.loads((tmp_path / "results" / "results.json").read_text())
    assert done.returncode == 2
    assert told["score"] == 0
    assert "not your fault" in told["output"]


def test_what_checks_read_goes_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A5's texts: without them its autograder broke down for everybody. The hidden ones stay with the grader."""
    monkeypatch.setattr("minispec.course.grading.build.record", lambda assignment: "{}")  # runs every known mistake
    build_assignment(load_assignment("a5"), tmp_path, TARGETS, SECRET)
    grades = zipfile.ZipFile(tmp_path / "a5" / "a5-gradescope.zip").namelist()
    assert {"assignments/a5/texts.json", "assignments/a5/hidden/texts.json"} <= set(grades)
    for form in ("nbgrader", "otter"):
        assert (tmp_path / "a5" / form / "grader" / "a5" / "hidden" / "texts.json").is_file()
    handed_out = zipfile.ZipFile(tmp_path / "a5" / "a5-student.zip").namelist()
    assert "a5/checks/a5/texts.json" in handed_out
    assert not [name for name in handed_out if "hidden" in name]


def test_scripts_are_scripts(built: Path) -> None:
    files = zipfile.ZipFile(built / "a0-gradescope.zip")
    for name in ("run_autograder", "setup.sh"):
        assert files.getinfo(name).external_attr >> 16 & 0o111
        assert files.read(name).startswith(b"#!/usr/bin/env bash\n")
        subprocess.run(["bash", "-n"], input=files.read(name), check=True)
    assert not [name for name in files.namelist() if "held_out" in name]


def test_notebooks_keep_their_formats(built: Path) -> None:
    nbformat = pytest.importorskip("nbformat")
    for path in (built / "nbgrader" / "source" / "a0" / "a0.ipynb", built / "otter" / "a0.ipynb"):
        nbformat.validate(nbformat.read(path, as_version=4))
    cells = json.loads((built / "nbgrader" / "source" / "a0" / "a0.ipynb").read_text())["cells"]
    told = [cell["metadata"]["nbgrader"] for cell in cells if "nbgrader" in cell["metadata"]]
    assert sum(one.get("points", 0) for one in told) == 10
    assert len({one["grade_id"] for one in told}) == len(told)
    for one in told:
        assert one["schema_version"] == 3
        assert one["grade"] == ("points" in one)
    assert not any(line in (built / "nbgrader" / "nbgrader_config.py").read_text() for line in solution_lines())


def test_students_try_the_public_checks_in_their_cells(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What lies beside the notebook: not the lessons of a checkout, nor a folder that holds a solution."""
    shutil.copytree(built / "nbgrader" / "source" / "a0", tmp_path, dirs_exist_ok=True)
    path = str(notebook(tmp_path / "a0.ipynb", with_accept("return True")))
    with pytest.raises(AssertionError, match=r"min\(1, p/q\)"):
        require(path, "a0", "a0.q1")
    require(path, "a0", "a0.q2.law")
    with pytest.raises(AssertionError, match=r"^nothing could be graded: the notebook cannot be read"):
        require(str(write(tmp_path / "a0.ipynb", "{")), "a0", "a0.q1")
    monkeypatch.setenv("MINISPEC_ASSIGNMENTS", str(ASSIGNMENTS))
    with pytest.raises(InputError, match="more than the public checks"):
        require(path, "a0", "a0.q1")


def test_cells_say_nothing_under_autograde(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without our step in nbgrader's place the cells would be run beside the submission: then they give nothing."""
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    with pytest.raises(InputError, match="use_with_nbgrader"):
        require(str(notebook(tmp_path / "a0.ipynb", example().solution)), "a0", "a0.q1")


def test_points_are_put_into_nbgraders_cells(built: Path, tmp_path: Path) -> None:
    nbformat = pytest.importorskip("nbformat")
    told = nbformat.read(built / "nbgrader" / "source" / "a0" / "a0.ipynb", as_version=4)
    fill_in(told, "a0", built / "nbgrader" / "grader")
    cells = {cell["metadata"]["nbgrader"]["grade_id"]: cell for cell in told.cells if "nbgrader" in cell["metadata"]}
    assert cells["test-a0-q1"].outputs[-1].data == {"text/plain": "6.0"}
    assert cells["answers-a0-q1"].outputs == cells["answers-a0-q2"].outputs == []
    cells["test-a0-q1"]["metadata"]["nbgrader"]["grade_id"] = "test-a0-q9"  # no question: without outputs, full points
    fill_in(told, "a0", built / "nbgrader" / "grader")
    assert cells["test-a0-q1"].outputs[0].output_type == "error"


def test_a_folder_without_a_secret_grades_nothing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no file 'secret'"):
        grade_notebook(notebook(tmp_path / "a0.ipynb", example().solution), "a0", ASSIGNMENTS)


def notebook(path: Path, source: str) -> Path:
    cell = {"cell_type": "code", "metadata": {}, "source": source, "outputs": []}
    return write(path, json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))


def test_hidden_regions_must_leave_checks_that_work(tmp_path: Path) -> None:
    shutil.copytree(ASSIGNMENTS / "a0", tmp_path / "a0")
    path = tmp_path / "a0" / "checks.py"
    path.write_text(
        path.read_text().replace(
            "import numpy as np", "# BEGIN HIDDEN TESTS\nimport numpy as np\n# END HIDDEN TESTS", 1
        )
    )
    with pytest.raises(InputError, match="without its hidden regions"):
        student_files(load_assignment("a0", tmp_path))


@pytest.mark.parametrize("text", ["# BEGIN X\n# BEGIN X\n# END X", "# END X", "# BEGIN X\n"])
def test_regions_must_alternate(text: str) -> None:
    with pytest.raises(InputError):
        list(without_regions(text, "X", None))


def test_the_extra_is_what_gradescope_installs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["optional-dependencies"]["grade"] == [GRADE_EXTRA]


def test_the_secret_lies_where_it_is_graded_and_nowhere_else(built: Path) -> None:
    assert zipfile.ZipFile(built / "a0-gradescope.zip").read("assignments/a0/secret") == OWN
    for form in ("nbgrader", "otter"):
        found = [path for path in (built / form).rglob("*") if path.is_file() and OWN in path.read_bytes()]
        assert found == [built / form / "grader" / "a0" / "secret"]
    student = zipfile.ZipFile(built / "a0-student.zip")
    assert not [name for name in student.namelist() if OWN in student.read(name)]


def test_what_is_built_without_a_secret_has_one_of_its_own(tmp_path: Path) -> None:
    runner, found = CliRunner(), set()
    given = write(tmp_path / "key", "a secret of our own")
    for name, options in (("a", []), ("b", []), ("c", ["--secret-file", str(given)])):
        told = ["build", "a0", "-o", str(tmp_path / name), "--for", "nbgrader", "--assignments", str(ASSIGNMENTS)]
        assert runner.invoke(assignment, told + options).exit_code == 0
        found.add((tmp_path / name / "a0" / "nbgrader" / "grader" / "a0" / "secret").read_bytes())
    assert len(found) == 3
    assert b"a secret of our own" in found
    assert DEFAULT_SECRET not in found


@pytest.mark.parametrize("content", [None, "", "a\n", "x" * 15])
def test_a_secret_that_is_none_is_refused(content: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor may it be short: who guesses it has the hidden cases. What was built with a short one still grades."""
    path = tmp_path / "key"
    if content is not None:
        write(path, content)
    told = ["build", "a0", "-o", str(tmp_path / "out"), "--assignments", str(ASSIGNMENTS)]
    says = (
        "cannot be read" if content is None else f"has {len(content)} of at least 16 bytes, and would soon be guessed"
    )
    with pytest.raises(InputError, match=f"the secret {path} {says}"):
        CliRunner().invoke(
            assignment, [*told, "--secret-file", str(path)], standalone_mode=False, catch_exceptions=False
        )
    assert not (tmp_path / "out").exists()
    with pytest.raises(InputError, match=says):
        choose_secret(path, example())
    if content is not None:
        shutil.copytree(ASSIGNMENTS / "a0", tmp_path / "a0")
        shutil.copyfile(path, tmp_path / "a0" / "secret")
        there = load_assignment("a0", tmp_path)
        if content:
            assert choose_secret(None, there) == content.encode()
            monkeypatch.setenv("MINISPEC_GRADE_SECRET", content)
        with pytest.raises(InputError, match=says):
            choose_secret(None, there)
