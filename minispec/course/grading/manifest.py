"""Assignments as their authors write them: a folder with a manifest, one solution, checks and catalogues.

``solution.py`` is the one source: the starter is what remains when the regions between ``# BEGIN SOLUTION`` and
``# END SOLUTION`` are taken out. ``mistakes.py``, ``correct.py`` and the held-out submissions say what differs,
and nothing else (:mod:`minispec.course.grading.catalogue`).
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from minispec.course.grading.catalogue import Overlay, read_catalogue
from minispec.course.grading.check import Check
from minispec.course.grading.choices import Choices, read_choices
from minispec.course.grading.deadline import Deadline, read_deadline
from minispec.course.grading.host import load
from minispec.errors import InputError, explain, quote

RECORDED = "recorded.json"
"""In a student's bundle: what the solution gives, in its place."""
SECRET = "secret"
"""Beside an assignment that grades: the file whose bytes decide the hidden cases. It is never handed out."""
SHORTEST_SECRET = 16
"""Bytes that a secret needs where somebody chooses it."""
CATALOGUES = {"mutants": "mistakes.py", "correct": "correct.py", "held_out": "held_out.py"}
"""Modules of an assignment's folder, by what is in them; see :mod:`minispec.course.grading.catalogue`."""
HELD_OUT = Path("tests", "course", "grading", "held_out")
"""In the repository: the held-out submissions to its assignments, a module for each. No grader needs them."""
VISIBILITIES = ("public", "hidden")
SHOWN = ("visible", "hidden", "after_due_date", "after_published")
"""When Gradescope shows its students the hidden checks' verdicts, in its own words; the first is the default."""
STUB = 'raise NotImplementedError("write this")'
"""What stands in the starter where a region of the solution was."""
_DEFAULT_TIMEOUT_S, _DEFAULT_MEMORY_MB = 5.0, 512


@dataclass(frozen=True)
class CheckInfo:
    """A check's entry in the manifest.

    Parameters
    ----------
    id, title : str
    points : float
    visibility : str
    needs : tuple of str
        Checks without which it gives no points: what passes it alone could be a constant.
    """

    id: str
    title: str
    points: float
    visibility: str
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Question:
    """A question's entry in the manifest.

    Parameters
    ----------
    id, title : str
    checks : tuple of CheckInfo
    timeout_s : float
        CPU seconds for all its checks.
    memory_mb : int
    depends_on : tuple of str
        Questions; where one of them failed, this one is graded again with ``given`` in place.
    given : tuple of str
        Functions that are replaced by ours then.
    """

    id: str
    title: str
    checks: tuple[CheckInfo, ...]
    timeout_s: float
    memory_mb: int
    depends_on: tuple[str, ...]
    given: tuple[str, ...]


@dataclass(frozen=True)
class Assignment:
    """An assignment; see :func:`load_assignment`."""

    folder: Path
    id: str
    title: str
    version: str
    points: float
    entry: str
    packages: tuple[str, ...]
    questions: tuple[Question, ...]
    num_left_out: int = 0
    due: Deadline | None = None
    hidden_checks: str = SHOWN[0]
    points_by_hand: float = 0.0
    choices: Choices | None = None

    @property
    def is_bundle(self) -> bool:
        """Whether this is a student's copy: public checks only, and no solution."""
        return (self.folder / RECORDED).is_file()

    @property
    def secret(self) -> bytes | None:
        """What its hidden cases are drawn from; None where nobody has chosen it.

        Raises
        ------
        InputError
            If the file cannot be read, or is empty.
        """
        path = self.folder / SECRET
        return read_secret(path, 1) if path.is_file() else None  # what was built with a short one can still be regraded

    @property
    def module(self) -> str:
        """Name under which the student's module is loaded."""
        return self.entry.removesuffix(".py")

    @cached_property
    def solution(self) -> str:
        """Text of the reference solution.

        Raises
        ------
        InputError
            See :func:`read_code`.
        """
        return read_code(self.folder / "solution.py")

    @cached_property
    def checks(self) -> dict[str, Check]:
        """Checks by id, from ``checks.py``; exactly those of the manifest.

        Raises
        ------
        InputError
            If the two differ.
        """
        path = self.folder / "checks.py"
        listed = [info.id for question in self.questions for info in question.checks]
        found = {check.id: check for check in load_checks(_read(path), str(path))}
        if self.is_bundle:
            found = {name: check for name, check in found.items() if name in listed}
        if set(found) != set(listed):
            odd = sorted(set(found) ^ set(listed))
            raise InputError(f"{path} and the manifest differ in {', '.join(odd)}; each check stands in both")
        known = [name for name, check in found.items() if check.hidden is None]
        if known and not self.is_bundle:
            raise InputError(f"{path}: {', '.join(known)} would pass with a table of the answers; give it hidden=")
        return found

    def overlays(self, catalogue: str, path: Path | None = None) -> list[Overlay]:
        """Return the cells of ``mutants``, ``correct`` or ``held_out``, by name; none where there is no such module.

        Raises
        ------
        InputError
            If it cannot be read, or a cell is none; see :func:`read_catalogue`.
        """
        places = [path or self.folder / CATALOGUES[catalogue]]
        if path is None and catalogue == "held_out":
            places.append(self.folder / "../../.." / HELD_OUT / f"{self.id}.py")
        path = next((place for place in places if is_there(place, Path.is_file)), None)
        if path is None:
            return []
        text, solution = read_code(path), self.solution
        try:
            return read_catalogue(text, solution)
        except InputError as error:
            raise InputError(f"{path}: {error}") from None

    @property
    def needs(self) -> dict[str, tuple[str, ...]]:
        """For each check, those without which it gives no points."""
        return {info.id: info.needs for question in self.questions for info in question.checks}

    @property
    def starter(self) -> str:
        """Text of the starter."""
        return "\n".join(without_regions(self.solution, "SOLUTION", STUB)) + "\n"


