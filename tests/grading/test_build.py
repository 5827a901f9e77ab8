"""What is handed out holds no answer, works by itself, and has the forms its readers expect."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from minispec.errors import InputError
from minispec.grading.build import GRADE_EXTRA, TARGETS, build_assignment, student_files
from minispec.grading.cells import points_for, require
from minispec.grading.grade import Grader
from minispec.grading.manifest import load_assignment, without_regions

from .example import ASSIGNMENTS, SECRET, example, with_accept, write

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    build_assignment(example(), folder, TARGETS)
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


def test_a_student_can_try_the_public_checks(built: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(built / "a0-student.zip").extractall(tmp_path)
    grader = Grader(load_assignment("a0", tmp_path / "checks"))
    assert grader.grade(tmp_path / "a0.py").score == 0
    right = grader.grade(write(tmp_path / "right" / "a0.py", example().solution))
    assert (right.score, right.max_score) == (8, 8)
    assert "these are the public checks; 1 more" in right.notes[0]
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


def test_what_checks_read_goes_along(tmp_path: Path) -> None:
    """A5's texts: without them its autograder broke down for everybody. The hidden ones stay with the grader."""
    build_assignment(load_assignment("a5"), tmp_path, ("student", "gradescope"))
    grades = zipfile.ZipFile(tmp_path / "a5" / "a5-gradescope.zip").namelist()
    assert {"assignments/a5/texts.json", "assignments/a5/hidden/texts.json"} <= set(grades)
    handed_out = zipfile.ZipFile(tmp_path / "a5" / "a5-student.zip").namelist()
    assert "checks/a5/texts.json" in handed_out
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
    for path in (built / "nbgrader" / "a0.ipynb", built / "otter" / "a0.ipynb"):
        nbformat.validate(nbformat.read(path, as_version=4))
    cells = json.loads((built / "nbgrader" / "a0.ipynb").read_text())["cells"]
    told = [cell["metadata"]["nbgrader"] for cell in cells if "nbgrader" in cell["metadata"]]
    assert sum(one.get("points", 0) for one in told) == 10
    assert len({one["grade_id"] for one in told}) == len(told)
    for one in told:
        assert one["schema_version"] == 3
        assert one["grade"] == ("points" in one)
    for path in (built / "otter" / "tests").glob("*.py"):
        ast.parse(path.read_text())
    assert not any(line in (built / "otter" / "a0.ipynb").read_text() for line in solution_lines())


def test_cells_grade_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MINISPEC_ASSIGNMENTS", str(ASSIGNMENTS))
    cell = {"cell_type": "code", "metadata": {}, "source": with_accept("return True"), "outputs": []}
    path = write(tmp_path / "a0.ipynb", json.dumps({"cells": [cell], "metadata": {}}))
    assert points_for(str(path), "a0", "a0.q1") == 0.0
    assert "min(1, p/q)" in capsys.readouterr().out
    require(str(path), "a0", "a0.q2.law")
    with pytest.raises(AssertionError, match="expected False"):
        require(str(path), "a0", "a0.q1.accept")


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


def test_a_secret_is_not_an_example(built: Path) -> None:
    assert zipfile.ZipFile(built / "a0-gradescope.zip").read("secret") != SECRET
