"""``minispec assignment``: make what is handed out, and hold an assignment to what its grader owes."""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from rich.console import Console
from rich.progress import Progress

from minispec.cli.grade import assignments_option
from minispec.cli.sections import Group
from minispec.course.grading import jail
from minispec.course.grading.build import TARGETS, build_assignment
from minispec.course.grading.classroom import Job
from minispec.course.grading.grade import DEFAULT_SECRET
from minispec.course.grading.manifest import load_assignment, read_secret
from minispec.course.grading.report import Report
from minispec.course.grading.variant import make_variant
from minispec.course.grading.verify import Finding, check_assignment, summary
from minispec.errors import InputError

variant_option = click.option(
    "--variant", metavar="NAME", help="Not the assignment itself but its variant of this name, say 2027s."
)
unlike_option = click.option(
    "--unlike",
    metavar="NAME",
    multiple=True,
    help="With --variant: an earlier term's variant that it shares no function's name with; for several, give the "
    "option again, the earliest term first.",
)


@click.group(cls=Group)
def assignment() -> None:
    """Build an assignment's files for students and graders, and check that it grades as it should."""


@assignment.command(short_help="Build the files for students and graders.")
@click.argument("name")
@click.option("--output", "-o", type=click.Path(path_type=Path), required=True, help="Folder to write to.")
@click.option("--for", "targets", type=click.Choice(TARGETS), multiple=True, help="[default: all of them]")
@click.option(
    "--secret-file",
    type=click.Path(path_type=Path),
    help="Its bytes, at least 16, decide the hidden cases of every form that grades [default: new ones, drawn now].",
)
@variant_option
@unlike_option
@assignments_option
def build(
    name: str,
    output: Path,
    targets: tuple[str, ...],
    secret_file: Path | None,
    variant: str | None,
    unlike: tuple[str, ...],
    assignments: Path | None,
) -> None:
    """Build the student bundle of assignment NAME, a folder to grade with, and what the platforms take.

    A variant has other names for its functions, other constants and its questions in another order, as far as the
    assignment lets them vary; the same name always makes the same variant. What is handed in is graded with the folder
    grader: minispec grade-class DIR -a NAME --assignments OUTPUT/NAME/grader.
    """
    secret = secrets.token_hex(32).encode() if secret_file is None else read_secret(secret_file)
    with _find_folder(name, variant, unlike, assignments) as folder:
        with Console(stderr=True).status("recording what each known mistake does (a minute or two) …"):
            written = build_assignment(load_assignment(name, folder), output, targets or TARGETS, secret)
        for path in written:
            click.echo(str(path))


@assignment.command(short_help="Check that it grades as it should.")
@click.argument("name")
@click.option("--jobs", "-j", type=click.IntRange(1), help="Submissions graded at once [default: one per core].")
@click.option(
    "--held-out", type=click.Path(path_type=Path), help="Catalogue of held-out wrong submissions, to count what fails."
)
@variant_option
@unlike_option
@assignments_option
def check(
    name: str,
    jobs: int | None,
    held_out: Path | None,
    variant: str | None,
    unlike: tuple[str, ...],
    assignments: Path | None,
) -> None:
    """Grade the starter, the solution, every mistake and every correct variant of assignment NAME.

    The starter must gain nothing, the solution and the variants everything, and each mistake must fail its own check
    and be named in the message. Held-out wrong submissions are only counted. The exit code is 2 if a rule is broken.
    """
    if held_out is not None and not load_assignment(name, assignments).overlays("held_out", held_out):
        raise InputError(f"--held-out {held_out} holds no submission; name a catalogue, such as mistakes.py")
    with (
        _find_folder(name, variant, unlike, assignments) as folder,
        Progress(console=Console(stderr=True), transient=True) as bar,
    ):
        click.echo(f"grading every solution and mistake that {name} comes with; this takes minutes", err=True)
        job = Job(name, folder, DEFAULT_SECRET, jail.LAYERS, examples=False)
        task = bar.add_task("grading", total=None)

        def progress(count: int, total: int, report: Report) -> None:
            bar.update(task, completed=count, total=total, description=report.submission)
            if not bar.console.is_terminal and count % 20 == 0:
                click.echo(f"{count} of {total}", err=True)

        findings = check_assignment(job, jobs=jobs or os.cpu_count() or 1, held_out=held_out, progress=progress)
    _show(findings)
    broken = [finding for finding in findings if finding.fault]
    if broken:
        raise InputError(f"{len(broken)} of {len(findings)} break a rule; mend the assignment where it says so above")


@contextmanager
def _find_folder(
    name: str, variant: str | None, unlike: tuple[str, ...], assignments: Path | None
) -> Iterator[Path | None]:
    """Yield the folder of assignments to work with: for a variant, one that is made and removed again."""
    if variant is None and unlike:
        raise InputError(f"--unlike {unlike[0]} is about variants; name the one to make with --variant")
    if variant is None:
        yield assignments
        return
    with tempfile.TemporaryDirectory(prefix="minispec-variant-") as folder:
        make_variant(load_assignment(name, assignments), variant, Path(folder), unlike)
        yield Path(folder)


def _show(findings: list[Finding]) -> None:
    for finding in findings:
        if finding.fault:
            click.echo(f"{finding.kind}/{finding.name}: {finding.fault}")
        elif finding.kind == "held_out" and not finding.named:
            click.echo(f"{finding.kind}/{finding.name}: {'caught, not named' if finding.caught else 'NOT CAUGHT'}")
    for kind, (count, caught, named) in summary(findings).items():
        told = f", {caught} caught, {named} named" if kind in ("mutants", "held_out") else ""
        click.echo(f"{kind}: {count}{told}")
