"""The exports under nbgrader and otter and in Gradescope's folders, really run: their points are ``minispec grade``'s.

Needs the dependency group ``platforms``. Beside right and wrong submissions stand hostile ones, which get points where
the platform runs them in its kernel (the control), and none where we grade.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

import pytest

from minispec.course.grading.build import build_assignment
from minispec.course.grading.classroom import Job, grade_all
from minispec.course.grading.grade import DEFAULT_SECRET
from minispec.course.grading.jail import LAYERS
from minispec.course.grading.manifest import Assignment, load_assignment
from minispec.course.grading.report import Report
from minispec.course.teaching.quiz import read_quiz, write_quiz

from .example import ASSIGNMENTS, write

ROOT = Path(__file__).resolve().parents[3]
OWN = b"of this term"
COURSE = [pytest.param(f"a{i}", marks=pytest.mark.exhaustive) for i in range(1, 7)]
SMALL = pytest.param("a0", marks=pytest.mark.slow)
LEAST = {"a5": 0}
"""Points that a wrong submission must keep for what is right in it; A5's checks count only together."""
FORGED = "import minispec.course.grading.cells as cells\ncells.require = lambda *a: None\n"
LIMIT_S = 590


def needs(module: str) -> pytest.MarkDecorator:
    missing = find_spec(module) is None
    return pytest.mark.skipif(missing, reason=f"{module} is not installed (dependency group platforms)")


def assignment_of(name: str) -> Assignment:
    return load_assignment(name, ASSIGNMENTS if name == "a0" else None)


def submissions(assignment: Assignment) -> dict[str, str]:
    """The code handed in, by student."""
    found = {
        "right": assignment.solution,
        "wrong": assignment.overlays("mutants")[0].source,
        "starter": assignment.starter,
        "hostile": FORGED + assignment.starter,
        "broken": assignment.solution + "\n\ndef (\n",
        "endless": assignment.solution + "\n\nwhile True:\n    pass\n",
    }
    if variants := assignment.overlays("correct"):
        found["variant"] = variants[-1].source
    return found


def with_answers(path: Path, code: str, to: Path) -> Path:
    """Hand in the notebook at ``path`` as a student does: with answers, here all in the first cell for them."""
    told = json.loads(path.read_text(encoding="utf-8"))
    cells = [cell for cell in told["cells"] if cell["cell_type"] == "code" and "def " in "".join(cell["source"])]
    assert "raise NotImplementedError" in "".join(cells[0]["source"])
    for cell in cells:
        cell["source"] = ""
    cells[0]["source"] = code
    to.parent.mkdir(parents=True, exist_ok=True)
    return write(to, json.dumps(told))


def expected(paths: list[Path], assignment: Assignment, folder: Path) -> list[Report]:
    job = Job(assignment.id, folder, OWN, LAYERS, examples=False)
    return grade_all(job, paths, jobs=1)


def by_question(report: Report) -> dict[str, float]:
    return {one.id.replace(".", "-"): sum(check.points for check in one.checks) for one in report.questions}


