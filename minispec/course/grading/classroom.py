"""Grades submissions side by side, each watched; stopped and started again, it goes on where it was.

A *judge* is a process that grades (:mod:`minispec.course.grading.grader_process`). Here it is only started, watched
and, where a submission has made it run out of memory or time, ended: the question it was at is lost to that submission,
and another judge goes on with the next question.
"""

from __future__ import annotations

import json
import os
import select
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from minispec.course.grading.intake import name_of
from minispec.course.grading.manifest import Assignment, Question, is_there, load_assignment
from minispec.course.grading.report import UNGRADED, Cause, CheckResult, QuestionResult, Report, Status
from minispec.engine.files import make_folder, write_text
from minispec.errors import InputError, InvariantError, explain

MAX_SECONDS = 60.0
"""Wall clock for one submission."""
_SOFT = 0.75
"""Share of it after which a judge stops by itself."""
_PATIENCE = 3.0
"""How many times as long one may take that the clock has ended, and that is graded again alone, on an idle machine."""
_BUSIEST = 20.0
"""Programs per core from which on a busier machine gives no more time."""
_MAX_LINE = 8 << 20
_STAMPED = 4 << 20
Progress = Callable[[int, int, Report], None]
"""Called with how many are done, how many there are, and the latest report."""


@dataclass(frozen=True)
class Job:
    """All a judge needs to build its grader."""

    assignment: str
    folder: Path | None
    secret: bytes
    layers: tuple[str, ...]
    examples: bool = True


class _GoneError(Exception):
    """A judge has ended, or had to be ended."""


class _LateError(_GoneError):
    """A judge had to be ended because it was late."""


