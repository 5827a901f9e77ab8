"""Names the mistake: which of the catalogue's behaves as the submission does, and what is the smallest example.

A mistake is known by its *fingerprint*: what its code gives on the checks' fixed cases. A submission has it if it
agrees where the mistake differs from the solution, and where the submission does. Most mistakes are ruled out by the
first case on which the submission is wrong, so this is cheap. What is left is told only if submission and mistake also
agree on cases drawn anew: on those that everybody has, two mistakes may agree by chance.
"""

from __future__ import annotations

import copy
import math
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from minispec.course.grading.check import Case, Check
from minispec.course.grading.manifest import Assignment
from minispec.course.grading.observe import FATAL, Failed, Observation, difference, observe, observe_all
from minispec.course.grading.relations import TOLD, in_words, other_arguments
from minispec.course.grading.subject import LocalSubject, Subject
from minispec.errors import InputError, explain, missing

_ALIKE = 3 / 4
"""Share of telling cases on which a mistake must agree to be named as likely."""
CHANGED = "changes_its_arguments"
_CHANGED_WORDS = (
    "You change what your function is given: x -= ..., x[...] = ... and list.append change the caller's own. "
    "Work on a copy, or make a new value."
)
"""A mistake that needs no catalogue, as those below: the worker has seen it happen."""
_RAISED = {
    "ZeroDivisionError": "you divide by 0: say first what is right where there is nothing to divide by.",
    "IndexError": "you read an entry that a list or an array does not have: what about short ones, and empty ones?",
    "KeyError": "you read a key that a dictionary does not have: compare its name with what is given.",
    "RecursionError": "your function calls itself without an end: does each call come nearer to what ends it?",
    "NameError": "you use a name that has no value there: is it spelt as before, and always set before that?",
}
_NOT_SURE = 0.99
"""At most so far agrees a mistake of which something was not looked at: it is told as likely."""
_ANEW = 12
"""Cases drawn anew, at least, unless few are fixed: each costs a run of submission, mistake and solution."""
_RIVAL = 1.0 - 2.0 * (1.0 - _ALIKE)
"""Below it a mistake is no rival of a likely one."""
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

    def afresh(self) -> Reference:
        """Return the same code, with nothing computed yet: for checks that have other cases."""
        other = copy.copy(self)
        other._mistakes, other._expected, other._fingerprints = self.mistakes(), {}, {}
        return other


Anew = tuple[list[Case], list[Observation]]
"""Cases drawn anew, and what a submission gave on them."""


