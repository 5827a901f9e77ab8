"""Makes what is handed out and what grades elsewhere, all from one source."""

from __future__ import annotations

import contextlib
import functools
import json
import zipfile
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import requires, version
from pathlib import Path

from minispec.course.grading.manifest import CATALOGUES, RECORDED, SECRET, Assignment, load_checks, without_regions
from minispec.course.grading.notebooks import nbgrader_notebook, otter_notebook
from minispec.course.grading.recorded import record
from minispec.engine.files import hold_folder
from minispec.errors import OutputError

Files = dict[str, str | bytes]
TARGETS = ("student", "grader", "gradescope", "nbgrader", "otter")
GRADE_EXTRA = "hypothesis>=6.100"
"""What the extra ``grade`` installs."""
_DISTRIBUTION = "minispec-decoding"
_EPOCH = (1980, 1, 1, 0, 0, 0)  # what a zip says of a file without a date: equal builds are equal files
_HANDED_OUT = ("HANDOUT.md", "adapters.py")
_RUN = """#!/usr/bin/env bash
# Grades one submission. The first results are what stays if the grader itself breaks down.
root="${{AUTOGRADER:-/autograder}}"
cat > "$root/results/results.json" <<'END'
{failed}
END
# The submission runs under another user id, which must not read the solution, the secret or the results.
chmod 700 "$root/source" "$root/results"
export PYTHONPATH="$root/source:/opt/minispec-packages"
exec "${{PYTHON:-$root/source/venv/bin/python}}" -P -m minispec grade "$root/submission" --assignment {id} \\
    --assignments "$root/source/assignments" --format gradescope{times} \\
    --output "$root/results/results.json"
"""
_SETUP = """#!/usr/bin/env bash
# Prepares the machine: Python 3.11 or newer, our requirements out of the submission's reach, its packages within it.
set -euo pipefail
root="${{AUTOGRADER:-/autograder}}"
python=""
find_python() {{
    for v in 3.13 3.12 3.11; do "python$v" -c "import venv" 2>/dev/null && echo "python$v" && return; done
    return 1
}}
if ! python=$(find_python); then
    apt-get update
    apt-get install -y python3.11 python3.11-venv
    python=$(find_python)
fi
"$python" -m venv "$root/source/venv" || {{ apt-get update; apt-get install -y "$python-venv"; \\
    "$python" -m venv "$root/source/venv"; }}
"$root/source/venv/bin/python" -m pip install --quiet -r "$root/source/requirements.txt"
"$root/source/venv/bin/python" -m pip install --quiet --target /opt/minispec-packages {packages}
chmod -R a+rX /opt/minispec-packages
"""
_NBGRADER_CONFIG = """\
# Copied beside source/ and grader/. Where you have a configuration already, add these lines to it.
# Nothing a student writes runs in a kernel: points come from minispec's grader, with the secret in grader/.
from pathlib import Path

from minispec.course.grading.platforms import use_with_nbgrader

c = get_config()
use_with_nbgrader(c, Path(__file__).resolve().parent / "grader")
"""
_README = """# {title}

`HANDOUT.md` says what to do; write your answers in `{entry}`. For a first look NumPy and pytest are enough:

    python -m pytest

With minispec installed, the public checks say what is wrong:

    minispec grade {entry} --assignment {id} --assignments checks

{hidden}, so full points here need not be full points there.
Hand in `{entry}`, and any Python files beside it that it imports. Besides Python's standard library only {packages} is
installed there. Functions must leave their arguments as they were.
{due}"""


def build_assignment(assignment: Assignment, output: Path, targets: Sequence[str], secret: bytes) -> list[Path]:
    """Write the forms asked for below ``output/<assignment>``.

    Parameters
    ----------
    assignment : Assignment
    output : Path
    targets : sequence of str
        Of :data:`TARGETS`.
    secret : bytes
        What the hidden cases are drawn from. It lies in every form that grades, and in none that is handed out.

    Returns
    -------
    list of Path
        What was written: a folder or a zip each.

    Raises
    ------
    OutputError
        If it cannot be written.
    """
    folder = output / assignment.id
    handed_out = functools.cache(
        lambda: student_files(assignment)
    )  # every known mistake is run for it: a minute or two
    makers: dict[str, Callable[[], Path]] = {
        "student": lambda: _student(assignment, folder, handed_out()),
        "grader": lambda: _grader(assignment, folder, secret),
        "gradescope": lambda: _gradescope(assignment, folder, secret),
        "nbgrader": lambda: _nbgrader(assignment, folder, secret, handed_out()),
        "otter": lambda: _otter(assignment, folder, secret, handed_out()),
    }
    try:
        with _leave_nothing_empty(folder), hold_folder(folder):
            if {"student", "nbgrader", "otter"} & set(targets):
                handed_out()  # before anything is written: here a solution that fails its own check is noticed
            return [makers[target]() for target in targets]
    except OSError as error:
        raise OutputError(f"{folder} cannot be written: {error.strerror}. Name another folder") from None


