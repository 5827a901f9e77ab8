"""Grades one submission: a worker per question, verdicts here."""

from __future__ import annotations

import hmac
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from minispec.grading import jail
from minispec.grading.check import Case, Check
from minispec.grading.diagnose import Reference, diagnose, smallest_example
from minispec.grading.intake import Submission, SubmissionError, read_submission
from minispec.grading.manifest import Assignment, CheckInfo, Question
from minispec.grading.observe import FATAL, Failed, Observation, difference, observe_all
from minispec.grading.oracle import Oracle
from minispec.grading.recorded import reference_for
from minispec.grading.report import CheckResult, QuestionResult, Report
from minispec.grading.subject import StudentError, Subject
from minispec.grading.worker import Limits, Worker

_MAX_TIMEOUTS = 3
"""Per submission: a loop without end in every check must not take minutes."""
DEFAULT_SECRET = b"minispec"


@dataclass
class Grader:
    """Grades submissions to one assignment.

    Parameters
    ----------
    assignment : Assignment
    secret : bytes
        With the submission's content, it decides the hidden cases.
    layers : sequence of str
        Layers of isolation to try.
    examples : bool
        Whether to search for the smallest failing example, which takes most of the time of a wrong submission.
    """

    assignment: Assignment
    secret: bytes = DEFAULT_SECRET
    layers: Sequence[str] = jail.LAYERS
    examples: bool = True
    reference: Reference = field(init=False)

    def __post_init__(self) -> None:
        self.reference = reference_for(self.assignment)

    def grade(self, path: Path) -> Report:
        """Grade what is at ``path``.

        Raises
        ------
        InputError
            If there is nothing there, or the assignment itself is broken. A broken submission is no error: its
            report says what is wrong.
        """
        start = time.monotonic()
        try:
            submission = read_submission(path, self.assignment.entry)
        except SubmissionError as error:
            submission = Submission(path.name, notes=[f"cannot be graded: {error}"])
        run = _Run(self, submission)
        questions = run.questions()
        return Report(
            assignment=self.assignment.id,
            title=self.assignment.title,
            version=self.assignment.version,
            submission=submission.name,
            digest=submission.digest,
            questions=questions,
            isolation=run.isolation,
            notes=[*submission.notes, *self._about_hidden()],
            leaderboard=run.leaderboard,
            seconds=time.monotonic() - start,
        )

    def _about_hidden(self) -> list[str]:
        count = self.assignment.num_left_out
        return [f"these are the public checks; {count} more are run on what is handed in"] if count else []


@dataclass
class _Seen:
    """What a submission gave in one check.

    Attributes
    ----------
    fixed : list of Observation
        On the fixed cases.
    wrong : tuple or None
        The first wrong case, what it gave there, and the difference in words.
    fatal : bool
        Whether the worker is of no more use: it may still be busy with a case that nobody waits for.
    """

    fixed: list[Observation]
    wrong: tuple[Case, Observation, str] | None
    fatal: bool = False


