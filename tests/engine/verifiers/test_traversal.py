"""Traversal verification: the target's law exactly, never shorter than from the root down, and its wrong versions."""

from __future__ import annotations

from collections.abc import Callable
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minispec.engine.laws import total_variation
from minispec.engine.noise import Coins
from minispec.engine.noise.philox import PhiloxNoise
from minispec.engine.records import Draft
from minispec.engine.verifiers import block, traversal
from minispec.engine.verifiers import tree as from_the_root
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
from tests.engine.verifiers.test_tree import SHAPES, depth

SIBLINGS = [independent, without_replacement, likeliest]
BRANCHING = (-1, -1, 0, 0, 1)
EDGE_SHAPES = [(-1,), (-1, -1), (-1, 0), (-1, -1, 0), (-1, -1, 1)]


@pytest.mark.parametrize("parents", SHAPES)
@pytest.mark.parametrize("siblings", SIBLINGS)
@pytest.mark.parametrize(("seed", "zeros"), [(0, 0.0), (1, 0.4)])
def test_output_has_the_targets_law(
    parents: tuple[int, ...], siblings: exact.Siblings, seed: int, zeros: float
) -> None:
    target, draft = random_laws(seed, 3, zeros), random_laws(seed + 100, 3, zeros)
    assert exact.distance(traversal.verify, target, tree(draft, parents, siblings), depth(parents) + 1) < 1e-12


@settings(max_examples=40)
@given(
    st.integers(1, 3).flatmap(lambda vocab: st.tuples(exact.laws(vocab, 2), exact.laws(vocab, 2))),
    st.sampled_from(EDGE_SHAPES),
    st.sampled_from(SIBLINGS),
)
def test_output_has_the_targets_law_at_the_edges(
    laws: tuple[exact.ChainLaw, exact.ChainLaw], parents: tuple[int, ...], siblings: exact.Siblings
) -> None:
    target, draft = laws
    if len(target(())) == 1:
        siblings = independent  # there is no second token to try
    assert exact.distance(traversal.verify, target, tree(draft, parents, siblings), depth(parents) + 1) < 1e-12


@pytest.mark.parametrize("gamma", [0, 1, 2, 3])
@pytest.mark.parametrize(("seed", "zeros"), [(4, 0.0), (6, 0.4)])
def test_a_chain_is_block_verification(gamma: int, seed: int, zeros: float) -> None:
    target, draft = random_laws(seed, 3, zeros), random_laws(seed + 1, 3, zeros)
    one, other = (exact.emitted_law(verify, target, chain(draft, gamma)) for verify in (traversal.verify, block.verify))
    assert total_variation(one, other) < 1e-12


@settings(max_examples=60)
@given(
    st.integers(2, 3).flatmap(lambda vocab: st.tuples(exact.laws(vocab, 2), exact.laws(vocab, 2))),
    st.sampled_from(EDGE_SHAPES),
    st.sampled_from(SIBLINGS),
)
def test_it_keeps_as_many_as_from_the_root_down(
    laws: tuple[exact.ChainLaw, exact.ChainLaw], parents: tuple[int, ...], siblings: exact.Siblings
) -> None:
    target, draft = laws
    ours, others = (
        exact.expected_length(verify, target, tree(draft, parents, siblings))
        for verify in (traversal.verify, from_the_root.verify)
    )
    assert ours >= others - 1e-12
    if depth(parents) == 1:
        assert ours == pytest.approx(others, abs=1e-12)


@pytest.mark.parametrize("siblings", SIBLINGS)
def test_it_keeps_more_where_branches_are_deep(siblings: exact.Siblings) -> None:
    target, draft = random_laws(0, 3), random_laws(100, 3)
    ours, others = (
        exact.expected_length(verify, target, tree(draft, BRANCHING, siblings))
        for verify in (traversal.verify, from_the_root.verify)
    )
    if siblings is likeliest:  # no ratio is above 1 where q is 1: there is nothing to make up for
        assert ours == pytest.approx(others, abs=1e-12)
    else:
        assert ours > others + 1e-3