class _Judge:
    """One process that grades."""

    def __init__(self, job: Job) -> None:
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-P",
                "-m",
                "minispec.course.grading.grader_process",
            ],  # -P: nothing is imported from where we stand
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            env={**os.environ, **threads},
        )
        self._buffer = bytearray()
        self._say(
            {
                "parent": os.getpid(),
                "assignment": job.assignment,
                "folder": None if job.folder is None else str(job.folder.absolute()),
                "secret": job.secret.hex(),
                "layers": job.layers,
                "examples": job.examples,
            }
        )

    def grade(self, path: Path, earlier: Report | None, soft: float, until: float) -> Iterator[tuple[str, Report]]:
        """Yield ``("unfinished", report)`` as it grows, and last ``("report", report)``.

        Raises
        ------
        _GoneError
            Saying why.
        InputError
            If the job itself cannot be done.
        """
        told = None if earlier is None else earlier.to_dict()
        self._say({"path": str(path.absolute()), "earlier": told, "seconds": soft - time.monotonic()})
        while True:
            ((kind, content),) = json.loads(self._line(until)).items()
            if kind == "refused":
                raise InputError(content)
            if kind == "broke":
                raise _GoneError(content)
            yield kind, Report.from_dict(content)
            if kind == "report":
                return

    def end(self) -> None:
        """Kill it; its workers die with it."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with suppress(OSError):
                pipe.close()

    def _say(self, message: dict[str, object]) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(message).encode("ascii") + b"\n")
        except OSError:
            raise _GoneError("it has ended") from None

    def _line(self, until: float) -> bytes:
        assert self._process.stdout is not None
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([self._process.stdout], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                raise _LateError("its time was over")
            part = os.read(self._process.stdout.fileno(), 1 << 20)
            if not part or len(self._buffer) > _MAX_LINE:
                raise _GoneError("it ran out of memory or processor time" if not part else "its report has no end")
            self._buffer += part
        line, _, rest = bytes(self._buffer).partition(b"\n")
        self._buffer = bytearray(rest)
        return line


class _Court:
    """Judges, one per thread, replaced when they are gone."""

    def __init__(self, job: Job, assignment: Assignment, seconds: float) -> None:
        self._job = job
        self._seconds = seconds
        self._assignment = assignment
        self._mine = threading.local()
        self._all: list[_Judge] = []
        self._lock = threading.Lock()
        self._is_closed = False

    def grade(self, path: Path) -> Report:
        """Grade one submission, whatever becomes of the judges."""
        start = time.monotonic()
        soft, until = start + _SOFT * self._seconds, start + self._seconds
        told = self._assignment
        report = Report(told.id, told.title, told.version, name_of(path), "", [], {}, [], {}, 0.0)
        begun: Report | None = None
        while len(report.questions) < len(told.questions):
            if time.monotonic() >= until:
                left = told.questions[len(report.questions) :]
                report.questions += [_mark_lost(one, "not run", "not run: the time was over", "clock") for one in left]
                break
            try:
                judge = self._judge()
                for kind, report in judge.grade(path, begun, soft, until):
                    begun = report
                    if kind == "report":
                        return report
            except _GoneError as gone:
                self._dismiss()
                if begun is None and len(report.questions) == 0:
                    report.notes.append(f"{UNGRADED}: in reading this, the grader broke down: {gone}")
                    why = "not run: see the top"
                    cause: Cause = "clock" if isinstance(gone, _LateError) else ""
                    report.questions += [_mark_lost(one, "failed", why, cause) for one in told.questions]
                elif len(report.questions) < len(told.questions):
                    question = told.questions[len(report.questions)]
                    why = f"what it gave or asked for was too much for the grader: {gone}"
                    cause = "clock" if isinstance(gone, _LateError) else "no result"
                    report.questions.append(_mark_lost(question, "failed", why, cause))
                    begun = report
        report.seconds = time.monotonic() - start
        return report.settle(told.needs)

    def close(self) -> None:
        """End all judges, also those that are busy."""
        with self._lock:
            self._is_closed = True
            for judge in self._all:
                judge.end()

    def _judge(self) -> _Judge:
        if getattr(self._mine, "judge", None) is None:
            with self._lock:
                if self._is_closed:
                    raise InvariantError("the court is closed")
                self._mine.judge = _Judge(self._job)
                self._all.append(self._mine.judge)
        judge: _Judge = self._mine.judge
        return judge

    def _dismiss(self) -> None:
        with self._lock:
            judge, self._mine.judge = self._mine.judge, None
            if judge is not None:
                self._all.remove(judge)
                judge.end()


def _mark_lost(question: Question, status: Status, why: str, cause: Cause = "") -> QuestionResult:
    checks = [
        CheckResult(info.id, info.title, 0.0, info.points, info.visibility, status, why, cause)
        for info in question.checks
    ]
    return QuestionResult(question.id, question.title, checks)


@contextmanager
def _court(
    job: Job, assignment: Assignment, size: int, seconds: float = MAX_SECONDS
) -> Iterator[Callable[[Path], Future[Report]]]:
    """Yield what hands a submission to the next free judge."""
    court = _Court(job, assignment, seconds)
    pool = ThreadPoolExecutor(size)
    try:
        yield lambda path: pool.submit(court.grade, path)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        court.close()
        pool.shutdown()


def submissions_in(folder: Path) -> list[Path]:
    """List what a folder of submissions holds: each file or folder is one, hidden ones are none.

    Raises
    ------
    InputError
        If there is no folder, or nothing in it.
    """
    if not is_there(folder, Path.is_dir):
        raise InputError(f"{folder} is no folder; name the folder that holds one submission per entry")
    try:
        found = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except OSError as error:
        raise InputError(f"{folder} cannot be read: {error.strerror}. Name another") from None
    if not found:
        raise InputError(f"{folder} is empty; put one file, folder or zip per submission in it")
    return found


def grade_all(
    job: Job, paths: Sequence[Path], *, jobs: int, results: Path | None = None, progress: Progress | None = None
) -> list[Report]:
    """Grade submissions in parallel processes; whatever a submission does, it gets a report.

    One that the clock ended is graded again alone at the end, with more patience: a busy machine costs nobody points.

    Parameters
    ----------
    job : Job
    paths : sequence of Path
    jobs : int
        Processes.
    results : Path, optional
        Folder for one report each. Those that are there, were not ended by the clock, and were made from the same
        submission by the same version of the assignment, are not made again.
    progress : callable, optional

    Returns
    -------
    list of Report
        In the order of ``paths``.

    Raises
    ------
    InputError
        If the assignment is broken, or the isolation not safe here.
    """
    assignment = load_assignment(job.assignment, job.folder)
    edition = _edition(assignment, job)
    done: dict[Path, Report] = {}
    if results is not None:
        make_folder(results)
        done = {path: report for path in paths if (report := _earlier(results, path, edition)) is not None}
    for count, report in enumerate(done.values(), 1):
        _tell(progress, count, len(paths), report)
    left = [path for path in paths if path not in done]
    if left:
        with _court(job, assignment, min(jobs, len(left))) as hand_in:
            waiting = {hand_in(path): path for path in left}
            while waiting:
                for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                    path = waiting.pop(future)
                    done[path] = future.result()
                    if results is not None:
                        _write(results, path, edition, done[path])
                    _tell(progress, len(done), len(paths), done[path])
    late = [path for path in left if done[path].clocked]
    if late:
        with _court(job, assignment, 1, patience_s()) as hand_in:
            for path in late:
                done[path] = hand_in(path).result()
                if results is not None:
                    _write(results, path, edition, done[path])
    return [done[path] for path in paths]


def patience_s() -> float:
    """Return the wall clock for one that is graded again: as much longer as each core has programs to share it."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 1.0
    return _PATIENCE * MAX_SECONDS * min(_BUSIEST, max(1.0, load / (os.cpu_count() or 1)))


