"""``minispec grade``: what a submission is worth, and what is wrong with it."""

from __future__ import annotations

import os
from pathlib import Path

import click
from rich.console import Console
from rich.progress import Progress

from minispec.errors import InputError, OptionError, OutputError
from minispec.grading import jail
from minispec.grading.classroom import Job, grade_all, submissions_in
from minispec.grading.formats import FORMATS, points, render
from minispec.grading.grade import DEFAULT_SECRET
from minispec.grading.manifest import Assignment, load_assignment, read_secret
from minispec.grading.report import Report

assignments_option = click.option(
    "--assignments",
    type=click.Path(path_type=Path),
    help="Folder of assignments [default: lessons/assignments of the checkout].",
)


@click.command()
@click.argument("submissions", nargs=-1, type=click.Path(path_type=Path), metavar="SUBMISSION...")
@click.option("--assignment", "-a", required=True, help="The assignment's name, such as a2.")
@click.option("--class", "folder", type=click.Path(path_type=Path), help="Grade every submission in this folder.")
@click.option("--format", "form", type=click.Choice(FORMATS), default="terminal", show_default=True)
@click.option("--output", "-o", type=click.Path(path_type=Path), help="Write the report here instead of stdout.")
@click.option("--jobs", "-j", type=click.IntRange(1), help="Submissions graded at once [default: one per core].")
@click.option(
    "--results",
    type=click.Path(path_type=Path),
    help="Keep each submission's report here; one that has a report is not graded again.",
)
@click.option(
    "--secret-file",
    type=click.Path(path_type=Path),
    help="Draw the hidden cases from the bytes of this file [default: the file 'secret' beside the assignment].",
)
@click.option(
    "--without",
    type=click.Choice(jail.LAYERS),
    multiple=True,
    help="Go without this layer of isolation, say because the machine lacks it.",
)
@assignments_option
def grade(
    submissions: tuple[Path, ...],
    assignment: str,
    folder: Path | None,
    form: str,
    output: Path | None,
    jobs: int | None,
    results: Path | None,
    secret_file: Path | None,
    without: tuple[str, ...],
    assignments: Path | None,
) -> None:
    """Grade one or more submissions (Python file, notebook, folder or zip), or a whole class.

    Each submission runs isolated in a process of its own; this process judges its answers. A wrong answer is not an
    error: the exit code is 0 whenever there is a report.
    """
    paths = [*submissions, *(submissions_in(folder) if folder else [])]
    if not paths:
        raise OptionError("nothing to grade; name a submission, or a folder of them with --class DIR")
    secret = _secret(secret_file, load_assignment(assignment, assignments), is_class=folder is not None)
    job = Job(assignment, assignments, secret, tuple(layer for layer in jail.LAYERS if layer not in without))
    text = render(_grade(job, paths, jobs or os.cpu_count() or 1, results), form)
    if output is None:
        click.echo(text, nl=False)
        return
    unfinished = output.with_name(f".{output.name}.{os.getpid()}")
    try:  # whole or not at all, and never through a link that was put there
        unfinished.write_text(text, encoding="utf-8")
        os.replace(unfinished, output)
    except OSError as error:
        raise OutputError(f"{output} cannot be written: {error.strerror}. Name another file") from None


def _grade(job: Job, paths: list[Path], jobs: int, results: Path | None) -> list[Report]:
    for path in paths:
        if not os.path.lexists(path):
            raise InputError(f"there is no {path}; name files, folders or zips")
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("grading", total=len(paths))

        def progress(count: int, _: int, report: Report) -> None:
            told = f"{report.submission}: {points(report.score)} of {points(report.max_score)}"
            bar.update(task, completed=count, description=told)

        return grade_all(job, paths, jobs=jobs, results=results, progress=progress)


def _secret(path: Path | None, assignment: Assignment, *, is_class: bool) -> bytes:
    """Return what decides the hidden cases; say so where a class would be graded with what everybody can read."""
    if path is not None:
        return read_secret(path)
    secret = os.environ.get("MINISPEC_GRADE_SECRET", "").encode() or assignment.secret
    if secret is None and is_class and not assignment.is_bundle:
        click.echo("the hidden cases are drawn from a secret that is public; choose yours with --secret-file", err=True)
    return secret or DEFAULT_SECRET