def test_its_entries_are_rates_when_a_node_is_reached() -> None:
    """By hand: p = (1/2, 1/2) everywhere, both children drawn from (1/4, 3/4) as token 1, and one behind the first."""
    p, q = [0.5, 0.5], [0.25, 0.75]
    draft = Draft((1, 1, 0), np.array([q, q, q]), (-1, -1, 0))
    made = traversal.verify(draft, np.array([p] * 4), Refusing())
    # 1: 0.5 / 0.75 = 2/3; behind it 0: 2/3 * 0.5 / 0.25 > 1; the coin that refuses even that leaves Z / (Z + 1 - r),
    # and the second child is judged by (1, 0), which has no 1
    assert made.accept_probs == pytest.approx((2 / 3, 1.0, 0.0))
    assert (made.num_accepted, made.source) == (0, "recovered")


class Refusing(Coins):
    """Coins that accept nothing, and the first token with any probability."""

    def __init__(self) -> None:
        super().__init__(PhiloxNoise(0), 0)

    def accept(self, i: int, prob: float, node: int = 0) -> bool:
        return False

    def residual(self, i: int, probs: np.ndarray) -> int:
        return int(np.flatnonzero(probs)[0])


def test_each_coin_and_token_has_an_address_of_its_own() -> None:
    target, draft = random_laws(2, 4), random_laws(3, 4)
    for seed in range(40):
        exact.judge(traversal.verify, target, tree(draft, BRANCHING, independent), AuditedNoise(PhiloxNoise(seed)))


def test_a_draft_may_be_longer_than_python_can_recurse() -> None:
    gamma = 3000
    same, other = frozen([0.5, 0.5]), frozen([0.25, 0.75])
    draft = Draft((0,) * gamma, np.array([same] * (gamma - 1) + [other]))
    made = traversal.verify(draft, np.array([same] * (gamma + 1)), Coins(PhiloxNoise(0), 0))
    assert made.num_accepted == gamma
    assert made.path is None


def test_nothing_drafted_is_a_plain_draw() -> None:
    made = traversal.verify(Draft((), np.zeros((0, 2))), np.array([[0.5, 0.5]]), Coins(PhiloxNoise(1), 0))
    assert (made.num_accepted, made.source) == (0, "plain")


@pytest.mark.parametrize(
    ("parents", "row", "says"), [((1, -1), [0.5, 0.5], "comes before"), ((-1, -1), [1.0, 0.0], "with probability 0")]
)
def test_what_is_no_draft_is_refused(parents: tuple[int, ...], row: list[float], says: str) -> None:
    draft = Draft((1, 1), np.array([row, row]), parents)
    with pytest.raises(InvariantError, match=says):
        traversal.verify(draft, np.full((3, 2), 0.5), Coins(PhiloxNoise(0), 0))


# What a wrong version does: each of these must be told from the rule.


def forget(place: traversal._Place, draft_probs: np.ndarray) -> None:
    """A failed child changes nothing."""


def keep_the_rate(place: traversal._Place, draft_probs: np.ndarray) -> None:
    """What is missing is wanted, at the old rate."""
    missing = block.block_residual(place.rate, place.wanted, draft_probs)
    place.wanted = missing / missing.sum() if missing.any() else place.wanted


def keep_the_row(place: traversal._Place, draft_probs: np.ndarray) -> None:
    """The rate falls, and the whole row is wanted still."""
    mass = float(block.block_residual(place.rate, place.wanted, draft_probs).sum())
    place.rate = 1.0 if place.rate == 1.0 else mass / (mass + 1.0 - place.rate)


def miss_at_full_rate(place: traversal._Place, draft_probs: np.ndarray) -> None:
    """What is missing is computed as from the root down."""
    missing = np.maximum(place.wanted - draft_probs, 0.0)
    mass = float(missing.sum())
    place.rate = 1.0 if place.rate == 1.0 else mass / (mass + 1.0 - place.rate)
    place.wanted = missing / mass if mass else place.wanted


@pytest.mark.parametrize("wrong", [forget, keep_the_rate, keep_the_row, miss_at_full_rate])
def test_wrong_versions_are_biased(wrong: Callable[..., None]) -> None:
    target, draft = random_laws(0, 3), random_laws(100, 3)
    proposal = tree(draft, BRANCHING, without_replacement)
    with mock.patch.object(traversal, "_miss", wrong):
        assert exact.distance(traversal.verify, target, proposal, 3) > 1e-3


def test_ratios_that_are_not_multiplied_are_biased() -> None:
    """A node judged without its parent's rate."""
    target, draft = always(0.5, 0.3, 0.2), always(0.2, 0.5, 0.3)
    with mock.patch.object(traversal, "survival", lambda before, p, q, token: block.survival(1.0, p, q, token)):
        assert exact.distance(traversal.verify, target, tree(draft, BRANCHING, independent), 3) > 1e-3
