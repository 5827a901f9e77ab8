"""What a second grading changed: for an appeal, or after the assignment was mended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from minispec.course.grading.report import CheckResult, Report


@dataclass(frozen=True)
class Change:
    """A submission whose points are not what they were.

    Parameters
    ----------
    submission : str
    before, after : float or None
        Points; None where there was no such submission.
    checks : tuple of str
        What changed, a check each.
    """

    submission: str
    before: float | None
    after: float | None
    checks: tuple[str, ...]

    def __str__(self) -> str:
        before, after = ("–" if points is None else f"{points:g}" for points in (self.before, self.after))
        return "\n         ".join([f"{self.submission}: {before} → {after}", *self.checks])


def find_changes(earlier: Sequence[Report], later: Sequence[Report]) -> list[Change]:
    """Compare two gradings by the submissions' names; what a late day cost is left out.

    Returns
    -------
    list of Change
        Of each submission whose points changed in some check, or that only one of them has.
    """
    old, new = ({report.submission: report for report in reports} for reports in (earlier, later))
    changes = [_compare(name, old.get(name), new.get(name)) for name in sorted({*old, *new})]
    return [one for one in changes if one.checks or one.before is None or one.after is None]


def _compare(name: str, before: Report | None, after: Report | None) -> Change:
    old, new = (None if report is None else report.score for report in (before, after))
    return Change(name, old, new, tuple(_compare_checks(before, after)))


def _compare_checks(before: Report | None, after: Report | None) -> Iterator[str]:
    if before is None or after is None:
        return
    old, new = ({check.id: check for check in report.checks} for report in (before, after))
    for name in dict.fromkeys([*old, *new]):
        one, other = old.get(name), new.get(name)
        if _points(one) != _points(other):
            yield f"{name}: {_points(one)} → {_points(other)}{_reason(other)}"


def _points(check: CheckResult | None) -> str:
    return "–" if check is None else f"{check.points:g} of {check.max_points:g}"


def _reason(check: CheckResult | None) -> str:
    told = "" if check is None else check.explanation or check.message
    return f" ({told})" if told else ""