def call(name: str, *arguments: object, cwd: Path) -> str:
    """Run a platform's command as its user does, from its environment; the folder of programs is on the path."""
    programs = Path(sys.executable).parent
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "HOME": str(cwd), "JUPYTER_PLATFORM_DIRS": "1"}
    done = subprocess.run(
        [str(programs / name), *map(str, arguments)], cwd=cwd, env=environment, capture_output=True, text=True,
        timeout=LIMIT_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout + done.stderr


# ── nbgrader ────────────────────────────────────────────────────────────────────────────────────────────────────────


def nbgrader_points(course: Path) -> dict[str, dict[str, float]]:
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as book:
        (assignment,) = book.assignments
        return {
            one.student.id: {
                grade.name.removeprefix("test-"): grade.auto_score
                for sheet in one.notebooks
                for grade in sheet.grades
                if grade.name != "by-hand"
            }
            for one in book.assignment_submissions(assignment.name)
        }


def hand_in(course: Path, name: str, work: dict[str, str]) -> list[Path]:
    released = course / "release" / name / f"{name}.ipynb"
    return [
        with_answers(released, code, course / "submitted" / who / name / f"{name}.ipynb") for who, code in work.items()
    ]


@needs("nbgrader")
@pytest.mark.parametrize("name", [SMALL, *COURSE])
def test_nbgrader_gives_our_points(name: str, tmp_path: Path) -> None:
    assignment = assignment_of(name)
    build_assignment(assignment, tmp_path, ("nbgrader",), OWN)
    course = tmp_path / name / "nbgrader"
    call("nbgrader", "generate_assignment", name, cwd=course)
    assert not any("solution" in path.name or path.name == "secret" for path in (course / "release").rglob("*"))
    work = submissions(assignment)
    reports = expected(hand_in(course, name, work), assignment, course / "grader")
    call("nbgrader", "autograde", name, cwd=course)
    points = nbgrader_points(course)
    assert points == {who: by_question(report) for who, report in zip(work, reports, strict=True)}
    totals = {who: sum(found.values()) for who, found in points.items()}
    assert totals["right"] == totals.get("variant", totals["right"]) == assignment.points
    assert LEAST.get(name, 1) <= totals["wrong"] < assignment.points
    assert totals["starter"] == totals["hostile"] == totals["broken"] == totals["endless"] == 0
    call("nbgrader", "generate_feedback", name, cwd=course)
    shown = (course / "feedback" / "wrong" / name / f"{name}.html").read_text(encoding="utf-8")
    assert next(check for check in reports[1].checks if check.points == 0).title in shown


@needs("nbgrader")
@pytest.mark.slow
def test_without_our_step_nbgrader_is_fooled(tmp_path: Path) -> None:
    """The control: in a kernel the hostile notebook gets everything. Honest work gets nothing, so it is noticed."""
    build_assignment(assignment_of("a0"), tmp_path, ("nbgrader",), OWN)
    course = tmp_path / "a0" / "nbgrader"
    (course / "nbgrader_config.py").unlink()
    call("nbgrader", "generate_assignment", "a0", cwd=course)
    work = submissions(assignment_of("a0"))
    hand_in(course, "a0", {who: work[who] for who in ("right", "hostile")})
    call("nbgrader", "autograde", "a0", cwd=course)
    totals = {who: sum(found.values()) for who, found in nbgrader_points(course).items()}
    assert totals == {"right": 0, "hostile": 10}


@needs("nbgrader")
@pytest.mark.slow
def test_a_student_validates_the_public_checks(tmp_path: Path) -> None:
    build_assignment(assignment_of("a0"), tmp_path, ("nbgrader",), OWN)
    course = tmp_path / "a0" / "nbgrader"
    call("nbgrader", "generate_assignment", "a0", cwd=course)
    released = course / "release" / "a0"
    work = submissions(assignment_of("a0"))
    home = released / "a0.ipynb"
    original = home.read_bytes()
    for who, words in (("right", "Success"), ("wrong", "VALIDATION FAILED")):
        home.write_bytes(original)
        with_answers(home, work[who], home)
        assert words in call("nbgrader", "validate", home.name, cwd=released), who


# ── otter ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def assign(name: str, folder: Path) -> tuple[Path, Path, Path]:
    """Build for otter and run ``otter assign``, which grades the solution too; return dist, its zip, our folder."""
    build_assignment(assignment_of(name), folder, ("otter",), OWN)
    home = folder / name / "otter"
    assert "All autograder tests passed" in call("otter", "assign", f"{name}.ipynb", "dist", "-v", cwd=home)
    (packed,) = (home / "dist" / "autograder").glob("*.zip")
    return home / "dist", packed, home


def otter_points(packed: Path, submission: Path) -> dict[str, float]:
    call("otter", "run", "-a", packed, "-o", submission.parent, submission, cwd=submission.parent)
    told = json.loads((submission.parent / "results.json").read_text(encoding="utf-8"))
    return {test["name"]: test["score"] for test in told["tests"] if "max_score" in test}


@needs("otter")
@pytest.mark.parametrize("name", [SMALL, *COURSE])
def test_otter_gives_our_points(name: str, tmp_path: Path) -> None:
    assignment = assignment_of(name)
    dist, packed, home = assign(name, tmp_path)
    student = dist / "student"
    assert not any(path.name in ("secret", "solution.py") for path in student.rglob("*"))
    work = submissions(assignment)
    paths = [
        with_answers(student / f"{name}.ipynb", code, tmp_path / who / f"{name}.ipynb") for who, code in work.items()
    ]
    reports = expected(paths, assignment, home / "grader")
    totals = {}
    for who, path, report in zip(work, paths, reports, strict=True):
        found = otter_points(packed, path)
        assert found == by_question(report), who
        totals[who] = sum(found.values())
    assert totals["right"] == totals.get("variant", totals["right"]) == assignment.points
    assert LEAST.get(name, 1) <= totals["wrong"] < assignment.points
    assert totals["starter"] == totals["hostile"] == totals["broken"] == totals["endless"] == 0


@needs("otter")
@pytest.mark.slow
def test_what_is_handed_in_beside_a_notebook_is_not_run(tmp_path: Path) -> None:
    """A zip with modules that pass for others, and a log that otter would unpickle; the control has no plugin."""
    dist, packed, _ = assign("a0", tmp_path)
    path = with_answers(
        dist / "student" / "a0.ipynb", FORGED + assignment_of("a0").starter, tmp_path / "in" / "a0.ipynb"
    )
    bare = tmp_path / "bare.zip"
    with zipfile.ZipFile(packed) as old, zipfile.ZipFile(bare, "w") as new:
        for item in old.namelist():
            new.writestr(item, b"{}" if item == "otter_config.json" else old.read(item))
    assert sum(otter_points(bare, path).values()) == 10
    handed_in = tmp_path / "in" / "a0.zip"
    mark = tmp_path / "mark"
    with zipfile.ZipFile(handed_in, "w") as archive:
        archive.write(path, "a0.ipynb")
        for name in ("otter.py", "minispec.py", "json.py", "tests/a0-q1.py", "sub/x.py"):
            archive.writestr(name, f"open({str(mark)!r}, 'w')\n")
        archive.writestr(".OTTER_LOG", b"cos\nmkdir\n(S'" + str(mark).encode() + b"'\ntR.")
    assert sum(otter_points(packed, handed_in).values()) == 0
    assert not mark.exists()


@needs("otter")
@pytest.mark.slow
def test_the_wheel_installs(tmp_path: Path) -> None:
    """What otter's image installs before it grades: our source, importable, and what it asks for."""
    build_assignment(assignment_of("a0"), tmp_path, ("otter",), OWN)
    (wheel,) = (tmp_path / "a0" / "otter").glob("*.whl")
    call(
        "python",
        "-m",
        "pip",
        "install",
        "-q",
        "--no-deps",
        "--no-index",
        "--target",
        tmp_path / "lib",
        wheel,
        cwd=tmp_path,
    )
    code = "from importlib.metadata import requires; import minispec.course.grading.platforms as ours\n"
    code += "print(ours.__file__, requires('minispec-decoding'))"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "lib")}
    told = subprocess.check_output([sys.executable, "-c", code], env=environment, cwd=tmp_path, text=True)
    assert told.startswith(str(tmp_path / "lib"))
    assert "numpy" in told
    assert "hypothesis" in told