def run_anew(check: Check, subject: Subject, rng: np.random.Generator) -> Anew:
    """Draw some cases, and run a submission on them; none of what no student may see."""
    cases: list[Case] = []
    while check.hidden and not check.secret and len(cases) < min(_ANEW, (len(check.cases) + 1) // 2):
        cases += check.hidden(rng)
    return cases, observe_all(check, subject, cases)


def diagnose(
    reference: Reference, seen: dict[str, list[Observation]], failing: Check, anew: Callable[[], Anew]
) -> Diagnosis | None:
    """Find the mistake that behaves like the submission.

    Parameters
    ----------
    reference : Reference
    seen : dict
        What the submission gave on the fixed cases, by check: of all checks of the question, and of as many others as
        have been run.
    failing : Check
        The check to explain; if no mistake explains the whole question, it is looked at alone.
    anew : callable
        Returns cases of this check that were drawn anew and what the submission gave on them, as :func:`run_anew` does.
        A name that they contradict is not given; without cases every name is only likely.

    Returns
    -------
    Diagnosis or None
    """
    checks = [reference.assignment.checks[name] for name in seen if _question(name) == _question(failing.id)]
    expected = reference.expect(failing)
    first = next((i for i, right in enumerate(expected) if difference(failing, _at(seen[failing.id], i), right)), None)
    if first is None:  # only hidden cases are wrong
        return None
    ours = _at(seen[failing.id], first)
    if isinstance(ours, Failed) and ours.kind == "changed":
        return Diagnosis(Mistake(CHANGED, _CHANGED_WORDS, failing.id, None), 1.0)
    alike = [
        mistake
        for mistake in reference.mistakes()
        if not difference(failing, ours, reference.fingerprint(mistake, failing, first))
        and _agreement(reference, mistake, seen, [failing]) >= _RIVAL
        and not _is_contradicted(reference, mistake, seen, failing)
    ]
    again = _Again(reference, failing, anew)
    for considered in (checks, [failing]):
        agreements = {mistake: _agreement(reference, mistake, seen, considered) for mistake in alike}
        best = _choose(agreements, failing)
        if best is None:
            continue
        if (share := again.weigh(best, agreements[best])) >= _ALIKE:
            return Diagnosis(best, share)
    if isinstance(ours, Failed) and ours.kind == "raised":
        type_name = "NameError" if ours.type_name == "UnboundLocalError" else ours.type_name
        words = _RAISED.get(type_name)
        told = Mistake(f"raises_{type_name}", f"{ours.type_name}: {words}", failing.id, None)
        return Diagnosis(told, 1.0) if words else None
    by_entries = _diagnose_by_entries(reference, seen[failing.id], failing, again)
    return by_entries or _diagnose_by_laws(reference, seen, failing, again)


class _Again:
    """The check that fails, on cases drawn anew: what the submission gave on them, and what our code does."""

    def __init__(self, reference: Reference, failing: Check, anew: Callable[[], Anew]) -> None:
        self._reference, self._failing, self._anew = reference, failing, anew

    @cached_property
    def drawn(self) -> tuple[Reference, Check, list[Observation]]:
        """The reference, the check with these cases, and what was seen."""
        cases, seen = self._anew()
        return self._reference.afresh(), replace(self._failing, cases=cases), seen

    def weigh(self, mistake: Mistake, agreement: float, entries: Sequence[Any] | None = None) -> float:
        """Return how far a mistake agrees that agrees so far on fixed cases: as a whole, or in some entries."""
        known, check, seen = self.drawn
        if not check.cases:
            return min(agreement, _NOT_SURE)
        if entries is None:
            share = _share(_tell(known, mistake, {check.id: seen}, [check]))
        else:
            share = _agreement_of_entries(known, mistake, seen, check, entries)
        return agreement if share is None else min(agreement, share)


def _diagnose_by_laws(
    reference: Reference, seen: dict[str, list[Observation]], failing: Check, again: _Again
) -> Diagnosis | None:
    """Say what is true of the observations, as the check can tell; never of what may be wrong for another reason."""
    if any(isinstance(one, Failed) for one in seen[failing.id]):
        return None
    for name in failing.after:
        check = reference.assignment.checks[name]
        pairs = enumerate(reference.expect(check))
        if name not in seen or any(difference(check, _at(seen[name], i), right) for i, right in pairs):
            return None
    known, drawn, anew = again.drawn
    cases, observed = [*failing.cases, *drawn.cases], [*seen[failing.id], *anew]
    expected = [*reference.expect(failing), *(known.expect(drawn) if drawn.cases else [])]
    try:
        told = (
            (failing.explain and failing.explain(cases, observed, expected))
            or _as_if_given_other(reference, failing, cases, observed)
            or in_words(failing, cases, observed, expected)
        )
    except Exception:  # it met something that it was not made for
        return None
    return Diagnosis(Mistake(*told, failing.id, None), 1.0 if drawn.cases else _NOT_SURE) if told else None


def _as_if_given_other(
    reference: Reference, check: Check, cases: Sequence[Case], observed: Sequence[Observation]
) -> tuple[str, str] | None:
    """Say of what other arguments what was observed would be right, in every case."""
    assert reference.solution is not None
    for words, change in other_arguments(check):
        pairs = zip(cases, observed, strict=True)
        if all(difference(check, one, observe(check, reference.solution, change(case))) is None for case, one in pairs):
            return TOLD, f"Your result would be right {words}."
    return None


def _choose(agreements: dict[Mistake, float], failing: Check) -> Mistake | None:
    """Return the mistake that agrees everywhere, or the likely one: if it agrees often, and no other nearly as often.

    On whole numbers and short lists mistakes agree by chance. Where one of them is likely and the next one is half as
    likely, neither is named.
    """

    def rank(mistake: Mistake) -> tuple[float, bool, bool]:
        return agreements[mistake], mistake.fails == failing.id, _question(mistake.fails) == _question(failing.id)

    if not agreements:
        return None
    first, *others = sorted(agreements, key=rank, reverse=True)
    if agreements[first] < _ALIKE:
        return None
    rivals = [1.0 - agreements[other] for other in others]
    if agreements[first] == 1.0:
        return None if others and rank(others[0]) == rank(first) else first
    return first if all(missed >= 2 * (1.0 - agreements[first]) for missed in rivals) else None


def _is_contradicted(
    reference: Reference, mistake: Mistake, seen: dict[str, list[Observation]], failing: Check
) -> bool:
    """Whether the mistake would show in another check of the question, or in its own one, and does not.

    Where the submission has a second mistake, the other checks go wrong in ways that this one does not explain; that
    contradicts nothing, as long as they do where this one is wrong.
    """
    others = {name for name in seen if _question(name) == _question(failing.id)}
    others |= {mistake.fails} & seen.keys()
    for name in others - {failing.id}:
        check = reference.assignment.checks[name]
        agreeing = [
            _is_alike(check, _at(seen[name], i), theirs)
            for i, right in enumerate(reference.expect(check))
            if difference(check, theirs := reference.fingerprint(mistake, check, i), right)
        ]
        if agreeing.count(False) > (1.0 - _ALIKE) * len(agreeing):
            return True
    return False


def _is_alike(check: Check, ours: Observation, theirs: Observation) -> bool | None:
    """Whether two observations are the same; None of exceptions of one type: the words depend on the code."""
    if difference(check, ours, theirs) is None:
        return True
    raised = all(isinstance(one, Failed) and one.kind == "raised" for one in (ours, theirs))
    return None if raised and ours.type_name == theirs.type_name else False


def _diagnose_by_entries(
    reference: Reference, seen: list[Observation], failing: Check, again: _Again
) -> Diagnosis | None:
    """Find the mistake that gives the same wrong entries of results that have several, if only one mistake does.

    It may have other entries wrong too, which the submission always has right: whoever averages ratios may do it in one
    of two figures. If none explains all of the submission's wrong entries, the first figure that one explains has its
    name.
    """
    expected = reference.expect(failing)
    wrong = [_wrong_entries(failing, _at(seen, i), right) for i, right in enumerate(expected)]
    if any(one is None for one in wrong):
        return None
    entries = list(dict.fromkeys(key for one in wrong for key in one or ()))
    figures = [key for key in entries if all(isinstance(one[key], (int, float)) for one in wrong if one and key in one)]
    for some in (entries, *([key] for key in figures)):
        shares = {
            mistake: share
            for mistake in reference.mistakes()
            if mistake.fails == failing.id
            and (share := _agreement_of_entries(reference, mistake, seen, failing, some) or 0.0) >= _ALIKE
        }
        if len(shares) == 1:
            ((mistake, share),) = shares.items()
            share = again.weigh(mistake, share, some)
            return Diagnosis(mistake, min(share, _NOT_SURE)) if share >= _ALIKE else None
    return None


def _agreement_of_entries(
    reference: Reference, mistake: Mistake, seen: list[Observation], check: Check, entries: Sequence[Any]
) -> float | None:
    """Share of cases in which some entries are wrong alike, of those in which either has one of them wrong, if any."""
    told = []
    for i, right in enumerate(reference.expect(check)):
        pair = [_wrong_entries(check, one, right) for one in (_at(seen, i), reference.fingerprint(mistake, check, i))]
        if any(one is None for one in pair):
            return 0.0
        ours, theirs = ({key: entry for key, entry in (one or {}).items() if key in entries} for one in pair)
        if ours or theirs:
            same_keys = bool(theirs) and ours.keys() == theirs.keys()
            told.append(same_keys and all(difference(check, ours[key], theirs[key]) is None for key in ours))
    return _share(told)


def _wrong_entries(check: Check, observed: Observation, right: Observation) -> dict[Any, Any] | None:
    """Return the wrong entries of a result, by key or place; None of what has no entries, or others than are right."""
    pair = [dict(enumerate(one)) if isinstance(one, (list, tuple)) else one for one in (observed, right)]
    if (
        not all(isinstance(one, dict) and 1 < len(one) <= _MAX_ENTRIES for one in pair)
        or pair[0].keys() != pair[1].keys()
    ):
        return None
    return {key: entry for key, entry in pair[0].items() if difference(check, entry, pair[1][key]) is not None}


def _question(check_id: str) -> str:
    return check_id.rpartition(".")[0]


def _agreement(
    reference: Reference, mistake: Mistake, seen: dict[str, list[Observation]], checks: Sequence[Check]
) -> float:
    """Share of cases on which both are alike, of those on which either differs from the solution."""
    return _share(_tell(reference, mistake, seen, checks)) or 0.0


def _tell(
    reference: Reference, mistake: Mistake, seen: dict[str, list[Observation]], checks: Sequence[Check]
) -> list[bool | None]:
    """Whether both are alike, of each case on which either differs from the solution."""
    return [
        _is_alike(check, ours, theirs)
        for check in checks
        for i, right in enumerate(reference.expect(check))
        for ours, theirs in [(_at(seen[check.id], i), reference.fingerprint(mistake, check, i))]
        if difference(check, ours, right) or difference(check, theirs, right)
    ]


def _share(told: Sequence[bool | None]) -> float | None:
    """Return the share of those that are alike; None where nothing tells."""
    return told.count(True) / told_at_all if (told_at_all := len(told) - told.count(None)) else None


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
