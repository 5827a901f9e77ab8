"""Reports in the forms people and systems read."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

from minispec.course.grading.report import CheckResult, Report

FORMATS = ("terminal", "json", "gradescope", "junit", "markdown", "csv")
_MARK = {"passed": "ok", "failed": "--", "not implemented": "..", "not run": "??"}
_INDENT = " " * 7


def render(reports: Sequence[Report], form: str, hidden_checks: str = "visible") -> str:
    """Write reports in one of :data:`FORMATS`; those for one submission are written one after the other.

    Parameters
    ----------
    reports : sequence of Report
    form : str
    hidden_checks : str
        When Gradescope shows hidden checks, in its words.
    """
    if form == "gradescope":
        return "\n".join(to_gradescope(report, hidden_checks) for report in reports)
    if form == "csv":
        return to_csv(reports)
    if form == "junit":
        return to_junit(reports)
    if form == "json" and len(reports) != 1:
        return json.dumps([report.to_dict() for report in reports], indent=1) + "\n"
    write = {"terminal": to_terminal, "json": to_json, "markdown": to_markdown}[form]
    return "\n".join(write(report) for report in reports)


def points(value: float) -> str:
    """Write points without needless zeros."""
    return f"{value:g}"


def to_json(report: Report) -> str:
    """Write everything."""
    return json.dumps(report.to_dict(), indent=1) + "\n"


def to_terminal(report: Report) -> str:
    """Write for a person at a terminal."""
    lines = [f"{report.title} ({report.assignment} {report.version}): {report.submission}"]
    lines += [f"  ! {note}" for note in report.told]
    for question in report.questions:
        gained = sum(check.points for check in question.checks)
        most = sum(check.max_points for check in question.checks)
        lines += ["", f"{question.id}  {question.title}  {points(gained)} / {points(most)}"]
        if question.with_ours:
            lines.append(f"  (graded with our {', '.join(question.with_ours)}: an earlier question failed)")
        for check in question.checks:
            lines.append(f"  {_MARK[check.status]}  {points(check.points)}/{points(check.max_points)}  {check.title}")
            lines += [_INDENT + line for line in check.text.splitlines()]
    lines += [
        "",
        f"score {points(report.score)} of {points(report.max_score)}",
        *_say_late(report),
        *_isolation(report),
    ]
    lines += [f"{name}: {value:g}" for name, value in report.leaderboard.items()]
    return "\n".join(lines) + "\n"


def _say_late(report: Report) -> list[str]:
    if report.late is None:
        return []
    return [report.late.words, f"mark {points(report.mark)} of {points(report.max_score)}"]


def _isolation(report: Report) -> list[str]:
    held = ", ".join(layer for layer, holds in report.isolation.items() if holds) or "none"
    return [f"isolation in force: {held}", *[f"  best effort only, {note}" for note in report.best_effort]]


def to_markdown(report: Report) -> str:
    """Write a table, and a paragraph for each check that failed."""
    lines = [
        f"# {report.title}: {report.submission}",
        "",
        f"**{points(report.score)} of {points(report.max_score)} points.**",
        "",
        *[f"- {line}" for line in _say_late(report)],
        *[f"- {note}" for note in report.told],
        "",
        "| check | | points |",
        "|---|---|---|",
    ]
    for check in report.checks:
        title = check.title.replace("|", "\\|")
        lines.append(f"| {title} | {check.status} | {points(check.points)} / {points(check.max_points)} |")
    for check in report.checks:
        if check.text:
            quoted = check.text.replace("`", "'")
            lines += ["", f"## {check.title}", "", "```text", quoted, "```"]
    return "\n".join([*lines, "", *_isolation(report)]) + "\n"


def to_gradescope(report: Report, hidden_checks: str = "visible") -> str:
    """Write Gradescope's ``results.json``: one test per check. Isolation is told to instructors only.

    How long it took is left out: a submission could tell something by it.
    """
    tests = [_gradescope_test(number, check, hidden_checks) for number, check in enumerate(report.checks, 1)]
    total = {} if report.late is None else {"score": report.mark}  # in the place of the tests' sum
    told = {
        **total,
        "output": "\n".join([f"{report.title}, version {report.version}", *report.told, *_say_late(report)]),
        "output_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": tests,
        "leaderboard": [{"name": name, "value": value, "order": "asc"} for name, value in report.leaderboard.items()],
        "extra_data": {
            "assignment": report.assignment,
            "digest": report.digest,
            "isolation": report.isolation,
            "best_effort": report.best_effort,
        },
    }
    return json.dumps(told, indent=1) + "\n"


def _gradescope_test(number: int, check: CheckResult, hidden_checks: str) -> dict[str, Any]:
    return {
        "number": str(number),
        "name": f"{check.id}: {check.title}",
        "score": check.points,
        "max_score": check.max_points,
        "status": "passed" if check.status == "passed" else "failed",
        "output": check.text,
        "output_format": "text",
        "tags": [tag for tag in (check.mistake,) if tag],
        "visibility": hidden_checks if check.visibility == "hidden" else "visible",
    }


def to_junit(reports: Sequence[Report]) -> str:
    """Write JUnit XML: a suite per submission, a case per check."""
    root = ElementTree.Element("testsuites")
    for report in reports:
        failures = sum(check.status == "failed" for check in report.checks)
        skipped = sum(check.status in ("not implemented", "not run") for check in report.checks)
        counts = {"tests": str(len(report.checks)), "failures": str(failures), "skipped": str(skipped)}
        suite = ElementTree.SubElement(root, "testsuite", {"name": xml_text(report.submission), **counts})
        for check in report.checks:
            case = ElementTree.SubElement(suite, "testcase", classname=check.id.rpartition(".")[0], name=check.id)
            if check.status != "passed":
                tag = "failure" if check.status == "failed" else "skipped"
                ElementTree.SubElement(case, tag, message=xml_text(check.message)).text = xml_text(check.text)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def xml_text(text: str) -> str:
    """Leave out what XML cannot hold."""
    return "".join(c for c in text if c in "\t\n" or 0x20 <= ord(c) < 0xD800 or 0xE000 <= ord(c) < 0xFFFE)


def to_csv(reports: Sequence[Report]) -> str:
    """Write a line per submission: points, total, lateness, mark, mistakes, time, notes."""
    ids = list(dict.fromkeys(check.id for report in reports for check in report.checks))
    late = ("handed_in", "late_days", "deduction", "mark")
    rows = [["submission", "score", "max_score", *late, *ids, "mistakes", "seconds", "notes"]]
    for report in reports:
        gained = {check.id: check.points for check in report.checks}
        mistakes = " ".join(dict.fromkeys(check.mistake for check in report.checks if check.mistake))
        cells = [report.submission, points(report.score), points(report.max_score), *_late_cells(report)]
        cells += [points(gained[name]) if name in gained else "" for name in ids]
        rows.append([*cells, mistakes, f"{report.seconds:.1f}", "; ".join(report.remarks)])
    return write_csv(rows)


def _late_cells(report: Report) -> list[str]:
    if report.late is None:
        return ["", "", "", points(report.mark)]
    return [report.late.handed_in, str(report.late.days), points(report.late.deduction), points(report.mark)]


def write_csv(rows: Sequence[Sequence[str]]) -> str:
    """Write cells for a spreadsheet, so nothing in it is a formula; a lone dash is none."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([[_cell(cell) for cell in row] for row in rows])
    return out.getvalue()


def _cell(text: str) -> str:
    return "'" + text if text[:1] in "=+-@\t\r" and text not in ("", "-") else text