# ── Gradescope ──────────────────────────────────────────────────────────────────────────────────────────────────────

SHOWN = {"hidden", "after_due_date", "after_published", "visible"}
FORMS = {"text", "html", "simple_format", "md", "ansi"}
ALLOWED = {
    "score", "execution_time", "output", "output_format", "test_output_format", "test_name_format", "visibility",
    "stdout_visibility", "extra_data", "tests", "leaderboard",
}  # fmt: skip
ALLOWED_OF_A_TEST = {
    "score", "max_score", "status", "name", "name_format", "number", "output", "output_format", "tags", "visibility",
    "extra_data",
}  # fmt: skip


def faults(told: object, total: float) -> list[str]:
    """What Gradescope's documentation of results.json forbids, in words; its fields are written out above."""
    if not isinstance(told, dict):
        return ["results.json is no object"]
    tests = told.get("tests", [])
    rules = {
        "unknown fields": set(told) <= ALLOWED,
        "a score, or tests with scores": "score" in told or any("score" in test for test in tests),
        "visibility": {told.get("visibility", "visible"), told.get("stdout_visibility", "hidden")} <= SHOWN,
        "formats": {told.get("output_format", "text"), *(t.get("output_format", "text") for t in tests)} <= FORMS,
        "output is text": isinstance(told.get("output", ""), str)
        and all(isinstance(t.get("output", ""), str) for t in tests),
        "fields of a test": all(set(test) <= ALLOWED_OF_A_TEST for test in tests),
        "status": all(test.get("status", "passed") in ("passed", "failed") for test in tests),
        "numbers": all(
            isinstance(test[key], (int, float))
            and not isinstance(test[key], bool)
            and 0 <= test[key] <= test["max_score"]
            for test in tests
            for key in ("score", "max_score")
        ),
        "numbering is text": all(isinstance(test.get("number", ""), str) for test in tests),
        "tags": all(isinstance(tag, str) for test in tests for tag in test.get("tags", [])),
        "total": not tests or sum(test["max_score"] for test in tests) == total,
        "leaderboard": all(
            set(one) <= {"name", "value", "order"} and one.get("order", "desc") in ("asc", "desc")
            for one in told.get("leaderboard", [])
        ),
    }
    return [rule for rule, holds in rules.items() if not holds]


