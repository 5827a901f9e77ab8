"""Due dates and late days: a rule of the assignment, applied to what a submission gained."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from minispec.errors import InputError

_DAY = timedelta(days=1)
_ENTRIES = ("at", "free_days", "penalty_per_day", "max_days")


@dataclass(frozen=True)
class Lateness:
    """How late one submission was, and what that costs.

    Parameters
    ----------
    handed_in : str
        ISO 8601; empty where it is not known.
    days : int
        Late days, each counted from its first second.
    deduction : float
        Points.
    words : str
        The same in a sentence, with the rule.
    """

    handed_in: str
    days: int
    deduction: float
    words: str


@dataclass(frozen=True)
class Deadline:
    """When an assignment is due, and what a late day costs.

    Parameters
    ----------
    at : datetime
        With its offset from UTC.
    free_days : int
        Late days that cost nothing.
    penalty_per_day : float
        Share of the assignment's points that each further day costs, in [0, 1].
    max_days : int or None
        What is later gets no points; None: whatever comes is graded.

    Examples
    --------
    >>> due = Deadline(datetime.fromisoformat("2027-03-05T23:59:00+01:00"), 1, 0.1, None)
    >>> late = due.judge(datetime.fromisoformat("2027-03-08T00:00:00+01:00"), score=80.0, max_score=100.0)
    >>> late.days, late.deduction
    (3, 20.0)
    """

    at: datetime
    free_days: int = 0
    penalty_per_day: float = 0.0
    max_days: int | None = None

    @property
    def words(self) -> str:
        """The rule in a sentence."""
        told = f"due {self.at.isoformat(' ')}"
        if self.free_days:
            told += f"; {count_days(self.free_days)} late without loss"
        if self.penalty_per_day:
            told += (
                f"; each {'further' if self.free_days else 'late'} day costs {self.penalty_per_day:.0%} of the points"
            )
        if self.max_days is not None:
            told += f"; nothing after {count_days(self.max_days)}" if self.max_days else "; nothing later"
        return told

    def judge(self, handed_in: datetime | None, *, score: float, max_score: float) -> Lateness:
        """Say what becomes of ``score`` points of ``max_score``.

        Parameters
        ----------
        handed_in : datetime or None
            None: not known, so nothing is taken off.
        score, max_score : float

        Returns
        -------
        Lateness
        """
        if handed_in is None:
            return Lateness("", 0, 0.0, f"when it was handed in is not known; {self.words}")
        days = max(0, math.ceil((handed_in - self.at) / _DAY))
        if self.max_days is not None and days > self.max_days:
            deduction, told = score, "too late for points"
        else:
            wanted = max(0, days - self.free_days) * self.penalty_per_day * max_score
            deduction = min(score, round(wanted, 6))  # 30, not 30.000000000000004
            told = f"minus {deduction:g}" if deduction else "nothing taken off"
        late = f"{count_days(days)} late, {told}" if days else "in time"
        return Lateness(
            handed_in.isoformat(), days, deduction, f"handed in {handed_in.isoformat(' ')}: {late}; {self.words}"
        )


def count_days(days: int) -> str:
    """Write a number of days."""
    return "1 day" if days == 1 else f"{days} days"


def read_deadline(told: Mapping[str, Any]) -> Deadline:
    """Read the table ``[due]`` of a manifest.

    Raises
    ------
    InputError
        If an entry breaks its rule.
    """
    odd = sorted(set(told) - set(_ENTRIES))
    if odd:
        raise InputError(f"[due] has {odd[0]}, which is no entry; there are {', '.join(_ENTRIES)}")
    at, free, last = told.get("at"), told.get("free_days", 0), told.get("max_days")
    penalty = told.get("penalty_per_day", 0.0)
    if not isinstance(at, datetime) or at.tzinfo is None:
        raise InputError(f"[due] at is {at}; give a time with its offset, such as 2027-03-05T23:59:00+01:00")
    for name, days in (("free_days", free), ("max_days", last)):
        if days is not None and (type(days) is not int or days < 0):
            raise InputError(f"[due] {name} is {days}; give a whole number of days, such as 2")
    if type(penalty) not in (int, float) or not 0 <= penalty <= 1:
        raise InputError(f"[due] penalty_per_day is {penalty}; give a share of the points in [0, 1], such as 0.1")
    if last is not None and last < free:
        raise InputError(f"[due] max_days is {last}, fewer than the {free} free_days; give at least {free}")
    return Deadline(at, free, float(penalty), last)