def _tell(progress: Progress | None, count: int, total: int, report: Report) -> None:
    if progress is not None:
        progress(count, total, report)


def _edition(assignment: Assignment, job: Job) -> str:
    """Name what a report depends on besides the submission: the job, the assignment and the grader."""
    state = sha256(repr((job.secret, job.layers, job.examples)).encode())
    for folder in (assignment.folder, Path(__file__).parent):
        for path in sorted(path for path in folder.rglob("*") if path.suffix in (".py", ".toml", ".json")):
            state.update(path.read_bytes())
    return state.hexdigest()


def _place(results: Path, path: Path) -> Path:
    name = path.name if len(os.fsencode(path.name)) < 200 else sha256(os.fsencode(path.name)).hexdigest()
    return results / f"{name}.json"


def _stamp(path: Path) -> str:
    """Name what a submission holds: of each file its name, size and beginning."""
    state = sha256()
    parts = sorted(path.rglob("*")) if path.is_dir() else [path]
    for part in parts[:1000]:
        try:
            told = part.lstat()
            state.update(f"{str(part)!a} {told.st_size} {told.st_mode}\n".encode())
            if stat.S_ISREG(told.st_mode):
                with open(part, "rb") as file:
                    state.update(file.read(_STAMPED))
        except OSError as error:  # it cannot be read: its report says so
            state.update(f"{str(part)!a} {error.errno}\n".encode())
    return state.hexdigest()


def read_reports(folder: Path) -> list[Report]:
    """Read the reports that an earlier grading left in a folder.

    Raises
    ------
    InputError
        If there is none, or one that is no report.
    """
    paths = sorted(folder.glob("*.json")) if is_there(folder, Path.is_dir) else []
    if not paths:
        raise InputError(
            f"{folder} holds no reports; name the folder reports/ that an earlier run of minispec grade-class wrote"
        )
    return [_read_report(path) for path in paths]


def _read_report(path: Path) -> Report:
    try:
        return Report.from_dict(json.loads(path.read_text(encoding="utf-8"))["report"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        told = f"{type(error).__name__}: {explain(error)}"
        raise InputError(f"{path} is no report of minispec grade-class ({told}). Move it away") from None


def _earlier(results: Path, path: Path, edition: str) -> Report | None:
    try:
        told = json.loads(_place(results, path).read_text(encoding="utf-8"))
        if told["edition"] != edition or told["stamp"] != _stamp(path):
            return None
        report = Report.from_dict(told["report"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return None if report.clocked else report  # it asks to be graded again


def _write(results: Path, path: Path, edition: str, report: Report) -> None:
    """Write a report whole or not at all."""
    told = {"edition": edition, "stamp": _stamp(path), "report": report.to_dict()}
    write_text(_place(results, path), json.dumps(told, indent=1))
