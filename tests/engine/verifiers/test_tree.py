"""Multi-round rejection over a tree: the target's law exactly, known acceptances, and what its wrong versions do."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from minispec.engine.noise import Coins
from minispec.engine.noise.philox import PhiloxNoise
from minispec.engine.records import Draft, Verdict
from minispec.engine.verifiers import rejection
from minispec.engine.verifiers import tree as rule
from minispec.engine.verifiers.base import list_children
from minispec.engine.verifiers.rejection import residual
from minispec.errors import InvariantError
from tests.audited_noise import AuditedNoise
from tests.engine.verifiers import exact
from tests.engine.verifiers.exact import (
    always,
    chain,
    frozen,
    independent,
    likeliest,
    random_laws,
    tree,
    without_replacement,
)

P, Q = frozen([0.5, 0.3, 0.15, 0.05]), frozen([0.2, 0.5, 0.1, 0.2])
SHAPES = [(-1,), (-1, -1), (-1, -1, -1), (-1, 0, 1), (-1, -1, 0, 0, 1), (-1, -1, 1, 0, 2), (-1, 0, -1, 0, 2)]


def depth(parents: tuple[int, ...]) -> int:
    depths = [0]
    for parent in parents:
        depths.append(depths[parent + 1] + 1)
    return max(depths)


@pytest.mark.parametrize("parents", SHAPES)
@pytest.mark.parametrize("siblings", [independent, without_replacement, likeliest])
@pytest.mark.parametrize(("seed", "zeros"), [(0, 0.0), (1, 0.4)])
def test_output_has_the_targets_law(
    parents: tuple[int, ...], siblings: exact.Siblings, seed: int, zeros: float
) -> None:
    target, draft = random_laws(seed, 3, zeros), random_laws(seed + 100, 3, zeros)
    assert exact.distance(rule.verify, target, tree(draft, parents, siblings), depth(parents) + 1) < 1e-12


@settings(max_examples=40)
@given(
    st.integers(1, 3).flatmap(lambda vocab: st.tuples(exact.laws(vocab, 2), exact.laws(vocab, 2))),
    st.sampled_from([(-1,), (-1, -1), (-1, 0), (-1, -1, 0)]),
    st.sampled_from([independent, likeliest, without_replacement]),
)
def test_output_has_the_targets_law_at_the_edges(
    laws: tuple[exact.ChainLaw, exact.ChainLaw], parents: tuple[int, ...], siblings: exact.Siblings
) -> None:
    target, draft = laws
    if len(target(())) == 1:
        siblings = independent  # there is no second token to try
    assert exact.distance(rule.verify, target, tree(draft, parents, siblings), depth(parents) + 1) < 1e-12


@pytest.mark.parametrize("gamma", [0, 1, 3])
def test_a_chain_is_rejection_sampling(gamma: int) -> None:
    target, draft = random_laws(4, 3), random_laws(5, 3)
    one, other = (exact.emitted_law(verify, target, chain(draft, gamma)) for verify in (rule.verify, rejection.verify))
    assert one == other


@pytest.mark.parametrize(
    ("siblings", "accepted"),
    [
        (independent, (0.65, 0.755, 0.819)),
        (without_replacement, (0.65, 0.8148, 0.93905)),
        (likeliest, (0.3, 0.8, 0.85)),
    ],
)
def test_acceptance_of_known_examples(siblings: exact.Siblings, accepted: tuple[float, ...]) -> None:
    """K candidates at one position; for a deterministic set S (here the k likeliest drafts) it is p(S)."""
    for k, expected in enumerate(accepted, 1):
        propose = tree(always(*Q), (-1,) * k, siblings)
        assert exact.expected_length(rule.verify, always(*P), propose) == pytest.approx(expected, abs=5e-5)


@given(exact.rows(4), exact.rows(4), st.integers(1, 3))
@settings(max_examples=25)
def test_acceptance_is_the_predicted_one(p: exact.Row, q: exact.Row, k: int) -> None:
    measured = exact.expected_length(rule.verify, always(*p), tree(always(*q), (-1,) * k, independent))
    assert measured == pytest.approx(rule.acceptance_probability(p, [q] * k), abs=1e-12)


@pytest.mark.parametrize("subset", [s for n in (1, 2, 3) for s in itertools.permutations(range(4), n)])
def test_a_deterministic_set_is_accepted_with_its_mass(subset: tuple[int, ...]) -> None:
    assert rule.acceptance_probability(P, [np.eye(4)[x] for x in subset]) == pytest.approx(P[list(subset)].sum())


def test_more_candidates_never_hurt() -> None:
    for seed in range(20):
        p, q = random_laws(seed, 5)(()), random_laws(seed + 100, 5)(())
        accepted = [rule.acceptance_probability(p, [q] * k) for k in range(5)]
        assert accepted == sorted(accepted)


# ── the verdict ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_siblings_are_tried_in_order_and_the_path_is_reported() -> None:
    """Root 0, 1; node 1 has children 2, 3. The target wants 1, then 0, then 2."""
    eye = np.eye(3)
    draft = Draft((0, 1, 2, 0), frozen(eye[[0, 1, 2, 0]]), parents=(-1, -1, 1, 1))
    target_probs = frozen(eye[[1, 0, 0, 0, 2]])
    verdict = rule.verify(draft, target_probs, Coins(AuditedNoise(PhiloxNoise(0)), position=0))
    assert verdict == Verdict(2, 2, "bonus", (0.0, 1.0, 0.0, 1.0), (1, 3))
    assert verdict.accepted == (1, 3)


def test_all_candidates_rejected_recovers_from_what_is_wanted_still() -> None:
    draft = Draft((0, 1), frozen(np.eye(3)[[0, 1]]), parents=(-1, -1))
    verdict = rule.verify(draft, frozen(np.eye(3)[[2, 0, 0]]), Coins(PhiloxNoise(0), position=0))
    assert verdict == Verdict(0, 2, "recovered", (0.0, 0.0), ())


def test_each_candidate_has_its_own_coin() -> None:
    """Every address is read once, in wide and in deep trees, where the siblings of one node share a position."""
    target, draft = random_laws(0, 3), random_laws(1, 3)
    for seed in range(100):
        noise = AuditedNoise(PhiloxNoise(seed))
        exact.judge(rule.verify, target, tree(draft, (-1, -1, -1, 0, 0, 1, 1, 2, 2), independent), noise)
        assert {at.level for at in noise.reads} == {exact.LEVEL}


@pytest.mark.parametrize("parents", [(0,), (-1, 1), (-1, 2, 0), (-2,)])
def test_refuses_a_node_before_its_parent(parents: tuple[int, ...]) -> None:
    draft = Draft((0,) * len(parents), frozen(np.ones((len(parents), 1))), parents)
    with pytest.raises(InvariantError, match="a parent comes before its children"):
        rule.verify(draft, frozen(np.ones((len(parents) + 1, 1))), Coins(PhiloxNoise(0), position=0))


def test_refuses_a_candidate_that_could_not_be_drawn() -> None:
    draft = Draft((0,), frozen([[0.0, 1.0]]), (-1,))
    with pytest.raises(InvariantError, match="probability 0"):
        rule.verify(draft, frozen([[0.5, 0.5]] * 2), Coins(PhiloxNoise(0), position=0))


# ── wrong versions, each told apart ─────────────────────────────────────────────────────────────────────────────────


def broken_tree(draft: Draft, target_probs: NDArray[np.float64], coins: Coins, *, mistake: str) -> Verdict:
    """The rule with one mistake; siblings under the root only."""
    wanted = target_probs[0]
    once = residual(wanted, draft.probs[0])
    judged: set[int] = set()
    for node, token in enumerate(draft.tokens):
        if mistake == "skips repetitions" and token in judged:
            continue
        judged.add(token)
        by = target_probs[0] if mistake == "never updates" else wanted
        if coins.accept(0, min(1.0, by[token] / draft.probs[node, token]), node):
            bonus = coins.bonus(1, target_probs[node + 1])
            return Verdict(1, bonus, "bonus", (), (node,))
        if mistake == "updates once" and node > 0:
            continue
        wanted = residual(wanted, draft.probs[node])
    law = {"replaces from the target": target_probs[0], "never updates": once}.get(mistake, wanted)
    return Verdict(0, coins.residual(0, law), "recovered", (), ())


def bias(mistake: str, k: int, siblings: exact.Siblings = independent) -> float:
    def verify(*args: Any) -> Verdict:
        return broken_tree(*args, mistake=mistake)

    return exact.distance(verify, always(*P), tree(always(*Q), (-1,) * k, siblings), 2)


@pytest.mark.parametrize(
    ("mistake", "k", "siblings", "expected"),
    [
        ("none", 3, independent, 0.0),
        ("none", 3, without_replacement, 0.0),
        ("never updates", 1, independent, 0.0),
        ("never updates", 2, independent, 0.125),
        ("never updates", 3, independent, 0.1688),
    ],
)
def test_judging_every_candidate_by_the_target_is_wrong(
    mistake: str, k: int, siblings: exact.Siblings, expected: float
) -> None:
    assert bias(mistake, k, siblings) == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize("mistake", ["updates once", "skips repetitions", "replaces from the target"])
def test_mistakes_change_the_law(mistake: str) -> None:
    assert bias(mistake, 3) > 0.005


def test_stating_the_first_siblings_row_for_all_is_wrong_without_replacement() -> None:
    """The drafter's mistake: later siblings were drawn from the rest."""

    def propose(coins: Coins) -> tuple[Draft, list[tuple[int, ...]]]:
        draft, prefixes = tree(always(*Q), (-1, -1), without_replacement)(coins)
        return Draft(draft.tokens, frozen([Q, Q]), draft.parents), prefixes

    assert exact.distance(rule.verify, always(*P), propose, 2) > 0.01


def test_children_of_a_chain_and_of_a_tree() -> None:
    assert list_children(Draft((5, 6), frozen(np.ones((2, 7))))) == [[0], [1], []]
    assert list_children(Draft((5, 6, 6), frozen(np.ones((3, 7))), (-1, -1, 0))) == [[0, 1], [2], [], []]
