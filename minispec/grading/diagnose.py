"""Names the mistake: which of the catalogue's behaves as the submission does, and what is the smallest example.

A mistake is known by its *fingerprint*: what its code gives on the checks' fixed cases. A submission has it if it
agrees where the mistake differs from the solution, and where the submission does. Most mistakes are ruled out by the
first case on which the submission is wrong, so this is cheap.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from minispec.errors import InputError, explain, missing
from minispec.grading.check import Case, Check
from minispec.grading.manifest import Assignment
from minispec.grading.observe import FATAL, Failed, Observation, difference, observe, observe_all
from minispec.grading.subject import LocalSubject, Subject

_ALIKE = 2 / 3
"""Share of telling cases on which a mistake must agree to be named as likely."""
_MAX_ENTRIES = 12
"""Of a result whose entries are looked at one by one."""
_MAX_EXAMPLES, _MAX_REQUESTS = 150, 8_000


@dataclass(frozen=True)
class Mistake:
    """A mistake of the catalogue; ``subject`` runs its code, where it is at hand."""

    name: str
    what: str
    fails: str
    subject: LocalSubject | None


@dataclass(frozen=True)
class Diagnosis:
    """A mistake of the catalogue and the share of telling cases on which it agrees."""

    mistake: Mistake
    agreement: float

    @property
    def words(self) -> str:
        """The sentence for the student."""
        return self.mistake.what if self.agreement == 1.0 else f"It looks like this: {self.mistake.what}"


class Reference:
    """What an assignment's own code does on the checks' cases, computed once.

    Parameters
    ----------
    assignment : Assignment
    """

    def __init__(self, assignment: Assignment) -> None:
        self.assignment = assignment
        self.solution: LocalSubject | None = LocalSubject(assignment.solution, assignment.module)
        self._mistakes: list[Mistake] | None = None
        self._expected: dict[str, list[Observation]] = {}
        self._fingerprints: dict[tuple[str, str, int], Observation] = {}

    def expect(self, check: Check) -> list[Observation]:
        """Return what our solution gives on the fixed cases."""
        if check.id not in self._expected:
            self._expected[check.id] = self.expect_on(check, check.cases)
        return self._expected[check.id]

    def expect_on(self, check: Check, cases: Sequence[Case]) -> list[Observation]:
        """Return what our solution gives on some cases.

        Raises
        ------
        InputError
            If it gives none: the assignment is broken, not the submission.
        """
        assert self.solution is not None
        seen = observe_all(check, self.solution, cases)
        for observation in seen:
            if isinstance(observation, Failed):
                raise InputError(
                    f"the solution of {self.assignment.id} fails its own check {check.id}: "
                    f"{observation.words(hidden=False)}. Mend the assignment"
                )
        return seen

    def mistakes(self) -> list[Mistake]:
        """Return the catalogue, loaded."""
        if self._mistakes is None:
            self._mistakes = [
                Mistake(one.name, one.what, one.fails, LocalSubject(one.source, self.assignment.module))
                for one in self.assignment.overlays("mutants")
            ]
        return self._mistakes

    def fingerprint(self, mistake: Mistake, check: Check, i: int) -> Observation:
        """Return what a mistake gives on fixed case ``i``."""
        key = (mistake.name, check.id, i)
        if key not in self._fingerprints:
            assert mistake.subject is not None
            self._fingerprints[key] = observe(check, mistake.subject, check.cases[i])
        return self._fingerprints[key]


def diagnose(reference: Reference, seen: dict[str, list[Observation]], failing: Check) -> Diagnosis | None:
    """Find the mistake that behaves like the submission.

    Parameters
    ----------
    reference : Reference
    seen : dict
        What the submission gave on the fixed cases of the question's checks, by check.
    failing : Check
        The check to explain; if no mistake explains the whole question, it is looked at alone.

    Returns
    -------
    Diagnosis or None
    """
    checks = [reference.assignment.checks[name] for name in seen]
    expected = reference.expect(failing)
    first = next((i for i, right in enumerate(expected) if difference(failing, _at(seen[failing.id], i), right)), None)
    if first is None:  # only hidden cases are wrong
        return None
    ours = _at(seen[failing.id], first)
    alike = [m for m in reference.mistakes() if not difference(failing, ours, reference.fingerprint(m, failing, first))]
    for considered in (checks, [failing]):
        ranked = [
            (agreement, mistake.fails == failing.id, _in_question(mistake, failing), mistake)
            for mistake in alike
            if (agreement := _agreement(reference, mistake, seen, considered)) >= _ALIKE
        ]
        if ranked:
            best = max(ranked, key=lambda entry: entry[:3])
            return Diagnosis(best[3], best[0])
    return _diagnose_by_entries(reference, seen[failing.id], failing)


def _diagnose_by_entries(reference: Reference, seen: list[Observation], failing: Check) -> Diagnosis | None:
    """Find the mistake that gives the same wrong entries of results that have several, if only one mistake does.

    It may have other entries wrong too, in which the submission is right: whoever averages ratios may do it in one of
    two figures.
    """
    known = [mistake for mistake in reference.mistakes() if mistake.fails == failing.id]
    agreeing = dict.fromkeys((mistake.name for mistake in known), 0)
    telling = 0
    for i, right in enumerate(reference.expect(failing)):
        wrong = _wrong_entries(failing, _at(seen, i), right)
        if wrong is None:
            return None
        telling += bool(wrong)
        for mistake in known if wrong else ():
            theirs = _wrong_entries(failing, reference.fingerprint(mistake, failing, i), right) or {}
            agreeing[mistake.name] += all(
                key in theirs and difference(failing, entry, theirs[key]) is None for key, entry in wrong.items()
            )
    shares = {name: count / telling for name, count in agreeing.items() if telling and count >= _ALIKE * telling}
    if len(shares) != 1:
        return None
    ((name, share),) = shares.items()
    return Diagnosis(next(mistake for mistake in known if mistake.name == name), min(share, 0.99))


def _wrong_entries(check: Check, observed: Observation, right: Observation) -> dict[Any, Any] | None:
    """Return the wrong entries of a result, by key or place; None of what has no entries, or others than are right."""
    pair = [dict(enumerate(one)) if isinstance(one, (list, tuple)) else one for one in (observed, right)]
    if (
        not all(isinstance(one, dict) and 1 < len(one) <= _MAX_ENTRIES for one in pair)
        or pair[0].keys() != pair[1].keys()
    ):
        return None
    return {key: entry for key, entry in pair[0].items() if difference(check, entry, pair[1][key]) is not None}


def _in_question(mistake: Mistake, check: Check) -> bool:
    return mistake.fails.rpartition(".")[0] == check.id.rpartition(".")[0]


def _agreement(
    reference: Reference, mistake: Mistake, seen: dict[str, list[Observation]], checks: Sequence[Check]
) -> float:
    """Share of cases on which both are alike, of those on which either differs from the solution."""
    telling = agreeing = 0
    for check in checks:
        right = reference.expect(check)
        for i in range(len(check.cases)):
            ours = _at(seen[check.id], i)
            theirs, expected = reference.fingerprint(mistake, check, i), right[i]
            if difference(check, ours, expected) or difference(check, theirs, expected):
                telling += 1
                agreeing += difference(check, ours, theirs) is None
    return agreeing / telling if telling else 0.0


def _at(seen: list[Observation], i: int) -> Observation:
    """Return what was seen of case ``i``; after a fatal failure, that failure."""
    return seen[min(i, len(seen) - 1)] if seen else Failed("not run")


class _EnoughError(KeyboardInterrupt):
    """Stops a search at once; hypothesis lets interrupts through."""


def smallest_example(
    reference: Reference, check: Check, subject: Subject, *, until: float = math.inf
) -> tuple[Case, Observation] | None:
    """Search for the smallest case on which a submission is wrong, always the same way.

    Parameters
    ----------
    reference : Reference
    check : Check
        With a ``search``.
    subject : Subject
        The submission, in a worker of its own.
    until : float
        On the monotonic clock: what is found by then counts.

    Returns
    -------
    (dict, observation) or None
    """
    if check.search is None or reference.solution is None:
        return None
    try:
        import hypothesis
    except ImportError:
        raise missing("hypothesis", "finding the smallest failing example needs", "grade") from None
    found: list[tuple[Case, Observation]] = []
    budget = [_MAX_REQUESTS]

    def is_wrong(case: Case) -> bool:
        before = subject.requests
        observation = observe(check, subject, case)
        budget[0] -= subject.requests - before
        if budget[0] < 0 or time.monotonic() > until or (isinstance(observation, Failed) and observation.kind in FATAL):
            raise _EnoughError
        if difference(check, observation, reference.expect_on(check, [case])[0]) is None:
            return False
        found.append((case, observation))
        return True

    settings = hypothesis.settings(
        max_examples=_MAX_EXAMPLES,
        derandomize=True,
        database=None,
        deadline=None,
        phases=(hypothesis.Phase.generate, hypothesis.Phase.shrink),
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    try:
        hypothesis.find(check.search(), is_wrong, settings=settings, random=random.Random(0))
    except (_EnoughError, hypothesis.errors.HypothesisException):
        pass  # what was found before counts
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"the search of check {check.id} cannot be used: {explain(error)}. Mend it") from error
    return found[-1] if found else None
