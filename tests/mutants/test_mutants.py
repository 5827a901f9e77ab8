"""Each wrong decoder is noticed by the check the catalogue names; and each check passes on the engine as it is."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from typing import Any

import pytest

from minispec.engine.generation import api
from minispec.engine.laws import Enumerator, total_variation
from tests.engine.laws.space import LOADED, PLAIN, PROMPT, table_target

from . import score
from .catalogue import EQUIVALENT, FAMILIES, MUTANTS, Mutant
from .catalogue import rule as named
from .checks import CHECKS
from .checks.base import Check
from .rules import make_verify
from .score import PUBLISHED, RIGHT, evidence, is_killed, report


def by_name(mutant: Mutant) -> str:
    return mutant.name


LONG = ("law of forced",)
"""Takes a minute with a mistake in place; ``tests/engine/drafters/test_forced.py`` has the same law by itself."""


def by_length(mutants: list[Mutant]) -> list[Any]:
    """Leave to hand what takes long, but for the first mistake of each check: so each check is seen to notice one.

    Long are laws, which are enumerated, and tests of the suite, which search for the smallest example.
    """
    shown, marked = set(LONG), []
    for mutant in mutants:
        check = CHECKS[mutant.killed_by]
        takes_long = check.is_suite or check.kind in ("law", "sources")
        by_hand = takes_long and mutant.killed_by in shown
        shown.add(mutant.killed_by)
        marked.append(pytest.param(mutant, id=mutant.name, marks=pytest.mark.exhaustive if by_hand else ()))
    return marked


seen = functools.cache(evidence)


@pytest.mark.parametrize("mutant", by_length(MUTANTS))
def test_mistake_is_noticed(mutant):
    assert is_killed(seen(mutant))


@pytest.mark.parametrize("failures", [(KeyError(), AssertionError()), (KeyError(),)])
def test_one_refusal_among_several_failures_is_enough(failures, monkeypatch):
    def run():
        raise ExceptionGroup("Hypothesis found several", failures)

    monkeypatch.setattr(score, "distance", lambda _name: 0.0)
    monkeypatch.setitem(CHECKS, "fails", Check("value", "it fails", run))
    mutant = dataclasses.replace(MUTANTS[0], killed_by="fails", patch=contextlib.nullcontext)
    if len(failures) == 2:
        assert evidence(mutant) == "AssertionError"
    else:
        with pytest.raises(ExceptionGroup):
            evidence(mutant)


@pytest.mark.parametrize("mutant", EQUIVALENT, ids=by_name)
def test_a_change_that_is_no_mistake_passes(mutant):
    assert mutant.proof
    assert evidence(mutant) <= RIGHT


@pytest.mark.parametrize("rule", ["law of rejection", "sources of rejection", "law of eos", "rows are read only"])
def test_the_scaffold_of_the_wrong_rules_is_itself_right(rule):
    """A second writing of rejection sampling: what tells a wrong rule apart is its one wrong part."""
    with named("rejection", make_verify()):
        assert CHECKS[rule].run() <= RIGHT


def test_the_catalogue_is_large_and_covers_every_family():
    assert len(MUTANTS) >= 300
    assert {mutant.family for mutant in MUTANTS} == set(FAMILIES)
    names = [mutant.name for mutant in [*MUTANTS, *EQUIVALENT]]
    assert len(set(names)) == len(names)
    assert all(mutant.what for mutant in [*MUTANTS, *EQUIVALENT])
    assert not any(mutant.proof for mutant in MUTANTS)


def test_the_first_tokens_law_alone_would_miss_some():
    """Why the checks enumerate several tokens of tables keyed by the whole prefix."""

    def first():
        target, draft = table_target(eos=False), LOADED["table"]
        options = {"draft": draft, "gamma": 2, "max_tokens": 3, **PLAIN}
        return Enumerator(
            lambda noise: api.stream(PROMPT, target=target, noise=noise, **options).run().token_ids[0]
        ).law()

    right = first()
    blind = {"bonus is the argmax", "bonus from the last drafts row", "bonus from the draft"}
    missed = [mutant for mutant in MUTANTS if mutant.name in blind]
    assert len(missed) == len(blind)
    for mutant in missed:
        with mutant.patch():
            assert total_variation(first(), right) < RIGHT, mutant.name


def without_evidence(page: str) -> list[str]:
    """The page but for the last column of its second table: digits that may differ between machines."""
    begin, mistakes, rest = page.partition("## Mistakes")
    table, end, others = rest.partition("## No mistakes")
    rows = [line.rsplit("|", 2)[0] for line in table.splitlines()]
    return [begin, mistakes, *rows, end, others]


def test_the_published_page_is_that_of_the_catalogue():
    """``python -m tests.mutants`` writes it; every mistake in it is noticed."""
    page = PUBLISHED.read_text(encoding="utf-8")
    assert without_evidence(page) == without_evidence(report([1.0] * len(MUTANTS)))
