"""Holds an assignment to what a grader owes: the starter gains nothing, the solution everything, mistakes are named."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from minispec.course.grading.catalogue import Overlay
from minispec.course.grading.classroom import Job, Progress, grade_all
from minispec.course.grading.manifest import CATALOGUES, Assignment, load_assignment
from minispec.course.grading.report import Report


@dataclass(frozen=True)
class Finding:
    """One thing that was tried.

    Parameters
    ----------
    kind : {"starter", "solution", "mutants", "correct", "held_out"}
    name : str
    fault : str
        What is wrong with the *assignment*; empty if nothing is.
    caught, named : bool or None
        Of wrong submissions: whether points were lost, and whether the mistake was called by its name.
    """

    kind: str
    name: str
    fault: str
    caught: bool | None = None
    named: bool | None = None


def check_assignment(
    job: Job, *, jobs: int, held_out: Path | None = None, num_secrets: int = 3, progress: Progress | None = None
) -> list[Finding]:
    """Grade everything an assignment comes with.

    Parameters
    ----------
    job : Job
    jobs : int
        Processes.
    held_out : Path, optional
        Catalogue of wrong submissions that no check was written from; default the assignment's own.
    num_secrets : int
        The solution is graded with so many draws of the hidden cases.
    progress : callable, optional

    Returns
    -------
    list of Finding
        Held-out submissions have no faults: they are for counting.
    """
    assignment = load_assignment(job.assignment, job.folder)
    sources = {"starter--starter": assignment.starter}
    sources |= {
        f"solution--{i}": f"{assignment.solution}\n# draw {i} of the hidden cases\n" for i in range(num_secrets)
    }
    overlays: dict[str, Overlay] = {}
    for kind in CATALOGUES:
        for overlay in assignment.overlays(kind, held_out if kind == "held_out" else None):
            overlays[f"{kind}--{overlay.name}"] = overlay
            sources[f"{kind}--{overlay.name}"] = overlay.source
    with tempfile.TemporaryDirectory(prefix="minispec-check-") as folder:
        paths = []
        for name, source in sources.items():
            paths.append(Path(folder) / f"{name}.py")
            paths[-1].write_text(source, encoding="utf-8")
        reports = grade_all(job, paths, jobs=jobs, progress=progress)
    return [
        _finding(assignment, name, overlays.get(name), report) for name, report in zip(sources, reports, strict=True)
    ]


def _finding(assignment: Assignment, key: str, overlay: Overlay | None, report: Report) -> Finding:
    kind, _, name = key.partition("--")
    if overlay is None or kind == "correct":
        return Finding(kind, name, _score_fault(report, 0.0 if kind == "starter" else assignment.points))
    mistakes = {check.id: check.mistake for check in report.checks if check.status != "passed"}
    caught = bool(mistakes)
    if kind == "held_out":
        wanted = overlay.mistake or ""
        named = wanted in mistakes.values() if wanted else not any(mistakes.values())
        return Finding(kind, name, "", caught, caught and named)
    fault = ""
    if overlay.fails not in assignment.checks:
        fault = f"FAILS names {overlay.fails!r}, which is no check"
    elif overlay.fails not in mistakes:
        fault = f"does not fail {overlay.fails}" + (f" but {', '.join(mistakes)}" if mistakes else "")
    elif mistakes[overlay.fails] != name:
        fault = f"is called {mistakes[overlay.fails] or 'nothing'} in {overlay.fails}"
    elif not overlay.what:
        fault = "has no sentence for the student"
    return Finding(kind, name, fault, caught, overlay.fails in mistakes and mistakes[overlay.fails] == name)


def _score_fault(report: Report, wanted: float) -> str:
    if report.score == wanted:
        return ""
    off = [check for check in report.checks if (check.status == "passed") != (wanted > 0)]
    told = "; ".join(f"{check.id} {check.status} {check.message}".strip() for check in off[:3])
    return f"scores {report.score:g}, not {wanted:g}: {told}"


def summary(findings: Sequence[Finding]) -> dict[str, tuple[int, int, int]]:
    """Count by kind: how many there are, and of wrong submissions how many were caught and named."""
    kinds = dict.fromkeys(finding.kind for finding in findings)
    return {
        kind: (
            sum(finding.kind == kind for finding in findings),
            sum(bool(finding.caught) for finding in findings if finding.kind == kind),
            sum(bool(finding.named) for finding in findings if finding.kind == kind),
        )
        for kind in kinds
    }
