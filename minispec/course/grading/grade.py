"""Grades one submission: workers run it, verdicts are formed here.

This runs in a process of its own (:mod:`minispec.course.grading.grader_process`), which its supervisor ends where it
takes too much.
"""

from __future__ import annotations

import hmac
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

import numpy as np

from minispec.course.grading import jail
from minispec.course.grading.check import Case, Check
from minispec.course.grading.diagnose import Anew, Reference, diagnose, run_anew, smallest_example
from minispec.course.grading.intake import Submission, SubmissionError, name_of, read_submission
from minispec.course.grading.manifest import Assignment, CheckInfo, Question
from minispec.course.grading.observe import FATAL, Failed, Observation, difference, observe_all
from minispec.course.grading.oracle import Oracle
from minispec.course.grading.recorded import reference_for
from minispec.course.grading.report import UNGRADED, CheckResult, QuestionResult, Report
from minispec.course.grading.subject import StudentError, Subject
from minispec.course.grading.worker import Limits, Worker

_MAX_TIMEOUTS = 3
"""Per question, and questions with one per submission: a loop without end in every check must not take minutes."""
DEFAULT_SECRET = b"minispec"
Emit = Callable[[Report], None]
_Found = TypeVar("_Found")


def _keep_still(_: Report) -> None:
    """Tell nobody about unfinished reports."""


@dataclass
class Grader:
    """Grades submissions to one assignment.

    Parameters
    ----------
    assignment : Assignment
    secret : bytes
        With the submission's content, it decides the hidden cases.
    layers : sequence of str
        Layers of isolation to try; what is left out is left out by name.
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

    def grade(
        self, path: Path, *, earlier: Report | None = None, emit: Emit = _keep_still, seconds: float = math.inf
    ) -> Report:
        """Grade what is at ``path``.

        Parameters
        ----------
        path : Path
        earlier : Report, optional
            An unfinished report of the same submission: its questions are not asked again.
        emit : callable
            Given the unfinished report after each step. Its points are not settled yet.
        seconds : float
            Wall clock: what is not done by then is not done.

        Raises
        ------
        InputError
            If there is nothing there, the assignment itself is broken, or the isolation is not safe here. A broken
            submission is no error: its report says what is wrong.
        """
        start = time.monotonic()
        try:
            submission = read_submission(path, self.assignment.entry)
        except SubmissionError as error:
            submission = Submission(name_of(path), notes=[f"{UNGRADED}: {error}"])
        run = _Run(self, submission, start, start + seconds, emit)
        if earlier is not None:
            run.resume(earlier)
        run.judge()
        run.explain()
        return run.report().settle(self.assignment.needs)


@dataclass
class _Seen:
    """What a submission gave in one check.

    Attributes
    ----------
    fixed : list of Observation
        On the fixed cases.
    complete : bool
        Whether the hidden cases were run too, where there are any.
    wrong : tuple or None
        The first wrong case, what it gave there, and the difference in words.
    told : bool
        Whether the report may tell of the wrong case.
    """

    fixed: list[Observation] = field(default_factory=list)
    complete: bool = False
    wrong: tuple[Case, Observation, str] | None = None
    told: bool = True


@dataclass
class _Judged:
    """A question's verdicts, and what they were formed from."""

    question: Question
    seen: dict[str, _Seen]
    ours: dict[str, Oracle]


