"""Runs a check's cases on a subject; keeps what was seen, or how it failed."""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from minispec.course.grading.check import Case, Check
from minispec.course.grading.host import NotAValueError, decode, encode
from minispec.course.grading.subject import StudentError, Subject
from minispec.errors import quote

FATAL = frozenset({"time", "clock", "output", "died", "protocol", "excess"})
"""Failures after which a worker is of no more use."""
_WITHHELD = {
    "time": "took too long",
    "clock": "gave no answer in time",
    "output": "printed too much",
    "died": "ended its process",
    "excess": "gave or asked for too much",
    "changed": "changed an argument in place",
    "not a value": "gave something that is no value",
}


@dataclass(frozen=True)
class Failed:
    """A case that gave no value."""

    kind: str
    type_name: str = ""
    message: str = ""
    where: str = ""
    place: str = ""

    @classmethod
    def of(cls, error: StudentError) -> Failed:
        """Keep an error as an observation."""
        return cls(
            kind=error.kind, type_name=error.type_name, message=error.message, where=error.where, place=error.place
        )

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What makes two failures the same: also what was said, and in which function; not on which line."""
        return self.kind, self.type_name, show_line(self.message), self.place

    def words(self, *, hidden: bool) -> str:
        """Say it in one line; of hidden cases nothing that the submission chose, since it could tell the inputs."""
        if self.kind == "not implemented":
            return "not implemented yet"
        if self.kind == "protocol":
            return "the worker sent what is no answer"
        if self.kind == "missing":  # the name is the one that was asked for, so it tells nothing
            return f"the function {self.message} is missing"
        if hidden:
            return _WITHHELD.get(self.kind, "raised an exception")
        place = f" ({show_line(self.where)})" if self.where else ""
        detail = f": {show_line(self.message)}" if self.message else ""
        if self.kind == "not installed":
            return f"imports {self.message}, which is not installed here{place}"
        if self.kind == "raised" and self.type_name == "MemoryError":
            return f"ran out of memory{place}"
        if self.kind == "raised" and self.type_name == "OSError" and "File too large" in self.message:
            return f"printed or wrote too much{place}"
        if self.kind in ("raised", "syntax"):
            return f"{'cannot be loaded: ' if self.kind == 'syntax' else 'raised '}{self.type_name}{detail}{place}"
        if self.kind == "not a value":
            return f"gave something that is no value{detail}"
        return show_line(self.message)


def show_line(text: str) -> str:
    """One printable line without addresses, so that equal submissions get equal reports."""
    return quote(re.sub(r"0x[0-9a-fA-F]{4,}", "0x...", " ".join(text.split())))[1:-1]


Observation = Any
"""A value, or :class:`Failed`."""


def observe(check: Check, subject: Subject, case: Case) -> Observation:
    """Run one case; whatever the subject does to it is seen as a value or as :class:`Failed`.

    A check may stumble over what a submission returns, or run out of memory over it: that is the submission's failure,
    and our own solution, which is run through the same code, shows that it is not the check's.
    """
    subject.forget()
    try:
        seen = check.observe(subject, copy.deepcopy(case))
        return decode(encode(seen))
    except StudentError as error:
        return Failed.of(error)
    except NotAValueError as error:
        return Failed("not a value", "TypeError", str(error))
    except Exception as error:
        return Failed("not a value", type(error).__name__, f"of the expected kind ({type(error).__name__}: {error})")


def observe_all(check: Check, subject: Subject, cases: Sequence[Case]) -> list[Observation]:
    """Run cases in order, up to the first that leaves the subject unusable."""
    seen: list[Observation] = []
    for case in cases:
        seen.append(observe(check, subject, case))
        if isinstance(seen[-1], Failed) and seen[-1].kind in FATAL:
            break
    return seen


def difference(check: Check, observed: Observation, expected: Observation) -> str | None:
    """Compare two observations of one case: the difference in words, or None."""
    if isinstance(observed, Failed) or isinstance(expected, Failed):
        if isinstance(observed, Failed) and isinstance(expected, Failed):
            return None if observed.key == expected.key else "fails in another way"
        return observed.words(hidden=False) if isinstance(observed, Failed) else "does not fail"
    try:
        return check.same(observed, expected)
    except Exception as error:  # a comparison met something it was not made for
        return f"the result cannot be compared ({type(error).__name__})"
