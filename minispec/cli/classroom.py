"""``minispec grade-class``: a folder of submissions in; marks, statistics, similar code and gradebooks out."""

from __future__ import annotations

from pathlib import Path

import click

from minispec.cli.grade import (
    assignment_option,
    assignments_option,
    check_inputs_spared,
    choose_layers,
    choose_secret,
    choose_times,
    grade_watched,
    jobs_option,
    judge_lateness,
    secret_option,
    times_option,
    without_option,
)
from minispec.cli.sections import Command
from minispec.course.grading.classroom import Job, read_reports, submissions_in
from minispec.course.grading.cohort.gradebook import to_canvas, to_moodle
from minispec.course.grading.cohort.overview import describe_class
from minispec.course.grading.cohort.regrade import find_changes
from minispec.course.grading.cohort.similarity import Similarity, compare_class, to_page
from minispec.course.grading.formats import to_csv
from minispec.course.grading.grade import DEFAULT_SECRET
from minispec.course.grading.manifest import Assignment, load_assignment
from minispec.course.grading.report import Report
from minispec.engine.files import check_apart, hold_folder, write_text

REPORTS = "reports"
FILES = ("marks.csv", "similarity.html", "moodle.csv", "canvas.csv")
_MAX_PAIRS = 20
"""Listed on the terminal; the page has more."""


@click.command("grade-class", cls=Command)
@click.argument("folder", type=click.Path(path_type=Path))
@assignment_option
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    required=True,
    help="Folder for what comes out. What was graded into it before, and has not changed, is not graded again.",
)
@click.option(
    "--against",
    type=click.Path(path_type=Path),
    help="Folder of an earlier run's output: tell whose points have changed since, and why.",
)
@times_option
@jobs_option
@secret_option
@without_option
@assignments_option
def classroom(
    folder: Path,
    assignment: str,
    output: Path,
    against: Path | None,
    times: str | None,
    jobs: int | None,
    secret_file: Path | None,
    without: tuple[str, ...],
    assignments: Path | None,
) -> None:
    """Grade a whole class: every file, folder or zip in FOLDER is a submission.

    Printed are a histogram of the marks, the commonest mistakes with whose they are, what could not be graded, who was
    late, how long it took, and whose code is alike. Written are marks.csv, similarity.html, a report each, and
    moodle.csv and canvas.csv where the names are as these platforms export them. A broken submission is named, and
    the others are graded.
    """
    paths, found = submissions_in(folder), load_assignment(assignment, assignments)
    check_apart({"FOLDER": folder, "--output": output})
    check_inputs_spared({f"{name} of --output": output / name for name in FILES}, found, times, secret_file)
    when = choose_times(found, times, paths)
    if found.due is not None and when is None:
        click.echo(f"{found.id} is {found.due.words}: nobody counts as late without --times", err=True)
    earlier = None if against is None else read_reports(against / REPORTS)
    secret = choose_secret(secret_file, found)
    if secret is None and not found.is_bundle:
        click.echo("the hidden cases are drawn from a secret that is public; choose yours with --secret-file", err=True)
    job = Job(assignment, assignments, secret or DEFAULT_SECRET, choose_layers(without))
    click.get_current_context().with_resource(hold_folder(output))
    reports = grade_watched(job, paths, jobs, output / REPORTS)
    judge_lateness(found, paths, reports, when)
    similarity = compare_class(found, paths)
    click.echo(describe_class(reports, [] if when is None else when.find_strays(paths)))
    click.echo(_describe_similarity(similarity))
    if earlier is not None:
        changes = find_changes(earlier, reports)
        click.echo("\n".join([f"\nchanged since {against}: {len(changes)}", *(f"       {one}" for one in changes)]))
    click.echo()
    for name, text in _make_files(found, reports, similarity).items():
        write_text(output / name, text)
        click.echo(str(output / name))


def _make_files(assignment: Assignment, reports: list[Report], similarity: Similarity) -> dict[str, str]:
    page = to_page(f"{assignment.title} ({assignment.id})", similarity)
    texts = to_csv(reports), page, to_moodle(reports), to_canvas(reports)
    return {name: text for name, text in zip(FILES, texts, strict=True) if text is not None}


def _describe_similarity(similarity: Similarity) -> str:
    pairs = [
        f"{pair.share:>7.0%}  {pair.left}, {pair.right} ({pair.num_shared} fingerprints)"
        for pair in similarity.pairs[:_MAX_PAIRS]
    ]
    copies = [f"   same  {', '.join(names)}" for names in similarity.copies]
    return "\n".join([f"pairs that are alike: {len(similarity.pairs)}", *pairs, *copies])