class _Run:
    """One submission on its way through the questions."""

    def __init__(self, grader: Grader, submission: Submission) -> None:
        self._grader = grader
        self._assignment = grader.assignment
        self._reference = grader.reference
        self._submission = submission
        self._timeouts = 0
        self.isolation: dict[str, bool] = {}
        self.leaderboard: dict[str, float] = {}

    def questions(self) -> list[QuestionResult]:
        results: list[QuestionResult] = []
        for question in self._assignment.questions:
            result = self._question(question, {})
            failed = {done.id for done in results if any(check.status != "passed" for check in done.checks)}
            solution = self._reference.solution
            if solution is not None and failed & set(question.depends_on) and question.given and _lost(result):
                ours = {name: Oracle(getattr(solution, name)) for name in question.given}
                again = self._question(question, ours)
                if _lost(again) < _lost(result):
                    result = QuestionResult(again.id, again.title, again.checks, with_ours=list(question.given))
            results.append(result)
        return results

    def _question(self, question: Question, ours: dict[str, Oracle]) -> QuestionResult:
        seen: dict[str, _Seen] = {}
        for info in question.checks:
            seen[info.id] = _Seen([], None)
        problem = self._observe_question(question, ours, seen)
        checks = [self._judge(question, info, seen, problem, ours) for info in question.checks]
        return QuestionResult(question.id, question.title, checks)

    # ── observing ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _worker(self, question: Question) -> Worker:
        limits = Limits(question.timeout_s, question.memory_mb, tuple(self._grader.layers))
        names = [name.removesuffix(".py") for name in ("adapters.py", self._assignment.entry)]
        modules = [name for name in names if f"{name}.py" in self._submission.files]
        modules.sort(key=lambda name: name == "adapters")  # loaded last: it imports the other
        return Worker(self._submission.files, modules, self._assignment.packages, limits)

    def _observe_question(self, question: Question, ours: dict[str, Oracle], seen: dict[str, _Seen]) -> Failed | None:
        """Fill ``seen``; return what kept the submission from being run at all."""
        if not self._submission.files:
            return Failed("died", "", "nothing could be graded")
        left = [self._assignment.checks[info.id] for info in question.checks]
        while left and self._timeouts < _MAX_TIMEOUTS:
            worker = self._worker(question)
            try:
                with worker as subject:
                    if ours:
                        subject.replace(ours)
                    while left:
                        check = left.pop(0)
                        seen[check.id] = self._observe_check(check, subject)
                        if seen[check.id].fatal:
                            break
            except StudentError as error:
                self._timeouts += error.kind == "time"
                return Failed(error.kind, error.type_name, error.message, error.where)
            finally:
                self.isolation = self.isolation or worker.layers
        return None

    def _observe_check(self, check: Check, subject: Subject) -> _Seen:
        last = fixed = observe_all(check, subject, check.cases)
        expected = self._reference.expected(check)
        wrong = _first_wrong(check, check.cases, fixed, expected)
        if wrong is None and check.hidden is not None and self._reference.solution is not None:
            cases = list(check.hidden(self._generator(check)))
            last = observe_all(check, subject, cases)
            wrong = _first_wrong(check, cases, last, self._reference.expected_on(check, cases))
        self._timeouts += any(isinstance(one, Failed) and one.kind == "time" for one in last)
        if wrong is None and check.leaderboard is not None:
            self.leaderboard.update(check.leaderboard(fixed[0]))
        return _Seen(fixed, wrong, bool(last) and isinstance(last[-1], Failed) and last[-1].kind in FATAL)

    def _generator(self, check: Check) -> np.random.Generator:
        """Hidden cases depend on a secret and on the content, so they stay the same when it is graded again."""
        message = f"{self._submission.digest} {check.id}".encode()
        return np.random.default_rng(list(hmac.digest(self._grader.secret, message, sha256)))

    # ── judging ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _judge(
        self, question: Question, info: CheckInfo, seen: dict[str, _Seen], problem: Failed | None, ours: dict[str, Any]
    ) -> CheckResult:
        result = CheckResult(info.id, info.title, 0.0, info.points, info.visibility, "failed")
        hidden = info.visibility == "hidden"
        here = seen[info.id]
        if problem is not None and not here.fixed:
            result.message = problem.words(hidden=False)  # of loading: no hidden input was there yet
            if problem.kind == "not implemented":
                result.status = "not implemented"
            return result
        if not here.fixed:
            result.status, result.message = "not run", "not run: too many checks before it ran out of time"
            return result
        if here.wrong is None:
            result.status, result.points = "passed", info.points
            return result
        case, observed, words = here.wrong
        if isinstance(observed, Failed):
            result.message = observed.words(hidden=hidden)
            if observed.kind == "not implemented":
                result.status = "not implemented"
            if observed.kind in (*FATAL, "not implemented", "missing"):
                return result
        else:
            result.message = "the result is not right" if hidden else words
        self._explain(question, info, seen, result, case, ours)
        return result

    def _explain(
        self,
        question: Question,
        info: CheckInfo,
        seen: dict[str, _Seen],
        result: CheckResult,
        case: Case,
        ours: dict[str, Any],
    ) -> None:
        """Name the mistake and give the smallest example."""
        check = self._assignment.checks[info.id]
        hidden = info.visibility == "hidden"
        found = diagnose(self._reference, {name: one.fixed for name, one in seen.items() if one.fixed}, check)
        if found is not None:
            result.mistake, result.explanation = found.mistake.name, found.words
        smallest = self._search(question, check, ours)
        if smallest is not None:
            case, observed, words = smallest
            result.example = f"Smallest failing example: {check.show(case)}"
            if not hidden:
                result.message = words
            elif isinstance(observed, Failed):
                result.message = observed.words(hidden=True)
        elif not hidden:
            result.example = f"Example: {check.show(case)}"

    def _search(self, question: Question, check: Check, ours: dict[str, Any]) -> tuple[Case, Observation, str] | None:
        if not self._grader.examples:
            return None
        try:
            with self._worker(question) as subject:
                if ours:
                    subject.replace(ours)
                found = smallest_example(self._reference, check, subject)
        except StudentError:
            return None
        if found is None:
            return None
        case, observed = found
        return case, observed, difference(check, observed, self._reference.expected_on(check, [case])[0]) or ""


def _first_wrong(
    check: Check, cases: Sequence[Case], seen: Sequence[Observation], expected: Sequence[Observation]
) -> tuple[Case, Observation, str] | None:
    """Return the first case that is wrong. Cases that were not reached come after a failure, so none is missed."""
    for case, observed, right in zip(cases, seen, expected, strict=False):
        words = difference(check, observed, right)
        if words is not None:
            return case, observed, words
    if len(seen) < len(cases):
        raise AssertionError("cases are left out only after a failure")
    return None


def _lost(result: QuestionResult) -> float:
    return sum(check.max_points - check.points for check in result.checks)
