"""The generator of the covering array is held to its promise by counting."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from minispec.engine.control import registry
from minispec.engine.drafters import parse_draft
from minispec.engine.drafters.spec import HEADS, KINDS
from minispec.engine.verifiers import VERIFIER_NAMES, get_verifier

from .covering import combinations, covering, product
from .space import AXES, CASES, COVERING, DRAFTS, POLICIES, compatible, models_by_name

SIZES = st.lists(st.integers(1, 4), min_size=2, max_size=4)


@given(SIZES, st.sets(st.integers(0, 60)), st.sampled_from([2, 3]))
def test_what_a_compatible_case_combines_is_covered_and_nothing_else_is_chosen(sizes, forbidden, strength):
    axes = {f"axis {i}": [f"level {j}" for j in range(size)] for i, size in enumerate(sizes)}
    cases = [case for i, case in enumerate(product(axes, lambda case: True)) if i not in forbidden]
    if not cases:
        return
    chosen = covering(cases, strength)
    assert all(case in cases for case in chosen)
    wanted, found = ({c for case in some for c in combinations(case, strength)} for some in (cases, chosen))
    assert found == wanted
    assert len(chosen) <= len(cases)


def test_a_known_optimum_is_reached_when_there_are_two_axes():
    axes = {"a": ["1", "2", "3"], "b": ["x", "y"]}
    assert len(covering(product(axes, lambda case: True), 2)) == 6


def test_the_suite_covers_every_pair_of_levels_that_can_be_combined_at_all():
    covered = {pair for case in COVERING for pair in combinations(case, 2)}
    for (one, left), (other, right) in itertools.combinations(AXES.items(), 2):
        for pair in itertools.product(left, right):
            possible = any(case[one] == pair[0] and case[other] == pair[1] for case in CASES)
            assert possible == (((one, pair[0]), (other, pair[1])) in covered), pair
    assert all(compatible(case) for case in COVERING)
    assert {level for case in COVERING for level in case.values()} == {
        level for levels in AXES.values() for level in levels
    }


def test_whatever_the_command_knows_is_a_level():
    """Heads have their laws in ``tests/engine/drafters/test_heads.py``; the command decides what goes together."""
    with models_by_name():
        drafts = [parse_draft(draft) for draft in DRAFTS.values()]
    assert {draft.kind for draft in drafts} == set(KINDS) - set(HEADS)
    trees = [draft.options for draft in drafts if draft.is_tree]
    grown = {(each["siblings"], each["shape"] == "dynamic") for each in trees}
    assert grown == set(itertools.product(("with", "without", "likeliest"), (False, True)))
    assert set(AXES["verify"]) == {rule for rule in VERIFIER_NAMES if get_verifier(rule).lossless}
    kinds = {policy.partition(":")[0] for policy in POLICIES.values() if isinstance(policy, str)}
    assert kinds == set(registry._KINDS)


def test_it_is_the_same_array_each_time():
    assert covering(CASES, 2) == COVERING