@contextlib.contextmanager
def _leave_nothing_empty(folder: Path) -> Iterator[None]:
    """Remove, after an error, the folders that were made and have nothing in them."""
    made = [place for place in (folder, *folder.parents) if not place.exists()]
    try:
        yield
    except BaseException:
        for place in made:
            with contextlib.suppress(OSError):
                place.rmdir()
        raise


def student_files(assignment: Assignment) -> Files:
    """Return the student's bundle: handout, starter, public checks and what they expect; no line of the solution."""
    path = assignment.folder / "checks.py"
    checks = "\n".join(without_regions(path.read_text(encoding="utf-8"), "HIDDEN TESTS", None)) + "\n"
    load_checks(checks, f"{path} without its hidden regions")  # as students will
    infos = [info for question in assignment.questions for info in question.checks]
    hidden = sum(info.visibility == "hidden" for info in infos)
    home = f"checks/{assignment.id}"
    files: Files = {
        "README.md": _README.format(
            title=assignment.title,
            entry=assignment.entry,
            id=assignment.id,
            hidden=_tell_hidden(hidden),
            packages=", ".join(assignment.packages),
            due=f"\nIt is {assignment.due.words}.\n" if assignment.due else "",
        ),
        assignment.entry: assignment.starter,
        f"{home}/assignment.toml": "\n".join(_public_manifest(assignment)) + "\n",
        f"{home}/checks.py": checks,
        f"{home}/{RECORDED}": record(assignment),
    }
    for data in sorted(assignment.folder.glob("*.json")):  # what the public checks read; hidden data lie in a folder
        files[f"{home}/{data.name}"] = data.read_text(encoding="utf-8")
    for name in (*_HANDED_OUT, f"test_{assignment.module}.py"):
        if (assignment.folder / name).is_file():
            files[name] = (assignment.folder / name).read_text(encoding="utf-8")
    return files


def _tell_hidden(count: int) -> str:
    if count == 0:
        return "What you hand in has to pass the same checks on further cases"
    return f"What you hand in has {count} hidden check{'s' * (count > 1)} to pass besides"


def _public_manifest(assignment: Assignment) -> Iterator[str]:
    """Write the manifest with the public checks only. JSON strings are TOML strings."""
    infos = [info for question in assignment.questions for info in question.checks]
    public = [info for info in infos if info.visibility == "public"]
    for name in ("id", "title", "version", "entry"):
        yield f"{name} = {json.dumps(getattr(assignment, name))}"
    yield f"points = {sum(info.points for info in public)}"
    yield f"num_left_out = {len(infos) - len(public)}"
    yield f"packages = {json.dumps(list(assignment.packages))}"
    for question in assignment.questions:
        if not any(info in public for info in question.checks):
            continue
        yield "\n[[questions]]"
        yield f"id = {json.dumps(question.id)}"
        yield f"title = {json.dumps(question.title, ensure_ascii=False)}"
        yield f"timeout_s = {question.timeout_s}"
        yield f"memory_mb = {question.memory_mb}"
        for info in question.checks:
            if info in public:
                yield "[[questions.checks]]"
                yield f"id = {json.dumps(info.id)}"
                yield f"title = {json.dumps(info.title, ensure_ascii=False)}"
                yield f"points = {info.points}"
                yield f"visibility = {json.dumps(info.visibility)}"


def _student(assignment: Assignment, folder: Path, handed_out: Files) -> Path:
    """Write the student's zip; all is in a folder of its own, so that unpacking strews nothing about."""
    files = {f"{assignment.id}/{name}": text for name, text in handed_out.items()}
    return _write_zip(folder / f"{assignment.id}-student.zip", files)


def _grader(assignment: Assignment, folder: Path, secret: bytes) -> Path:
    """Write what ``minispec grade`` and ``class`` take with ``--assignments``."""
    return _write_folder(folder / "grader", _grader_files(assignment, secret, "."))


