"""Grades many submissions side by side; stopped and started again, it goes on where it was."""

from __future__ import annotations

import json
import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from minispec.errors import InputError, OutputError
from minispec.grading.grade import Grader
from minispec.grading.manifest import Assignment, load_assignment
from minispec.grading.report import Report

Progress = Callable[[int, int, Report], None]
"""Called with how many are done, how many there are, and the latest report."""


@dataclass(frozen=True)
class Job:
    """All a process needs to build its grader."""

    assignment: str
    folder: Path | None
    secret: bytes
    layers: tuple[str, ...]
    examples: bool = True


_graders: dict[Job, Grader] = {}


def _grade(job: Job, path: Path) -> Report:
    """Grade one submission; a process keeps its grader, and with it the catalogue's fingerprints."""
    if job not in _graders:
        _graders[job] = Grader(load_assignment(job.assignment, job.folder), job.secret, job.layers, job.examples)
    return _graders[job].grade(path)


def submissions_in(folder: Path) -> list[Path]:
    """List what a folder of submissions holds: each file or folder is one, hidden ones are none.

    Raises
    ------
    InputError
        If there is no folder, or nothing in it.
    """
    if not folder.is_dir():
        raise InputError(f"--class {folder} is no folder; name the folder that holds one submission per entry")
    found = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    if not found:
        raise InputError(f"--class {folder} is empty; put one file, folder or zip per submission in it")
    return found


def grade_all(
    job: Job, paths: Sequence[Path], *, jobs: int, results: Path | None = None, progress: Progress | None = None
) -> list[Report]:
    """Grade submissions in parallel processes.

    Parameters
    ----------
    job : Job
    paths : sequence of Path
    jobs : int
        Processes.
    results : Path, optional
        Folder for one report each. Those that are there, and were made from the same submission by the same version
        of the assignment, are not made again.
    progress : callable, optional

    Returns
    -------
    list of Report
        In the order of ``paths``.
    """
    assignment = load_assignment(job.assignment, job.folder)
    edition = _edition(assignment, job)
    done: dict[Path, Report] = {}
    if results is not None:
        _make_folder(results)
        done = {path: report for path in paths if (report := _earlier(results, path, edition)) is not None}
    for count, report in enumerate(done.values(), 1):
        _tell(progress, count, len(paths), report)
    left = [path for path in paths if path not in done]
    if left:
        context = multiprocessing.get_context("spawn")  # a fork of a process with threads may hang
        with ProcessPoolExecutor(min(jobs, len(left)), mp_context=context) as pool:
            waiting: dict[Future[Report], Path] = {pool.submit(_grade, job, path): path for path in left}
            try:
                while waiting:
                    for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                        path = waiting.pop(future)
                        done[path] = future.result()
                        if results is not None:
                            _write(results, path, edition, done[path])
                        _tell(progress, len(done), len(paths), done[path])
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    return [done[path] for path in paths]


def _tell(progress: Progress | None, count: int, total: int, report: Report) -> None:
    if progress is not None:
        progress(count, total, report)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"--results {folder} cannot be made: {error.strerror}. Name another folder") from None


def _edition(assignment: Assignment, job: Job) -> str:
    """Name what a report depends on besides the submission."""
    state = sha256(repr((job.secret, job.layers, job.examples)).encode())
    for path in sorted(path for path in assignment.folder.rglob("*") if path.suffix in (".py", ".toml")):
        state.update(path.read_bytes())
    return state.hexdigest()


def _place(results: Path, path: Path) -> Path:
    return results / f"{path.name}.json"


def _stamp(path: Path) -> list[list[object]]:
    """Say when a submission was last changed, cheaply: names, sizes and times of what it holds."""
    parts = sorted(path.rglob("*")) if path.is_dir() else [path]
    return [[str(part), part.lstat().st_size, part.lstat().st_mtime_ns] for part in parts[:1000]]


def _earlier(results: Path, path: Path, edition: str) -> Report | None:
    try:
        told = json.loads(_place(results, path).read_text(encoding="utf-8"))
        if told["edition"] != edition or told["stamp"] != _stamp(path):
            return None
        return Report.from_dict(told["report"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write(results: Path, path: Path, edition: str, report: Report) -> None:
    """Write a report whole or not at all."""
    place = _place(results, path)
    unfinished = place.with_name(f".{place.name}.{os.getpid()}")
    told = {"edition": edition, "stamp": _stamp(path), "report": report.to_dict()}
    try:
        unfinished.write_text(json.dumps(told, indent=1), encoding="utf-8")
        os.replace(unfinished, place)
    except OSError as error:
        raise OutputError(f"{place} cannot be written: {error.strerror}. Name another folder with --results") from None