def test_faults_are_found() -> None:
    """The control."""
    assert faults({"tests": [{"score": 1, "max_score": 2, "status": "passed", "name": "x"}]}, 2) == []
    assert faults({"tests": [{"score": 3, "max_score": 2}], "seconds": 1}, 3) == ["unknown fields", "numbers", "total"]
    assert faults({}, 0) == ["a score, or tests with scores"]
    assert faults([], 0) == ["results.json is no object"]


@pytest.fixture
def image(tmp_path: Path):
    """Run a command in a root of its own, where what it writes is lost: the machine's files below, ours on top."""
    mount = f"""set -e
mount -t tmpfs none {tmp_path}/top
mkdir {tmp_path}/top/new {tmp_path}/top/work {tmp_path}/top/root
mount -t overlay overlay -o lowerdir=/,upperdir={tmp_path}/top/new,workdir={tmp_path}/top/work {tmp_path}/top/root
mkdir -p {tmp_path}/top/root/autograder
mount --bind {tmp_path}/autograder {tmp_path}/top/root/autograder
for one in proc dev sys; do mount --rbind /$one {tmp_path}/top/root/$one; done
exec chroot {tmp_path}/top/root /bin/bash -c "$1"
"""
    for name in ("top", "autograder/source", "autograder/submission", "autograder/results"):
        (tmp_path / name).mkdir(parents=True)

    def run(command: str) -> subprocess.CompletedProcess[str]:
        told = ["unshare", "--mount", "bash", "-c", mount, "bash", command]
        # As in the image: nothing of this session, but the way to the package index.
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        kept |= {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
        return subprocess.run(told, env=kept, capture_output=True, text=True, timeout=LIMIT_S, check=False)

    if shutil.which("unshare") is None or os.geteuid() != 0 or run("test -d /autograder/source").returncode != 0:
        pytest.skip("a root of its own cannot be made here (needs root, unshare and overlayfs)")
    return run


@pytest.mark.parametrize("name", [*COURSE[:-1], pytest.param("a6", marks=pytest.mark.slow)])
def test_gradescopes_scripts_in_its_folders(name: str, image, tmp_path: Path) -> None:
    """setup.sh and run_autograder as they are, at the places where the image has them."""
    home = tmp_path / "autograder"
    assignment = assignment_of(name)
    build_assignment(assignment, tmp_path / "built", ("gradescope",), OWN)
    zipfile.ZipFile(tmp_path / "built" / name / f"{name}-gradescope.zip").extractall(home / "source")
    for script in ("run_autograder", "setup.sh"):
        shutil.copy(home / "source" / script, home / script)
        (home / script).chmod(0o755)
    probe = image("python3 -m pip download -q --no-deps -d /tmp/probe click")
    if probe.returncode != 0:
        pytest.skip("no package index can be reached")
    work = submissions(assignment) | {"nothing": ""}
    script = "/autograder/setup.sh || exit 9\n"
    for who, code in work.items():
        write(home / "hand_ins" / who / f"{name}.py", code)
        script += (
            f"rm -rf /autograder/submission/* && cp /autograder/hand_ins/{who}/* /autograder/submission/\n"
            f"/autograder/run_autograder; cp /autograder/results/results.json /autograder/hand_ins/{who}.json\n"
        )
    done = image(script)
    assert done.returncode == 0, f"{done.stdout[-3000:]}{done.stderr[-3000:]}"
    paths = [home / "hand_ins" / who / f"{name}.py" for who in work]
    reports = expected(paths, assignment, home / "source" / "assignments")
    for who, report in zip(work, reports, strict=True):
        told = json.loads((home / "hand_ins" / f"{who}.json").read_text(encoding="utf-8"))
        assert faults(told, assignment.points) == [], who
        assert [test["score"] for test in told["tests"]] == [check.points for check in report.checks], who
        assert OWN.decode() not in json.dumps(told)
    assert reports[0].score == assignment.points
    assert reports[-1].score == 0


def test_the_public_secret_is_not_what_these_tests_use() -> None:
    assert OWN != DEFAULT_SECRET


@pytest.mark.slow
@needs("text2qti")
def test_the_questions_become_qti(tmp_path):
    written = write_quiz(ROOT / "lessons", tmp_path)[1]
    command = Path(sys.executable).with_name("text2qti")
    subprocess.run([command, written.name], cwd=tmp_path, check=True, timeout=LIMIT_S)
    with zipfile.ZipFile(tmp_path / "quiz-canvas.zip") as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".xml") and "meta" not in name and "/" in name)
        items = ElementTree.fromstring(archive.read(name)).findall(".//{*}item")
    assert len(items) == len(read_quiz(ROOT / "lessons"))
    assert all(item.find(".//{*}setvar") is not None for item in items)  # each has an answer that gets points
