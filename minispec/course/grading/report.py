"""What a grading came to. Equal for equal submissions, times left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args, get_origin, get_type_hints

from minispec.course.grading.deadline import Lateness
from minispec.errors import quote

Status = Literal["passed", "failed", "not implemented", "not run"]
Cause = Literal["", "wrong", "missing", "import", "no result", "clock"]
"""Why a check failed: its result, a function that is missing, loading the file, a call without a result; or that the
clock ended it, or left no time for it."""

BEST_EFFORT = {
    "namespaces": "files the grader's user may read can be read, and processes of that user be seen",
    "user": "the submission runs under the grader's user id: files and processes of that user are in reach",
    "landlock": "files outside the work folder can be read and written as the user id allows",
    "seccomp": "system calls are not filtered: network, programs and signals are open unless another layer bars them",
    "limits": "memory, files and threads are not all limited",
}
"""What a missing layer leaves open."""
_MOST = 10**15  # JSON has whole numbers that no float holds
UNGRADED = "nothing could be graded"
"""How a note begins that says why a submission has no points at all."""


@dataclass
class CheckResult:
    """One check.

    Parameters
    ----------
    id, title : str
    points, max_points : float
    visibility : str
    status : str
    message : str
        One line: what is wrong.
    cause : str
        Of :data:`Cause`; empty where it did not fail, was not run because others used up the submission's processor
        time, or counts only together with others.
    mistake : str
        The catalogue's name of the mistake it is; empty if none fits.
    explanation : str
        The mistake in words a student can act on.
    example : str
        The smallest failing example.
    """

    id: str
    title: str
    points: float
    max_points: float
    visibility: str
    status: Status
    message: str = ""
    cause: Cause = ""
    mistake: str = ""
    explanation: str = ""
    example: str = ""

    @property
    def text(self) -> str:
        """All that is said about it, a line each."""
        return "\n".join(filter(None, [self.explanation, self.message, self.example]))


@dataclass
class QuestionResult:
    """One question; ``with_ours`` names functions of ours it was graded with because an earlier question failed."""

    id: str
    title: str
    checks: list[CheckResult]
    with_ours: list[str] = field(default_factory=list)


@dataclass
class Report:
    """One submission.

    Parameters
    ----------
    assignment, title, version, submission, digest : str
    questions : list of QuestionResult
    isolation : dict of str to bool
        Layers in force; empty if no worker came up.
    notes : list of str
        About the submission as a whole.
    leaderboard : dict of str to float
    seconds : float
        Wall clock; the only entry that differs from run to run.
    late : Lateness or None
        None where the assignment has no due date, or nobody has said when this was handed in.
    """

    assignment: str
    title: str
    version: str
    submission: str
    digest: str
    questions: list[QuestionResult]
    isolation: dict[str, bool]
    notes: list[str]
    leaderboard: dict[str, float]
    seconds: float
    late: Lateness | None = None

    @property
    def checks(self) -> list[CheckResult]:
        """All checks in order."""
        return [check for question in self.questions for check in question.checks]

    @property
    def score(self) -> float:
        """Points gained."""
        return sum(check.points for check in self.checks)

    @property
    def mark(self) -> float:
        """Points gained, less what lateness costs."""
        return self.score - (self.late.deduction if self.late else 0.0)

    @property
    def obstacle(self) -> str:
        """What kept all of it from being graded; empty if nothing did."""
        return next((note for note in self.notes if note.startswith(UNGRADED)), "")

    @property
    def unrun(self) -> str:
        """How many checks there was no time for; empty if for none."""
        count = sum(check.status == "not run" and check.cause != "clock" for check in self.checks)
        return f"{count} of {len(self.checks)} checks were not run: the others took all the time" if count else ""

    @property
    def clocked(self) -> str:
        """What the clock, and no verdict, took: nobody knows what that is worth; empty if nothing."""
        count = sum(check.cause == "clock" for check in self.checks)
        return f"{count} of {len(self.checks)} checks were ended by the clock: grade this again" if count else ""

    @property
    def told(self) -> list[str]:
        """The notes for everyone, what the clock took first."""
        return [*filter(None, [self.clocked]), *self.notes]

    @property
    def remarks(self) -> list[str]:
        """The notes, and for instructors why there is no point, and what was not run: hidden checks count there too."""
        if self.obstacle:
            return self.told
        kept, seen = self._find_reasons()
        zero = f"no points: {'; '.join([*kept, *seen])}" if seen and not self.score else ""
        return [*self.told, *filter(None, [zero, self.unrun])]

    @property
    def max_score(self) -> float:
        """Points there are."""
        return sum(check.max_points for check in self.checks)

    @property
    def best_effort(self) -> list[str]:
        """What the missing layers leave open; a root of our own makes Landlock unnecessary."""
        missing = [layer for layer, held in self.isolation.items() if not held]
        if self.isolation.get("namespaces"):
            missing = [layer for layer in missing if layer not in ("landlock", "user")]
        if self.isolation.get("landlock"):
            missing = [layer for layer in missing if layer != "namespaces"]
        return [f"no {layer}: {BEST_EFFORT[layer]}" for layer in missing]

    def to_dict(self, *, times: bool = True) -> dict[str, Any]:
        """Return everything as JSON values."""
        derived = {"score": self.score, "max_score": self.max_score, "mark": self.mark}
        told = {**derived, **asdict(self), "best_effort": self.best_effort}
        return told if times else {key: value for key, value in told.items() if key != "seconds"}

    def settle(self, needs: Mapping[str, Sequence[str]]) -> Report:
        """Take back points that count only with checks which were not passed; say what left nothing to grade."""
        right = {check.id for check in self.checks if check.status == "passed"}
        while True:
            alone = {name for name in right if not set(needs.get(name, ())) <= right}
            if not alone:
                break
            right -= alone
        for check in self.checks:
            if check.status == "passed" and check.id not in right:
                check.status, check.points = "failed", 0.0
                check.message = f"right, but it counts only together with {' and '.join(needs[check.id])}"
        kept, seen = self._find_reasons()
        if kept and not seen and not self.score and not self.obstacle:
            self.notes.append(f"{UNGRADED}: {'; '.join(kept)}")
        return self

    def _find_reasons(self) -> tuple[list[str], list[str]]:
        """Return what kept functions from being called, and in which ways those that were called failed."""
        count = Counter(check.cause for check in self.checks)
        missing = {check.message for check in self.checks if check.cause == "missing"}
        kept = list(dict.fromkeys(check.message for check in self.checks if check.cause == "import"))
        kept += [f"{len(missing)} functions are missing"] if len(missing) > 1 else [*missing]
        kept += ["not begun"] if any(check.status == "not implemented" for check in self.checks) else []
        of_all = f"of {len(self.checks)} checks"
        seen = [f"{count['wrong']} {of_all} gave a wrong result"] if count["wrong"] else []
        seen += [f"{count['no result']} {of_all} ended without a result"] if count["no result"] else []
        return kept, seen

    @classmethod
    def from_dict(cls, told: dict[str, Any]) -> Report:
        """Read what :meth:`to_dict` wrote.

        Raises
        ------
        ValueError
            If a field has a value of another kind. Wrong keys raise KeyError, TypeError or AttributeError.
        """
        questions = [
            QuestionResult(q["id"], q["title"], [CheckResult(**check) for check in q["checks"]], q["with_ours"])
            for q in told["questions"]
        ]
        late = None if told["late"] is None else Lateness(**told["late"])
        left_out = ("score", "max_score", "mark", "best_effort", "questions", "late")
        rest = {key: value for key, value in told.items() if key not in left_out}
        report = cls(**rest, questions=questions, late=late)
        for part in filter(None, (report, late, *questions, *report.checks)):
            _check_kinds(part)
        return report


def _check_kinds(part: object) -> None:
    """Refuse a field that is not what its class says."""
    for name, hint in get_type_hints(type(part)).items():
        value = getattr(part, name)
        if not _fits(value, hint):
            raise ValueError(f"{name} is {quote(value)}")


def _fits(value: object, hint: Any) -> bool:
    kind, inner = get_origin(hint), get_args(hint)
    if kind is Literal:
        return value in inner
    if kind is list:
        return isinstance(value, list) and all(_fits(each, inner[0]) for each in value)
    if kind is dict:
        return isinstance(value, dict) and all(_fits(each, inner[1]) for each in value.values())
    if hint is float:
        return type(value) is float or (type(value) is int and abs(value) <= _MOST)
    return isinstance(value, hint)
