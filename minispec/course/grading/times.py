"""When submissions were handed in: from a file of the learning platform's, or from the files themselves."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from minispec.course.grading.student import identify
from minispec.errors import InputError, explain, quote

MTIME = "mtime"
"""Asks for the files' own times, the latest of a folder's: right only where nothing has touched them since."""
_FORMS = "a CSV with the columns submission and handed_in, a JSON object of both, or the JSON of Canvas or Gradescope"


@dataclass(frozen=True)
class Times:
    """Says of a submission's path when it was handed in, or None where nobody has said.

    Parameters
    ----------
    find : callable
    told : mapping of str to datetime
        Whose times stand in the file, and which.
    names_of : callable
        Returns the names under which a submission is looked up there.
    """

    find: Callable[[Path], datetime | None]
    told: Mapping[str, datetime] = field(default_factory=dict)
    names_of: Callable[[Path], Collection[str]] = lambda _: ()

    def __call__(self, path: Path) -> datetime | None:
        """Look one submission up."""
        return self.find(path)

    def find_strays(self, paths: Sequence[Path]) -> list[str]:
        """Return the names in the file that are none of these submissions'."""
        known = {name for path in paths for name in self.names_of(path)}
        return [name for name in self.told if name not in known]


def read_times(source: str, submissions: Sequence[Path] = ()) -> Times:
    """Return what knows when each submission was handed in.

    Parameters
    ----------
    source : str
        :data:`MTIME`, or a file: a CSV with the columns ``submission`` and ``handed_in``; a JSON object of names and
        times; the list that Canvas's API returns for an assignment's submissions (``user_id``, ``submitted_at``),
        looked up by the number in the names that Canvas gives to files; or the ``submission_metadata.json`` that
        Gradescope lays beside one submission (``created_at``). Times are ISO 8601 with an offset from UTC.
    submissions : sequence of Path
        What it is to tell the times of.

    Raises
    ------
    InputError
        If it cannot be read, is none of these, holds a time without its offset or two times for one submission, or
        tells of one submission alone where there are more.
    """
    if source == MTIME:
        return Times(_last_change)
    path = Path(source)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"--times {path} cannot be read: {explain(error)}. Name a file, or '{MTIME}'") from None
    times = _read_json(text, path, len(submissions)) if path.suffix == ".json" else _look_up(_read_csv(text, path))
    _check_names(times, path, submissions)
    return times


def _check_names(times: Times, path: Path, submissions: Sequence[Path]) -> None:
    """Refuse two times under two names of one submission, unless each is the name of a submission."""
    names = {submission.name for submission in submissions}
    for submission in submissions:
        rows = [name for name in times.names_of(submission) if name in times.told]
        if not names >= {*rows}:
            _unite(((submission.name, times.told[name]) for name in rows), path)


def _unite(pairs: Iterable[tuple[str, Any]], path: Path) -> dict[str, Any]:
    """Return what is told; refuse what is told twice, and not the same."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if found.setdefault(name, value) != value:
            both = f"{quote(str(found[name]))} and {quote(str(value))}"
            raise InputError(f"--times {path} has two times for {quote(name)}, {both}; keep the one that counts")
    return found


def _name_both_ways(path: Path) -> tuple[str, str]:
    """Return a submission's name, with and without its ending."""
    return path.name, path.stem


def _last_change(path: Path) -> datetime | None:
    parts = [part for part in path.rglob("*") if part.is_file()] if path.is_dir() else [path]
    try:
        return max((datetime.fromtimestamp(part.lstat().st_mtime, UTC) for part in parts), default=None)
    except (OSError, ValueError, OverflowError):  # gone, or of a year that no calendar has
        return None


def _look_up(times: dict[str, datetime], names_of: Callable[[Path], Collection[str]] = _name_both_ways) -> Times:
    return Times(lambda path: next((times[name] for name in names_of(path) if name in times), None), times, names_of)


def _read_csv(text: str, path: Path) -> dict[str, datetime]:
    rows = csv.DictReader(io.StringIO(text))
    try:
        if not {"submission", "handed_in"} <= set(rows.fieldnames or ()):
            raise InputError(f"--times {path} has no columns submission and handed_in; give {_FORMS}")
        told = [(row["submission"], row["handed_in"]) for row in rows if row["handed_in"]]
        for name, time in told:
            if not name:
                raise InputError(f"--times {path} has {quote(time)} without a submission; name whose it is in that row")
        return _unite(((name, _read_time(time, path)) for name, time in told), path)
    except csv.Error as error:
        raise InputError(f"--times {path} is no CSV: {explain(error)}. Give {_FORMS}") from None


def _read_json(text: str, path: Path, num_submissions: int) -> Times:
    try:
        told = json.loads(text, object_pairs_hook=lambda pairs: _unite(pairs, path))
    except InputError:
        raise
    except (ValueError, RecursionError) as error:
        raise InputError(f"--times {path} is no JSON: {explain(error)}. Give {_FORMS}") from None
    if isinstance(told, dict) and "created_at" in told:
        if num_submissions > 1:
            raise InputError(f"--times {path} is of one submission, and there are {num_submissions}; give {_FORMS}")
        created = _read_time(told["created_at"], path)
        return Times(lambda _: created)
    if isinstance(told, dict):
        return _look_up({name: _read_time(time, path) for name, time in told.items()})
    if isinstance(told, list) and all(
        isinstance(one, dict) and isinstance(one.get("user_id"), int | str) and "submitted_at" in one for one in told
    ):
        rows = ((str(one["user_id"]), _read_time(one["submitted_at"], path)) for one in told if one["submitted_at"])
        return _look_up(_unite(rows, path), lambda submission: (identify(submission.name).number,))
    raise InputError(f"--times {path} is none of the forms that are known; give {_FORMS}")


def _read_time(told: Any, path: Path) -> datetime:
    try:
        time = datetime.fromisoformat(told.strip())
    except (ValueError, AttributeError):
        time = None
    if time is None or time.tzinfo is None:
        raise InputError(f"--times {path} has {quote(told)}, no time with an offset; write 2027-03-05T23:59:00+01:00")
    return time