def _gradescope(assignment: Assignment, folder: Path, secret: bytes) -> Path:
    """Write the autograder zip: the grader's source, this assignment, and the two scripts Gradescope calls."""
    failed = {
        "score": 0,
        "output": "The grader itself broke down. This is not your fault; tell your instructor.",
        "output_format": "text",
    }
    files: Files = {
        "run_autograder": _RUN.format(
            id=assignment.id,
            failed=json.dumps(failed),
            times=' --times "$root/submission_metadata.json"' if assignment.due else "",
        ),
        "setup.sh": _SETUP.format(packages=" ".join(assignment.packages)),
        "requirements.txt": "\n".join(_requirements()) + "\n",
        **_package_files(),
        **_grader_files(assignment, secret, "assignments"),
    }
    return _write_zip(folder / f"{assignment.id}-gradescope.zip", files, executable=("run_autograder", "setup.sh"))


def _package_files() -> Files:
    """Return our own source."""
    package = Path(__file__).resolve().parents[2]
    paths = sorted(package.rglob("*.py"))
    return {f"minispec/{path.relative_to(package).as_posix()}": path.read_text(encoding="utf-8") for path in paths}


def _grader_files(assignment: Assignment, secret: bytes, home: str) -> Files:
    """Return all that grading needs of an assignment, below the folder ``home``."""
    files: Files = {f"{home}/{assignment.id}/{SECRET}": secret}
    for path in sorted(assignment.folder.rglob("*")):
        if path.suffix in (".py", ".toml", ".json") and path.name != CATALOGUES["held_out"]:
            name = f"{home}/{assignment.id}/{path.relative_to(assignment.folder).as_posix()}"
            files[name] = path.read_text(encoding="utf-8")
    return files


def _requirements() -> Iterator[str]:
    for line in requires(_DISTRIBUTION) or []:
        requirement, _, condition = line.partition(";")
        if not condition:
            yield requirement.strip()
    yield GRADE_EXTRA


def _nbgrader(assignment: Assignment, folder: Path, secret: bytes, handed_out: Files) -> Path:
    """Write what goes into a course folder: the source notebook, public checks, the grader's folder, the setting."""
    source = f"source/{assignment.id}"
    files: Files = {
        "nbgrader_config.py": _NBGRADER_CONFIG,
        f"{source}/{assignment.id}.ipynb": nbgrader_notebook(assignment),
        **{f"{source}/{name}": text for name, text in _public_checks(handed_out).items()},
        **_grader_files(assignment, secret, "grader"),
    }
    return _write_folder(folder / "nbgrader", files)


def _otter(assignment: Assignment, folder: Path, secret: bytes, handed_out: Files) -> Path:
    """Write what ``otter assign`` needs: the notebook, public checks, and for the autograder the grader and a wheel."""
    public, grader, wheel = _public_checks(handed_out), _grader_files(assignment, secret, "grader"), _wheel_name()
    given = f"/autograder/source/files/{wheel}"  # where otter's image finds what goes along
    files: Files = {
        f"{assignment.id}.ipynb": otter_notebook(assignment, "requirements.txt", ["grader", wheel], ["checks"]),
        "requirements.txt": f"{given}\n{GRADE_EXTRA}\nipykernel\n",
        **public,
        **grader,
    }
    home = _write_folder(folder / "otter", files)
    _write_zip(home / wheel, _wheel_files())
    return home


def _public_checks(handed_out: Files) -> Files:
    return {name: text for name, text in handed_out.items() if name.startswith("checks/")}


def _wheel_name() -> str:
    return f"{_DISTRIBUTION.replace('-', '_')}-{version(_DISTRIBUTION)}-py3-none-any.whl"


def _wheel_files() -> Files:
    """Return our own source as a wheel's files: otter installs packages, and nothing else, before it grades."""
    home = _wheel_name().removesuffix("-py3-none-any.whl") + ".dist-info"
    needs = "".join(f"Requires-Dist: {one}\n" for one in _requirements())
    files: Files = {
        **_package_files(),
        f"{home}/METADATA": f"Metadata-Version: 2.1\nName: {_DISTRIBUTION}\nVersion: {version(_DISTRIBUTION)}\n{needs}",
        f"{home}/WHEEL": "Wheel-Version: 1.0\nGenerator: minispec\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    return {**files, f"{home}/RECORD": "".join(f"{name},,\n" for name in [*files, f"{home}/RECORD"])}


def _write_folder(folder: Path, files: Files) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def _write_zip(path: Path, files: Files, executable: Sequence[str] = ()) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            info = zipfile.ZipInfo(name, _EPOCH)
            info.external_attr = (0o100755 if name in executable else 0o100644) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, text)
    return path
