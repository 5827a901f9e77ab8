"""What the marks of a class look like: a histogram, the commonest mistakes and whose they are, the time it took."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from minispec.course.grading.relations import TOLD
from minispec.course.grading.report import Report

BINS = 10
_BAR = 40


@dataclass(frozen=True)
class MistakeCount:
    """A mistake of the catalogue and whose it is.

    Parameters
    ----------
    name, what : str
        As in the catalogue, and in the words that the students were told.
    who : list of str
        Submissions.
    """

    name: str
    what: str
    who: list[str]


def count_marks(reports: Sequence[Report], bins: int = BINS) -> list[int]:
    """Count marks by share of the points: entry i is [i / bins, (i + 1) / bins), the last one includes full marks."""
    counts = [0] * bins
    for report in reports:
        counts[min(bins - 1, int(bins * report.mark / report.max_score))] += 1
    return counts


def count_mistakes(reports: Sequence[Report]) -> list[MistakeCount]:
    """Count the mistakes that were named, each once per submission; the commonest first."""
    who: dict[str, dict[str, None]] = defaultdict(dict)
    words: dict[str, Counter[str]] = defaultdict(Counter)
    for report in reports:
        for check in report.checks:
            if check.mistake and check.mistake != TOLD:
                who[check.mistake][report.submission] = None
                words[check.mistake][check.explanation] += 1
    counts = [MistakeCount(name, words[name].most_common(1)[0][0], list(names)) for name, names in who.items()]
    return sorted(counts, key=lambda count: (-len(count.who), count.name))


def count_unnamed(reports: Sequence[Report]) -> list[MistakeCount]:
    """Count the checks whose result was wrong in a way that has no name: what ended without a result is no mistake."""
    who: dict[tuple[str, str], list[str]] = defaultdict(list)
    for report in reports:
        for check in report.checks:
            if check.cause == "wrong" and check.mistake in ("", TOLD):
                who[check.id, check.title].append(report.submission)
    counts = [MistakeCount(name, title, names) for (name, title), names in who.items()]
    return sorted(counts, key=lambda count: (-len(count.who), count.name))


def describe_class(reports: Sequence[Report], strays: Sequence[str] = ()) -> str:
    """Write what an instructor wants to know first, for a terminal; ``strays`` have a time and are no submission."""
    first = reports[0]
    return "\n".join(
        [
            f"{first.title} ({first.assignment} {first.version}): {len(reports)} submissions",
            *_describe_obstacles(reports),
            "",
            *_describe_marks(reports),
            *_describe_counts("commonest mistakes", count_mistakes(reports)),
            *_describe_counts("failed without a name", count_unnamed(reports)),
            *_describe_times(reports, strays),
            "",
            _describe_seconds(reports),
        ]
    )


def _describe_obstacles(reports: Sequence[Report]) -> Iterator[str]:
    for report in reports:
        if told := report.obstacle or report.clocked or report.unrun:
            yield f"  ! {report.submission}: {told}"


def _describe_marks(reports: Sequence[Report]) -> Iterator[str]:
    counts, most = count_marks(reports), reports[0].max_score
    for i, count in enumerate(counts):
        bar = "█" * round(_BAR * count / max(counts))
        yield f"{most * i / BINS:>6g} – {most * (i + 1) / BINS:<6g} {count:>4} {bar}".rstrip()
    marks = [report.mark for report in reports]
    quartiles = statistics.quantiles(marks, n=4, method="inclusive") if len(marks) > 1 else marks * 3
    low, median, high = (f"{mark:.4g}" for mark in quartiles)
    yield f"mean {statistics.fmean(marks):.4g}, median {median}, quartiles {low} and {high}, of {most:g}"


def _describe_counts(title: str, counts: Sequence[MistakeCount]) -> Iterator[str]:
    if counts:
        yield from ("", title)
    for count in counts:
        yield f"{len(count.who):>5}  {count.name}: {count.what}"
        yield f"       {', '.join(count.who)}"


def _describe_times(reports: Sequence[Report], strays: Sequence[str]) -> Iterator[str]:
    known = [(report.submission, report.late) for report in reports if report.late is not None]
    lists = {
        "not in time": [f"{name}: {late.words}" for name, late in known if late.days],
        "time unknown (nothing deducted)": [name for name, late in known if not late.handed_in],
        "times of no submission here": strays,
    }
    for title, lines in lists.items():
        if lines:
            yield from ("", title, *(f"       {line}" for line in lines))


def _describe_seconds(reports: Sequence[Report]) -> str:
    longest = max(reports, key=lambda report: report.seconds)
    median = statistics.median(report.seconds for report in reports)
    return f"time per submission: median {median:.1f} s, longest {longest.seconds:.1f} s ({longest.submission})"
