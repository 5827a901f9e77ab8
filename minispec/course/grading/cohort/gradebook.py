"""Marks as Moodle and Canvas import them, for submissions whose names are as these platforms export them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from minispec.course.grading.formats import points, write_csv
from minispec.course.grading.report import Report
from minispec.course.grading.student import CANVAS, MOODLE, identify


def to_moodle(reports: Sequence[Report]) -> str | None:
    """Write an assignment's *grading worksheet*, with the columns that are read when it is uploaded.

    ``Identifier`` is the participant's number in this assignment, which stands in the name of the exported folder.

    Returns
    -------
    str or None
        None if no submission has such a name.
    """
    header = ["Identifier", "Full name", "Grade", "Maximum Grade", "Last modified (grade)", "Feedback comments"]
    rows = [
        [f"Participant {student.number}", student.name, points(one.mark), points(one.max_score), "-", _say_why(one)]
        for one in reports
        if (student := identify(one.submission)).platform == MOODLE
    ]
    return write_csv([header, *rows]) if rows else None


def to_canvas(reports: Sequence[Report]) -> str | None:
    """Write a gradebook for Canvas's import: students by their number, one column, the points possible above it.

    Canvas takes a column of another name for a new assignment; of an existing one the name ends in its number in
    brackets, as in an exported gradebook.

    Returns
    -------
    str or None
        None if no submission has such a name.
    """
    rows = [
        [student.name, student.number, "", "", "", points(one.mark)]
        for one in reports
        if (student := identify(one.submission)).platform == CANVAS
    ]
    if not rows:
        return None
    header = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", reports[0].title]
    return write_csv([header, ["Points Possible", "", "", "", "", points(reports[0].max_score)], *rows])


def _say_why(report: Report) -> str:
    return " ".join(_reasons(report))


def _reasons(report: Report) -> Iterator[str]:
    """Yield each sentence once: why points were lost, and what lateness cost."""
    if report.obstacle:
        yield f"{report.obstacle}."
        return
    lost = [check for check in report.checks if check.status != "passed"]
    yield from dict.fromkeys(
        f"{check.title}: {(check.explanation or check.message).removesuffix('.')}." for check in lost
    )
    if report.late is not None and report.late.days:
        yield f"{report.late.words}."
