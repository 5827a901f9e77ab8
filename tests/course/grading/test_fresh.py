"""Fresh submissions: right ones lose nothing, wrong ones are caught, and nobody gets points for nothing.

Written and generated without looking at the checks. They run in this process, on the fixed cases and on drawn ones.
"""

from __future__ import annotations

import hashlib
from functools import cache

import numpy as np
import pytest

from minispec.course.grading.diagnose import Reference, diagnose
from minispec.course.grading.manifest import load_assignment
from minispec.course.grading.observe import difference, observe, observe_all
from minispec.course.grading.report import CheckResult, QuestionResult, Report
from minispec.course.grading.subject import Allowance, LocalSubject, StudentError

from . import fresh, strategies
from .once_passed import ONCE_PASSED
from .test_content import drawn_anew

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::SyntaxWarning")

NAMES = ("a1", "a2", "a3", "a4", "a6")
MAX_CPU_S = {"a1": 10.0, "a2": 40.0, "a3": 3.0, "a4": 3.0, "a6": 6.0}
"""For one changed solution, some of which loop; the others take a tenth."""


@cache
def reference(name: str) -> Reference:
    return Reference(load_assignment(name))


def score(name: str, source: str, only: str = "", *, explain: bool = False) -> Report:
    """Grade in this process what is known to be harmless: some questions, up to the first wrong case of each check."""
    known = reference(name)
    assignment = known.assignment
    questions = []
    student = LocalSubject(source, assignment.module)
    seed = int.from_bytes(hashlib.sha256(source.encode()).digest()[:4], "big")
    for question in assignment.questions:
        results = []
        for info in question.checks if question.id.startswith(only) else ():
            check = assignment.checks[info.id]
            words = first_difference(check, student, check.cases, known.expect(check))
            if not words:
                drawn = list(check.hidden(np.random.default_rng(seed)))
                words = first_difference(check, student, drawn, known.expect_on(check, drawn))
            points, status = (0.0, "failed") if words else (info.points, "passed")
            results.append(CheckResult(check.id, info.title, points, info.points, info.visibility, status, words))
        if explain and any(result.message for result in results):
            seen = {
                one.id: observe_all(assignment.checks[one.id], student, assignment.checks[one.id].cases)
                for one in results
            }
            for result in results:
                check = assignment.checks[result.id]
                found = diagnose(known, seen, check, drawn_anew(check, student)) if result.message else None
                if found is not None:
                    result.mistake, result.example = found.mistake.name, f"{found.agreement:.2f}"
        questions.append(QuestionResult(question.id, question.title, results))
    return Report(name, "", "", "", "", questions, {}, [], {}, 0.0)


def first_difference(check, student, cases, expected) -> str:
    for case, right in zip(cases, expected, strict=True):
        if words := difference(check, observe(check, student, case), right):
            return words
    return ""


def lost(report: Report) -> dict[str, str]:
    return {check.id: check.message for check in report.checks if check.status != "passed"}


LONGEST, LONG_A3, LONG_A6 = (pytest.param(name, marks=pytest.mark.exhaustive) for name in ("a2", "a3", "a6"))
SLOW_A1 = pytest.param("a1", marks=pytest.mark.slow)


@pytest.mark.slow
def test_there_are_many() -> None:
    assert sum(len(list(fresh.right_ones(name))) for name in NAMES) >= 200
    assert sum(len(fresh.wrong_ones(name)) for name in NAMES) >= 300


@pytest.mark.parametrize("name", ["a3", "a4", LONG_A6, SLOW_A1, LONGEST])
def test_right_answers_in_other_forms_lose_nothing(name: str) -> None:
    assert {form: found for form, source in fresh.right_ones(name) if (found := lost(score(name, source)))} == {}


@pytest.mark.parametrize("name", ["a4", "a6", LONG_A3, SLOW_A1, LONGEST])
def test_fresh_mistakes_are_caught(name: str) -> None:
    """Prints how many are named, exactly and as likely, too."""
    made, missed, exactly, likely = fresh.wrong_ones(name), [], 0, 0
    for one in made:
        try:
            with Allowance(MAX_CPU_S[name]):
                report = score(name, one.source, one.question, explain=True)
        except StudentError:  # it never ends: its worker would be stopped, and the check failed
            continue
        found = [check for check in report.checks if check.status != "passed"]
        if not found:
            missed.append(one.name)
        exactly += any(check.example == "1.00" for check in found)
        likely += any(check.example not in ("", "1.00") for check in found)
    caught = len(made) - len(missed)
    print(f"{name}: {caught} of {len(made)} caught, {exactly} named, {likely} as likely; missed {missed}")
    assert len(missed) <= 0.03 * len(made), missed


@pytest.mark.parametrize(
    "name", ["a3", "a4", "a6", *(pytest.param(name, marks=pytest.mark.slow) for name in ("a1", "a2"))]
)
def test_what_once_passed_fails(name: str) -> None:
    told = {check: sources for check, sources in ONCE_PASSED.items() if check.startswith(name)}
    assert told
    for check, sources in told.items():
        for what, source in sources.items():
            report = score(name, f"{reference(name).assignment.solution}\n{source}", check.rpartition(".")[0])
            assert check in lost(report), what


LONG = [pytest.param(name, marks=pytest.mark.exhaustive) for name in ("a2", "a5")]


@pytest.mark.parametrize("name", ["a1", "a3", "a4", "a6", *LONG])
def test_nobody_gets_points_for_nothing(name: str) -> None:
    """Forty strategies per assignment are worth what is honest in them, by the points of the questions solved."""
    known = reference(name)
    played = list(strategies.strategies(known))
    assert len(played) >= 40
    needs = known.assignment.needs
    wrong = {}
    for strategy in played:
        report = score(name, strategy.source).settle(needs)
        worth = sum(check.max_points for check in report.checks if check.id.rpartition(".")[0] in strategy.honest)
        if report.score != worth:
            wrong[strategy.name] = (report.score, [check.id for check in report.checks if check.points])
    assert wrong == {}