def read_secret(path: Path, shortest: int = SHORTEST_SECRET) -> bytes:
    """Read a secret.

    Raises
    ------
    InputError
        If the file cannot be read, or is shorter than so many bytes.
    """
    try:
        secret = path.read_bytes()
    except OSError as error:
        raise InputError(f"the secret {path} cannot be read: {error.strerror}. Name another file") from None
    return check_secret(secret, str(path), shortest)


def check_secret(secret: bytes, place: str, shortest: int = SHORTEST_SECRET) -> bytes:
    """Return a secret; refuse what is soon guessed.

    Raises
    ------
    InputError
        If it is shorter than so many bytes.
    """
    if len(secret) < shortest:
        raise InputError(
            f"the secret {place} has {len(secret)} of at least {SHORTEST_SECRET} bytes, and would soon be guessed; "
            'try python -c "import secrets; print(secrets.token_hex(32))" > key'
        )
    return secret


def read_code(path: Path) -> str:
    """Read Python source.

    Raises
    ------
    InputError
        If it cannot be read, or is no Python.
    """
    text = _read(path)
    try:
        ast.parse(text)
    except (SyntaxError, ValueError) as error:  # a null byte is the latter
        raise InputError(f"{path} cannot be used: {type(error).__name__}: {explain(error)}. Mend it") from None
    return text


def load_checks(source: str, path: str) -> list[Check]:
    """Run the text of a ``checks.py``.

    Raises
    ------
    InputError
        If it cannot be run.
    """
    try:
        return list(load("assignment_checks", source, path).CHECKS)
    except Exception as error:
        raise InputError(f"{path} cannot be used: {type(error).__name__}: {explain(error)}. Mend it") from error


def without_regions(source: str, name: str, stub: str | None) -> Iterator[str]:
    """Yield the lines outside ``# BEGIN name`` and ``# END name``, with a stub where each region was.

    Raises
    ------
    InputError
        If regions are nested or not closed.
    """
    inside = False
    for number, line in enumerate(source.splitlines(), 1):
        marker = re.fullmatch(rf"(\s*)# (BEGIN|END) {re.escape(name)}\s*", line)
        if marker is None:
            if not inside:
                yield line
            continue
        if (marker[2] == "BEGIN") == inside:
            raise InputError(f"line {number}: '# {marker[2]} {name}' does not alternate; regions cannot be nested")
        inside = not inside
        if inside and stub is not None:
            yield marker[1] + stub
    if inside:
        raise InputError(f"the last '# BEGIN {name}' has no '# END {name}'")