class _Run:
    """One submission on its way through the questions: first all points, then all explanations."""

    def __init__(self, grader: Grader, submission: Submission, start: float, until: float, emit: Emit) -> None:
        self._grader = grader
        self._assignment = grader.assignment
        self._reference = grader.reference
        self._submission = submission
        self._start, self._until = start, until
        self._emit = emit
        self._timeouts = 0  # of the question that is graded
        self._slow: set[str] = set()  # questions with a timeout
        self._broken: Failed | None = None if submission.files else Failed("died", "", "nothing could be graded")
        self._notes = list(submission.notes)
        self._results: list[QuestionResult] = []
        self._judged: list[_Judged] = []
        self._isolation: dict[str, bool] = {}
        self._leaderboard: dict[str, float] = {}

    def resume(self, earlier: Report) -> None:
        """Take over what was graded before the grader was stopped."""
        self._results = earlier.questions
        self._isolation, self._leaderboard = earlier.isolation, earlier.leaderboard
        self._notes += [note for note in earlier.notes if note not in self._notes]

    def report(self) -> Report:
        """Return what there is so far."""
        count = self._assignment.num_left_out
        about_hidden = [f"these are the public checks; what is handed in has to pass {count} more"] if count else []
        return Report(
            assignment=self._assignment.id,
            title=self._assignment.title,
            version=self._assignment.version,
            submission=self._submission.name,
            digest=self._submission.digest,
            questions=self._results,
            isolation=self._isolation,
            notes=[*self._notes, *(note for note in about_hidden if note not in self._notes)],
            leaderboard=self._leaderboard,
            seconds=time.monotonic() - self._start,
        )

    def judge(self) -> None:
        """Form the verdicts of all questions that have none."""
        self._emit(self.report())
        for question in self._assignment.questions[len(self._results) :]:
            result, judged = self._judge_question(question)
            self._results.append(result)
            self._judged.append(judged)
            self._emit(self.report())

    def _judge_question(self, question: Question) -> tuple[QuestionResult, _Judged]:
        """Grade one question; where one that it builds on failed, with our functions too, and the better counts."""
        needed, solution = set(question.depends_on), self._reference.solution
        failed = {done.id for done in self._results if any(check.status != "passed" for check in done.checks)}
        ways: list[dict[str, Oracle]] = [{}]
        if solution is not None and failed & needed and question.given:
            ways.append({name: Oracle(getattr(solution, name)) for name in question.given})
        if self._slow & needed:
            ways.reverse()  # a loop without end there would be one here too, and leave no time for ours
        tried: list[tuple[QuestionResult, _Judged]] = []
        for ours in ways:
            if tried:  # what follows may be stopped
                self._results.append(tried[0][0])
                self._emit(self.report())
                self._results.pop()
            tried.append(self._question(question, ours))
            if not _sum_lost(tried[-1][0]):
                break
        return min(tried, key=lambda one: (_sum_lost(one[0]), bool(one[1].ours)))

    def explain(self) -> None:
        """Name mistakes and give examples, as long as there is time."""
        for judged in self._judged:
            results = {check.id: check for done in self._results for check in done.checks}
            for name, seen in judged.seen.items():
                if seen.wrong is not None and time.monotonic() < self._until:
                    self._explain(judged, results[name], seen.wrong, told=seen.told)
                    self._emit(self.report())

    # ── observing ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _worker(self, question: Question) -> Worker:
        secrets = None if self._assignment.is_bundle else self._assignment.folder
        limits = Limits(question.timeout_s, question.memory_mb, tuple(self._grader.layers), secrets)
        names = [name.removesuffix(".py") for name in ("adapters.py", self._assignment.entry)]
        modules = [name for name in names if f"{name}.py" in self._submission.files]
        modules.sort(key=lambda name: name == "adapters")  # loaded last: it imports the other
        files, cells = self._submission.files, self._submission.cells
        return Worker(files, modules, self._assignment.packages, limits, cells, self._until)

    def _question(self, question: Question, ours: dict[str, Oracle]) -> tuple[QuestionResult, _Judged]:
        self._timeouts = 0
        seen = {info.id: _Seen() for info in question.checks}
        problem = self._observe_question(question, ours, seen)
        checks = [self._verdict(info, seen[info.id], problem) for info in question.checks]
        return QuestionResult(question.id, question.title, checks, list(ours)), _Judged(question, seen, ours)

    def _observe_question(self, question: Question, ours: dict[str, Oracle], seen: dict[str, _Seen]) -> Failed | None:
        """Fill ``seen``; return what kept the submission from being run at all.

        What has met a case of which nothing may be told is never asked again for something that is told.
        """
        checks = self._assignment.checks
        told = [checks[info.id] for info in question.checks if info.visibility == "public"]
        hidden = [checks[info.id] for info in question.checks if info.visibility != "public"]
        openly = [(check, False) for check in told] + [(check, True) for check in told if not check.secret]
        secretly = [(check, False) for check in hidden]
        secretly += [(check, True) for check in [*told, *hidden] if check.secret or check in hidden]
        for stage in (openly, secretly):
            problem = self._observe_stage(question, ours, seen, stage, told=stage is openly)
            if problem is not None:
                return problem
        return None

    def _observe_stage(
        self,
        question: Question,
        ours: dict[str, Oracle],
        seen: dict[str, _Seen],
        left: list[tuple[Check, bool]],
        *,
        told: bool,
    ) -> Failed | None:
        while self._broken is None and self._has_time(question) and time.monotonic() < self._until:
            left = [(check, drawn) for check, drawn in left if self._is_open(check, drawn, seen[check.id])]
            if not left:
                return None
            worker = self._worker(question)
            try:
                with worker as subject:
                    if ours:
                        subject.replace(ours)
                    while left:
                        last = self._observe_check(*left.pop(0), subject, seen, told=told)
                        self._count_timeout(last, question)
                        if isinstance(last, Failed) and last.kind in FATAL:
                            break
            except StudentError as error:
                failed = Failed.of(error)
                self._count_timeout(failed, question)
                return self._note_broken(failed)
            finally:
                self._isolation = self._isolation or worker.layers
                self._notes += [note for note in worker.notes if note not in self._notes]
        return self._broken

    def _has_time(self, question: Question) -> bool:
        """Whether neither this question nor, before it, the submission has timed out too often."""
        return self._timeouts < _MAX_TIMEOUTS and len(self._slow - {question.id}) < _MAX_TIMEOUTS

    def _count_timeout(self, last: Observation, question: Question) -> None:
        if isinstance(last, Failed) and last.kind in ("time", "clock"):
            self._timeouts += 1
            self._slow.add(question.id)

    def _is_open(self, check: Check, drawn: bool, seen: _Seen) -> bool:
        """Whether cases are still to be run: hidden ones only where no fixed one went wrong."""
        if not drawn:
            return not seen.fixed
        if check.hidden is None or self._reference.solution is None:
            seen.complete = True
        return seen.wrong is None and not seen.complete

    def _observe_check(
        self, check: Check, drawn: bool, subject: Subject, seen: dict[str, _Seen], *, told: bool
    ) -> Observation:
        """Run a check's fixed or hidden cases; return what was seen last, or None where nothing was run."""
        here = seen[check.id]
        if not self._is_open(check, drawn, here) or (drawn and not here.fixed):
            return None
        if drawn:
            assert check.hidden is not None
            cases = list(check.hidden(self._generator(check)))
            found, expected = observe_all(check, subject, cases), self._reference.expect_on(check, cases)
            here.complete = True
        else:
            cases = list(check.cases)
            here.fixed = found = observe_all(check, subject, cases)
            expected = self._reference.expect(check)
        here.wrong, here.told = _first_wrong(check, cases, found, expected), told
        last = found[-1] if found else None
        if isinstance(last, Failed) and last.kind == "not installed" and told:
            self._note_installed()
        return last

    def _generator(self, check: Check, kind: str = "") -> np.random.Generator:
        """Hidden cases depend on a secret and on the content, so they stay the same when it is graded again."""
        message = f"{self._submission.digest} {check.id}{kind}".encode()
        return np.random.default_rng(list(hmac.digest(self._grader.secret, message, sha256)))

    def _note_broken(self, failed: Failed) -> Failed:
        """Say once, at the top, why nothing runs."""
        if failed.kind in ("syntax", "raised", "not installed", "not implemented") and self._broken is None:
            self._broken = failed
            self._notes.insert(0, f"{UNGRADED}: {self._assignment.entry} {failed.words(hidden=False)}")
            if failed.kind == "not installed":
                self._note_installed()
        return failed

    def _note_installed(self) -> None:
        note = f"besides Python's standard library only {', '.join(self._assignment.packages)} is installed here"
        if note not in self._notes:
            self._notes.append(note)

    # ── judging ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _verdict(self, info: CheckInfo, seen: _Seen, problem: Failed | None) -> CheckResult:
        result = CheckResult(info.id, info.title, 0.0, info.points, info.visibility, "failed")
        if seen.wrong is not None:
            _, observed, words = seen.wrong
            if isinstance(observed, Failed):
                result.message = observed.words(hidden=not seen.told)
                if observed.kind == "not implemented":
                    result.status = "not implemented"
                else:
                    result.cause = "no result"
                    if observed.kind in ("missing", "clock"):
                        result.cause = "missing" if observed.kind == "missing" else "clock"
            else:
                result.cause = "wrong"
                public = info.visibility == "public"
                result.message = "right on the cases you have, not on others" if public else "the result is not right"
                if seen.told:
                    result.message = words
        elif seen.fixed and seen.complete:
            result.status, result.points = "passed", info.points
            check = self._assignment.checks[info.id]
            if check.leaderboard is not None:
                self._leaderboard.update(check.leaderboard(seen.fixed[0]))
        elif problem is not None:
            # Of loading: no hidden input was there yet, and what has been said at the top is not said again.
            if self._broken:
                result.message = "not run: see the top"
            else:
                result.cause = "clock" if problem.kind == "clock" else "import"
                result.message = f"at import: {problem.words(hidden=False)}"
            if problem.kind == "not implemented":
                result.status = "not implemented"
        elif time.monotonic() >= self._until:
            result.status, result.cause, result.message = "not run", "clock", "not run: the time was over"
        else:
            result.status, result.message = "not run", "not run: other checks took all the time"
        return result

    def _explain(
        self, judged: _Judged, result: CheckResult, wrong: tuple[Case, Observation, str], *, told: bool
    ) -> None:
        """Name the mistake and give the smallest example."""
        check = self._assignment.checks[result.id]
        case, observed, _ = wrong
        if isinstance(observed, Failed) and observed.kind in (*FATAL, "not implemented", "missing", "not installed"):
            if told and observed.kind in FATAL:
                result.example = f"It was here: {check.show(case)}"
            return
        parts = [*(other for other in self._judged if not other.ours), judged]
        seen = {name: one.fixed for part in parts for name, one in part.seen.items() if one.fixed}
        found = diagnose(self._reference, seen, check, lambda: self._run_anew(judged, check))
        if found is not None:
            result.mistake, result.explanation = found.mistake.name, found.words
        smallest = self._search(judged, check)
        if smallest is not None:
            case, observed, words = smallest
            result.example = f"Smallest failing example: {check.show(case)}"
            if told:
                result.message = words
            elif isinstance(observed, Failed):
                result.message = observed.words(hidden=True)
        elif told:
            result.example = f"Example: {check.show(case)}"

    def _run_anew(self, judged: _Judged, check: Check) -> Anew:
        rng = self._generator(check, " anew")
        found = (
            self._run_again(judged, lambda subject: run_anew(check, subject, rng)) if self._reference.solution else None
        )
        return found or ([], [])

    def _search(self, judged: _Judged, check: Check) -> tuple[Case, Observation, str] | None:
        if not self._grader.examples or check.search is None:
            return None
        found = self._run_again(
            judged, lambda subject: smallest_example(self._reference, check, subject, until=self._until)
        )
        if found is None:
            return None
        case, observed = found
        return case, observed, difference(check, observed, self._reference.expect_on(check, [case])[0]) or ""

    def _run_again(self, judged: _Judged, use: Callable[[Subject], _Found]) -> _Found | None:
        """Hand the submission over once more, in the form in which the question was graded; None if it does not run."""
        try:
            with self._worker(judged.question) as subject:
                if judged.ours:
                    subject.replace(judged.ours)
                return use(subject)
        except StudentError:
            return None


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


def _sum_lost(result: QuestionResult) -> float:
    return sum(check.max_points - check.points for check in result.checks)
