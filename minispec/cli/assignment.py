"""``minispec assignment``: make what is handed out, and hold an assignment to what its grader owes."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import click
from rich.console import Console
from rich.progress import Progress

from minispec.cli.grade import assignments_option
from minispec.errors import InputError
from minispec.grading import jail
from minispec.grading.build import TARGETS, build_assignment
from minispec.grading.classroom import Job
from minispec.grading.grade import DEFAULT_SECRET
from minispec.grading.manifest import load_assignment, read_secret
from minispec.grading.report import Report
from minispec.grading.verify import Finding, check_assignment, summary


@click.group()
def assignment() -> None:
    """Build an assignment's files for students and graders, and check that it grades as it should."""


@assignment.command()
@click.argument("name")
@click.option("--output", "-o", type=click.Path(path_type=Path), required=True, help="Folder to write to.")
@click.option("--for", "targets", type=click.Choice(TARGETS), multiple=True, help="[default: all of them]")
@click.option(
    "--secret-file",
    type=click.Path(path_type=Path),
    help="Its bytes decide the hidden cases of every form that grades [default: new ones, drawn now].",
)
@assignments_option
def build(
    name: str, output: Path, targets: tuple[str, ...], secret_file: Path | None, assignments: Path | None
) -> None:
    """Build the student bundle of assignment NAME, and its Gradescope, nbgrader and otter versions."""
    secret = secrets.token_hex(32).encode() if secret_file is None else read_secret(secret_file)
    for path in build_assignment(load_assignment(name, assignments), output, targets or TARGETS, secret):
        click.echo(str(path))


@assignment.command()
@click.argument("name")
@click.option("--jobs", "-j", type=click.IntRange(1), help="Submissions graded at once [default: one per core].")
@click.option(
    "--held-out", type=click.Path(path_type=Path), help="Folder of held-out wrong submissions, to count how many fail."
)
@assignments_option
def check(name: str, jobs: int | None, held_out: Path | None, assignments: Path | None) -> None:
    """Grade the starter, the solution, every mistake and every correct variant of assignment NAME.

    The starter must gain nothing, the solution and the variants everything, and each mistake must fail its own check
    and be named in the message. Held-out wrong submissions are only counted. The exit code is 2 if a rule is broken.
    """
    job = Job(name, assignments, DEFAULT_SECRET, jail.LAYERS, examples=False)
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("grading", total=None)

        def progress(count: int, total: int, report: Report) -> None:
            bar.update(task, completed=count, total=total, description=report.submission)

        findings = check_assignment(job, jobs=jobs or os.cpu_count() or 1, held_out=held_out, progress=progress)
    _show(findings)
    broken = [finding for finding in findings if finding.fault]
    if broken:
        raise InputError(f"{len(broken)} of {len(findings)} break a rule; mend the assignment where it says so above")


def _show(findings: list[Finding]) -> None:
    for finding in findings:
        if finding.fault:
            click.echo(f"{finding.kind}/{finding.name}: {finding.fault}")
        elif finding.kind == "held_out" and not finding.named:
            click.echo(f"{finding.kind}/{finding.name}: {'caught, not named' if finding.caught else 'NOT CAUGHT'}")
    for kind, (count, caught, named) in summary(findings).items():
        told = f", {caught} caught, {named} named" if kind in ("mutants", "held_out") else ""
        click.echo(f"{kind}: {count}{told}")
