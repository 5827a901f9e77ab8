"""K-SEQ: the target's law exactly, the acceptance of its formula, and what its wrong versions do."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minispec.engine.noise import Coins
from minispec.engine.noise.philox import PhiloxNoise
from minispec.engine.records import Draft, Verdict
from minispec.engine.verifiers import kseq, rejection
from minispec.engine.verifiers.base import Verify
from minispec.errors import InvariantError
from minispec.theory import k_seq_acceptance, k_seq_divisor
from tests.engine.verifiers import exact
from tests.engine.verifiers.exact import always, frozen, independent, likeliest, random_laws, tree, without_replacement
from tests.engine.verifiers.test_tree import SHAPES, depth

P, Q = frozen([0.5, 0.3, 0.15, 0.05]), frozen([0.2, 0.5, 0.1, 0.2])
PAIR, TRIPLE = (-1, -1), (-1, -1, -1)


@pytest.mark.parametrize("parents", SHAPES)
@pytest.mark.parametrize(("seed", "zeros"), [(0, 0.0), (1, 0.4)])
def test_output_has_the_targets_law(parents: tuple[int, ...], seed: int, zeros: float) -> None:
    target, draft = random_laws(seed, 3, zeros), random_laws(seed + 100, 3, zeros)
    assert exact.distance(kseq.verify, target, tree(draft, parents, independent), depth(parents) + 1) < 1e-12


@settings(max_examples=40)
@given(
    st.integers(1, 3).flatmap(lambda vocab: st.tuples(exact.laws(vocab, 2), exact.laws(vocab, 2))),
    st.sampled_from([(-1,), (-1, -1), (-1, 0), (-1, -1, 0)]),
)
def test_output_has_the_targets_law_at_the_edges(
    laws: tuple[exact.ChainLaw, exact.ChainLaw], parents: tuple[int, ...]
) -> None:
    target, draft = laws
    assert exact.distance(kseq.verify, target, tree(draft, parents, independent), depth(parents) + 1) < 1e-12


@pytest.mark.parametrize("parents", [(-1,), PAIR, TRIPLE])
def test_acceptance_is_that_of_the_formula(parents: tuple[int, ...]) -> None:
    """The same coins, spent: P(one of K is accepted) by enumeration of candidates and coins."""
    accepted = 0.0
    count = len(parents)
    for tokens in np.ndindex(*[4] * count):
        chance = float(np.prod([Q[token] for token in tokens]))
        draft = Draft(tuple(map(int, tokens)), np.array([Q] * count), parents)
        none = 1.0
        probs = kseq.verify(draft, np.array([P] * (count + 1)), Never()).accept_probs
        for prob in probs:
            none *= 1.0 - prob
        accepted += chance * (1.0 - none)
    assert accepted == pytest.approx(k_seq_acceptance(P, Q, count), abs=1e-12)


class Never(Coins):
    """Coins that accept nothing."""

    def __init__(self) -> None:
        super().__init__(PhiloxNoise(0), 0)

    def accept(self, i: int, prob: float, node: int = 0) -> bool:
        return False


class Always(Never):
    """Coins that accept everything."""

    def accept(self, i: int, prob: float, node: int = 0) -> bool:
        return True


def test_on_a_chain_it_is_rejection_sampling() -> None:
    draft, target = Draft((0, 1), np.array([Q, Q])), np.array([P, P, P])
    for coins in (Never(), Always()):
        assert kseq.verify(draft, target, coins) == rejection.verify(draft, target, coins)


def test_nothing_drafted_is_a_plain_draw() -> None:
    made = kseq.verify(Draft((), np.zeros((0, 4))), np.array([P]), Coins(PhiloxNoise(1), 0))
    assert (made.num_accepted, made.source) == (0, "plain")


@pytest.mark.parametrize("siblings", [without_replacement, likeliest])
def test_siblings_that_are_not_independent_are_refused(siblings: exact.Siblings) -> None:
    with pytest.raises(InvariantError, match="with replacement"):
        exact.distance(kseq.verify, always(*P), tree(always(*Q), PAIR, siblings), 2)


# What a wrong version does: each of these must be told from the rule.


def altered(divisor: Callable[[np.ndarray, np.ndarray, int], float], rest: Callable[..., np.ndarray]) -> Verify:
    """K-SEQ at one level with another divisor or another residual."""

    def verify(draft: Draft, target_probs: np.ndarray, coins: Coins) -> Verdict:
        p, q = target_probs[0], draft.probs[0]
        rho = divisor(p, q, len(draft))
        for node, token in enumerate(draft.tokens):
            if coins.accept(0, min(1.0, float(p[token] / (rho * q[token]))), node):
                return Verdict(1, coins.bonus(1, target_probs[node + 1]), "bonus", (), (node,))
        return Verdict(0, coins.residual(0, rest(p, q, rho)), "recovered", (), ())

    return verify


def missing(p: np.ndarray, q: np.ndarray, rho: float) -> np.ndarray:
    return rejection.residual(p, rho * q)


WRONG = {
    "undivided": altered(lambda p, q, k: 1.0, missing),
    "divided by their number": altered(lambda p, q, k: float(k), missing),
    "the divisor of one fewer": altered(lambda p, q, k: k_seq_divisor(p, q, k - 1), missing),
    "rejection's residual": altered(k_seq_divisor, lambda p, q, rho: rejection.residual(p, q)),
    "the target's law": altered(k_seq_divisor, lambda p, q, rho: p),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_versions_are_biased(name: str) -> None:
    target, draft = always(*P), always(*Q)
    assert exact.distance(altered(k_seq_divisor, missing), target, tree(draft, PAIR, independent), 2) < 1e-12
    assert exact.distance(WRONG[name], target, tree(draft, PAIR, independent), 2) > 1e-3