def assignments_folder(given: Path | None) -> Path:
    """Return the folder of assignments: the one given, or ``lessons/assignments`` of the checkout or here.

    Raises
    ------
    InputError
        If there is none.
    """
    usual = Path("lessons", "assignments")  # from here where the package is installed: it holds none itself
    places = [given] if given else [Path(__file__).resolve().parents[3] / usual, usual]
    for folder in places:
        if is_there(folder, Path.is_dir):
            return folder
    raise InputError(
        f"there is no folder {places[-1]}; assignments come with the repository, not with the package. "
        "Work in a clone's folder, or say where they are with --assignments DIR"
    )


def is_there(path: Path, is_kind: Callable[[Path], bool]) -> bool:
    """Return whether something is there and a file, or a folder.

    Raises
    ------
    InputError
        If it is not ours to know, or no file system knows such names.
    """
    try:
        return is_kind(path)
    except OSError as error:
        raise InputError(f"{quote(str(path))} cannot be read: {error.strerror}. Name another") from None


def load_assignment(name: str, folder: Path | None = None) -> Assignment:
    """Read the manifest of assignment ``name``.

    Raises
    ------
    InputError
        If there is no such assignment, or its manifest breaks a rule.
    """
    root = assignments_folder(folder)
    path = root / name / "assignment.toml"
    if not re.fullmatch(r"\w+", name) or not is_there(path, Path.is_file):
        known = ", ".join(sorted(found.parent.name for found in root.glob("*/assignment.toml"))) or "none"
        raise InputError(f"there is no assignment {quote(name)} in {root}; there is: {known}")
    try:
        told = tomllib.loads(_read(path))
        questions = tuple(_question(entry) for entry in told["questions"])
        assignment = Assignment(
            folder=path.parent,
            id=str(told["id"]),
            title=str(told["title"]),
            version=str(told["version"]),
            points=told["points"],
            entry=told["entry"],
            packages=tuple(told["packages"]),
            questions=questions,
            num_left_out=told.get("num_left_out", 0),
            due=read_deadline(told["due"]) if "due" in told else None,
            hidden_checks=told.get("hidden_checks", SHOWN[0]),
            points_by_hand=float(told.get("points_by_hand", 0.0)),
            choices=read_choices(told["variants"]) if "variants" in told else None,
        )
        _check_manifest(assignment)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    except (KeyError, TypeError, AttributeError, ValueError) as error:  # no TOML, or an entry of another type
        raise InputError(f"{path} cannot be used: {type(error).__name__} {explain(error)}") from None
    return assignment


def _question(entry: dict[str, Any]) -> Question:
    return Question(
        id=entry["id"],
        title=str(entry["title"]),
        checks=tuple(
            CheckInfo(c["id"], str(c["title"]), c["points"], c["visibility"], tuple(c.get("needs", ())))
            for c in entry["checks"]
        ),
        timeout_s=float(entry.get("timeout_s", _DEFAULT_TIMEOUT_S)),
        memory_mb=int(entry.get("memory_mb", _DEFAULT_MEMORY_MB)),
        depends_on=tuple(entry.get("depends_on", ())),
        given=tuple(entry.get("given", ())),
    )


def _check_manifest(assignment: Assignment) -> None:
    """Hold the manifest to its rules."""
    checks = [info for question in assignment.questions for info in question.checks]
    ids, seen = [info.id for info in checks], set[str]()
    rules = {
        f"points is {assignment.points}, the checks' sum is {sum(info.points for info in checks)}": sum(
            info.points for info in checks
        )
        == assignment.points,
        "every check has points > 0": all(info.points > 0 for info in checks),
        "ids are unique": len(set(ids)) == len(ids),
        "needs names other checks": all(set(info.needs) <= set(ids) - {info.id} for info in checks),
        f"visibility is one of {', '.join(VISIBILITIES)}": all(info.visibility in VISIBILITIES for info in checks),
        "points_by_hand is not negative": assignment.points_by_hand >= 0,
        f"hidden_checks is one of {', '.join(SHOWN)}": assignment.hidden_checks in SHOWN,
        "a check's id is its question's, a dot and a name": all(
            re.fullmatch(re.escape(question.id) + r"\.\w+", info.id)
            for question in assignment.questions
            for info in question.checks
        ),
        "entry is the name of a Python file": re.fullmatch(r"[A-Za-z_]\w*\.py", assignment.entry) is not None,
    }
    for question in assignment.questions:
        rules[f"{question.id} depends on earlier questions only"] = set(question.depends_on) <= seen
        seen.add(question.id)
    for rule, holds in rules.items():
        if not holds:
            raise InputError(f"rule broken: {rule}")


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {explain(error)}") from None
