"""``minispec grade``: what a submission is worth, and what is wrong with it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.progress import Progress

from minispec.cli.sections import Command
from minispec.course.grading import jail
from minispec.course.grading.classroom import Job, grade_all
from minispec.course.grading.formats import FORMATS, points, render
from minispec.course.grading.grade import DEFAULT_SECRET
from minispec.course.grading.manifest import Assignment, check_secret, load_assignment, read_secret
from minispec.course.grading.report import Report
from minispec.course.grading.times import MTIME, Times, read_times
from minispec.engine.files import check_apart, check_writable, write_text
from minispec.errors import InputError

assignment_option = click.option("--assignment", "-a", required=True, help="The assignment's name, such as a2.")
assignments_option = click.option(
    "--assignments",
    type=click.Path(path_type=Path),
    help="Folder of assignments [default: lessons/assignments of the checkout, or here].",
)
jobs_option = click.option(
    "--jobs", "-j", type=click.IntRange(1), help="Submissions graded at once [default: one per core]."
)
secret_option = click.option(
    "--secret-file",
    type=click.Path(path_type=Path),
    help="Draw the hidden cases from the bytes in it, at least 16 [default: the file 'secret' next to the assignment].",
)
times_option = click.option(
    "--times",
    metavar=f"FILE|{MTIME}",
    help=f"When each was handed in: a CSV or JSON of the platform's, or '{MTIME}' for the files' own times.",
)
without_option = click.option(
    "--without",
    type=click.Choice(jail.LAYERS),
    multiple=True,
    help="Go without this layer of isolation, say because the machine lacks it.",
)


@click.command(cls=Command)
@click.argument("submissions", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="SUBMISSION...")
@assignment_option
@click.option("--format", "form", type=click.Choice(FORMATS), default="terminal", show_default=True)
@click.option("--output", "-o", type=click.Path(path_type=Path), help="Write the report here instead of stdout.")
@times_option
@jobs_option
@secret_option
@without_option
@assignments_option
def grade(
    submissions: tuple[Path, ...],
    assignment: str,
    form: str,
    output: Path | None,
    times: str | None,
    jobs: int | None,
    secret_file: Path | None,
    without: tuple[str, ...],
    assignments: Path | None,
) -> None:
    """Grade one or more submissions: a Python file, a notebook, a folder or a zip each.

    Each submission runs isolated in a process of its own; this process judges its answers. A wrong answer is not an
    error: the exit code is 0 whenever there is a report. For a whole class see minispec grade-class.
    """
    for path in submissions:
        if not os.path.lexists(path):
            raise InputError(f"there is no {path}; name files, folders or zips")
    check_writable(output)
    found = load_assignment(assignment, assignments)
    for path in submissions:
        check_apart({"SUBMISSIONS": path, "--output": output})
    check_inputs_spared({"--output": output}, found, times, secret_file)
    when = choose_times(found, times, submissions)
    job = Job(assignment, assignments, choose_secret(secret_file, found) or DEFAULT_SECRET, choose_layers(without))
    reports = grade_watched(job, submissions, jobs)
    judge_lateness(found, submissions, reports, when)
    text = render(reports, form, found.hidden_checks)
    if output is None:
        click.echo(text, nl=False)
    else:
        write_text(output, text)


def check_inputs_spared(
    outputs: Mapping[str, Path | None], assignment: Assignment, times: str | None, secret_file: Path | None
) -> None:
    """Refuse to overwrite what decides a mark besides the submissions."""
    times_file = None if times in (None, MTIME) else Path(str(times))
    for name, path in (("--assignment", assignment.folder), ("--times", times_file), ("--secret-file", secret_file)):
        check_apart({name: path, **outputs})


def choose_layers(without: Sequence[str]) -> tuple[str, ...]:
    """Return the layers of isolation to try."""
    return tuple(layer for layer in jail.LAYERS if layer not in without)


def choose_secret(path: Path | None, assignment: Assignment) -> bytes | None:
    """Return what decides the hidden cases; None where nobody has chosen it."""
    if path is not None:
        return read_secret(path)
    told = os.environ.get("MINISPEC_GRADE_SECRET", "").encode()
    return check_secret(told, "MINISPEC_GRADE_SECRET") if told else assignment.secret


def choose_times(assignment: Assignment, source: str | None, submissions: Sequence[Path]) -> Times | None:
    """Return what knows when submissions were handed in; None where nobody was asked to know."""
    if source is not None and assignment.due is None:
        raise InputError(f"--times {source}: {assignment.id} is never due; put a table [due] into its assignment.toml")
    return None if source is None else read_times(source, submissions)


def judge_lateness(
    assignment: Assignment, paths: Sequence[Path], reports: Sequence[Report], times: Times | None
) -> None:
    """Write into each report how late it was, if that is to be known."""
    if assignment.due is None or times is None:
        return
    for path, report in zip(paths, reports, strict=True):
        report.late = assignment.due.judge(times(path), score=report.score, max_score=report.max_score)


def grade_watched(job: Job, paths: Sequence[Path], jobs: int | None, results: Path | None = None) -> list[Report]:
    """Grade submissions, with a bar on stderr."""
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("grading", total=len(paths))

        def progress(count: int, _: int, report: Report) -> None:
            told = f"{report.submission}: {points(report.score)} of {points(report.max_score)}"
            bar.update(task, completed=count, description=told)

        return grade_all(job, paths, jobs=jobs or os.cpu_count() or 1, results=results, progress=progress)
