"""Sample matching, plain and coupled: the text of plain sampling, seed for seed, whatever the draft."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minispec.engine.noise import Address, Coins
from minispec.engine.noise.philox import PhiloxNoise
from minispec.engine.records import Draft, Verdict
from minispec.engine.verifiers import expected_accepted, gumbel, match, rejection
from minispec.errors import InvariantError
from minispec.theory import acceptance_probability as overlap
from tests.audited_noise import AuditedNoise
from tests.engine.verifiers import exact
from tests.engine.verifiers.exact import ChainLaw, chain, frozen, random_laws, rows, tree

P, Q = frozen([0.6, 0.3, 0.1]), frozen([0.3, 0.5, 0.2])


# ── same seed, same text ────────────────────────────────────────────────────────────────────────────────────────────

Drafter = Callable[[tuple[int, ...], int, Coins], Draft]


def drafting(draft_law: ChainLaw, *, coupled: bool) -> Drafter:
    """Draw from ``draft_law``, with noise of its own or with the target's."""

    def propose(tokens: tuple[int, ...], gamma: int, coins: Coins) -> Draft:
        drafted: tuple[int, ...] = ()
        probs = []
        for i in range(gamma):
            probs.append(draft_law(tokens + drafted))
            drafted += ((coins.sample if coupled else coins.draft)(i, probs[-1]),)
        return Draft(drafted, frozen(probs if probs else np.empty((0, 4))))

    return propose


def speculative_text(
    verify: Any, target: ChainLaw, propose: Drafter, length: int, gamma: int, seed: int
) -> tuple[tuple[int, ...], int, int]:
    """Return the text, and how many drafts were kept and judged."""
    audited, step, kept, judged = AuditedNoise(PhiloxNoise(seed)), 0, 0, 0
    tokens: tuple[int, ...] = ()
    while len(tokens) < length:
        draft = propose(tokens, gamma, Coins(PhiloxNoise(seed), position=len(tokens), step=step))
        target_probs = frozen([target(tokens + draft.tokens[:i]) for i in range(len(draft) + 1)])
        verdict = verify(draft, target_probs, Coins(audited, position=len(tokens), step=step))
        tokens += (*draft.tokens[: verdict.num_accepted], verdict.next_token)
        kept, judged, step = kept + verdict.num_accepted, judged + len(verdict.accept_probs), step + 1
    return tokens[:length], kept, judged


def test_a_perfect_coupled_draft_is_never_rejected() -> None:
    target = random_laws(0, 4)
    propose = drafting(target, coupled=True)
    for seed in range(10):
        _, kept, judged = speculative_text(gumbel.verify, target, propose, 24, 5, seed)
        assert kept == judged > 0


# ── the law and the acceptance of independent matching ──────────────────────────────────────────────────────────────


@pytest.mark.parametrize("gamma", [0, 1, 2, 3])
@pytest.mark.parametrize("seed", [0, 1])
def test_match_has_the_targets_law_and_the_predicted_length(gamma: int, seed: int) -> None:
    target, draft = random_laws(seed, 3, 0.2), random_laws(seed + 9, 3, 0.2)
    assert exact.distance(match.verify, target, chain(draft, gamma), gamma + 1) < 1e-12
    predicted = expected_accepted(match.survival, target, draft, gamma)
    assert exact.expected_length(match.verify, target, chain(draft, gamma)) == pytest.approx(predicted, abs=1e-12)


@pytest.mark.parametrize("parents", [(-1, -1), (-1, -1, 0, 0)])
@pytest.mark.parametrize("siblings", [exact.independent, exact.without_replacement, exact.likeliest])
def test_match_has_the_targets_law_on_trees(parents: tuple[int, ...], siblings: exact.Siblings) -> None:
    target, propose = random_laws(0, 3), tree(random_laws(1, 3), parents, siblings)
    assert exact.distance(match.verify, target, propose, 3) < 1e-12


@settings(max_examples=40)
@given(exact.pairs())
def test_match_has_the_targets_law_at_the_edges(pair: tuple[ChainLaw, ChainLaw, int]) -> None:
    target, draft, gamma = pair
    assert exact.distance(match.verify, target, chain(draft, gamma), gamma + 1) < 1e-12


def test_match_accepts_with_the_sum_of_products() -> None:
    assert match.acceptance_probability(P, Q) == pytest.approx(0.35)
    assert exact.expected_length(match.verify, lambda _: P, chain(lambda _: Q, 1)) == pytest.approx(0.35, abs=1e-15)


@pytest.mark.parametrize("rule", [match, gumbel])
def test_a_deterministic_draft_makes_it_rejection_sampling(rule: Any) -> None:
    """Accept x with p(x), else draw from p without x: one law of verdicts."""
    target, greedy = random_laws(2, 3), random_laws(3, 3)

    def draft(prefix: tuple[int, ...]) -> exact.Row:
        return exact.likeliest(greedy(prefix), [])

    one, other = (exact.emitted_law(verify, target, chain(draft, 3)) for verify in (rule.verify, rejection.verify))
    assert one.keys() == other.keys()
    assert all(one[tokens] == pytest.approx(prob, abs=1e-12) for tokens, prob in other.items())
    row, one_hot = target(()), frozen([0.0, 1.0, 0.0])
    assert rule.acceptance_probability(row, one_hot) == pytest.approx(row[1])


def test_drawing_again_after_a_mismatch_is_wrong() -> None:
    """Negative control: the draw that did not match must be the one that is emitted."""

    def match_then_redraw(draft: Draft, target_probs: exact.Row, coins: Coins) -> Verdict:
        verdict = match.verify(draft, target_probs, coins)
        if verdict.source != "recovered":
            return verdict
        again = coins.residual(verdict.num_accepted, target_probs[verdict.num_accepted])
        return Verdict(verdict.num_accepted, again, "recovered")

    p, q = frozen([0.4, 0.3, 0.2, 0.1]), frozen([0.1, 0.2, 0.3, 0.4])
    assert exact.distance(match_then_redraw, lambda _: p, chain(lambda _: q, 1), 1 + 1) == pytest.approx(0.04)


def test_match_walks_into_the_sampled_child() -> None:
    one_hot = frozen(np.eye(3))
    draft = Draft((1, 2, 0), frozen(np.eye(3)[[1, 2, 0]]), parents=(-1, -1, 1))
    verdict = match.verify(draft, one_hot[[2, 0, 0, 1]], Coins(PhiloxNoise(0), position=0))
    assert (verdict.path, verdict.num_accepted, verdict.next_token, verdict.source) == ((1, 2), 2, 1, "bonus")
    assert verdict.accept_probs == (0.0, 1.0, 1.0)


# ── the coupled race ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("target_probs", "draft_probs", "expected"),
    [
        (P, Q, 0.694118),
        (frozen([0.5, 0.5, 0.0]), frozen([0.5, 0.0, 0.5]), 1 / 3),
        (frozen([0.6, 0.4]), frozen([0.3, 0.7]), 0.7),
        (frozen([1.0]), frozen([1.0]), 1.0),
        (frozen([1.0, 0.0]), frozen([0.0, 1.0]), 0.0),
        (P, P, 1.0),
    ],
)
def test_coupled_acceptance_of_known_pairs(target_probs: exact.Row, draft_probs: exact.Row, expected: float) -> None:
    assert gumbel.acceptance_probability(target_probs, draft_probs) == pytest.approx(expected, abs=5e-7)


@pytest.mark.parametrize(("p", "q"), [(P, Q), (frozen([0.5, 0.3, 0.15, 0.05]), frozen([0.2, 0.5, 0.1, 0.2]))])
def test_the_race_as_it_runs_has_the_closed_form(p: exact.Row, q: exact.Row) -> None:
    """Per drafted token too. Hoeffding: a right race fails with probability below 5 * 2 exp(-2 n t^2) < 1e-6."""
    n, t = 10_000, 0.03
    both = np.zeros(len(p))
    for position in range(n):
        drafted = PhiloxNoise(11).categorical(q, at=Address("sample", position))
        draft = Draft((drafted,), q[None])
        verdict = gumbel.verify(draft, np.stack([p, p]), Coins(PhiloxNoise(11), position=position))
        both[drafted] += verdict.num_accepted
    assert both.sum() / n == pytest.approx(gumbel.acceptance_probability(p, q), abs=t)
    per_token = [q[x] * gumbel.match_probability(p, q, x) for x in range(len(p))]
    assert np.allclose(both / n, per_token, rtol=0, atol=t)


def test_the_coupled_length_is_the_predicted_one() -> None:
    """Hoeffding on the kept part of the block: a right rule fails with probability below 2 exp(-2 n t^2) < 1e-8."""
    target, draft, n, t, gamma = random_laws(0, 3), random_laws(1, 3), 2_000, 0.07, 3
    kept = 0
    for seed in range(n):
        noise, tokens = PhiloxNoise(seed), ()
        for i in range(gamma):
            tokens += (noise.categorical(draft(tokens), at=Address("sample", i)),)
        prefixes = [tokens[:i] for i in range(gamma + 1)]
        drafted = Draft(tokens, np.stack([draft(prefix) for prefix in prefixes[:-1]]))
        target_probs = np.stack([target(prefix) for prefix in prefixes])
        kept += gumbel.verify(drafted, target_probs, Coins(noise, position=0)).num_accepted
    predicted = expected_accepted(gumbel.survival, target, draft, gamma)
    assert kept / n / gamma == pytest.approx(predicted / gamma, abs=t)


@given(rows(2), rows(2))
def test_with_two_tokens_the_race_reaches_the_overlap(p: exact.Row, q: exact.Row) -> None:
    assert gumbel.acceptance_probability(p, q) == pytest.approx(overlap(p, q), abs=1e-12)


@given(rows(4), rows(4))
def test_coupled_acceptance_lies_between_independent_and_overlap(p: exact.Row, q: exact.Row) -> None:
    """Daliri et al.'s lower bound is (1 - TV) / (1 + TV)."""
    acceptance, best = gumbel.acceptance_probability(p, q), overlap(p, q)
    assert best / (2.0 - best) - 1e-12 <= acceptance <= best + 1e-12
    assert match.acceptance_probability(p, q) <= acceptance + 1e-12
    assert acceptance == pytest.approx(gumbel.acceptance_probability(q, p), abs=1e-12)
    for x in np.flatnonzero(q):
        assert p[x] - 1e-12 <= gumbel.match_probability(p, q, int(x)) <= 1.0 + 1e-12


@given(rows(3), rows(3))
def test_the_stated_probabilities_average_to_the_acceptance(p: exact.Row, q: exact.Row) -> None:
    stated = 0.0
    for x in map(int, np.flatnonzero(q)):
        verdict = gumbel.verify(Draft((x,), q[None]), np.stack([p, p]), Coins(PhiloxNoise(0), position=0))
        stated += q[x] * verdict.accept_probs[0]
    assert stated == pytest.approx(gumbel.acceptance_probability(p, q), abs=1e-12)


def test_gumbel_refuses_trees_and_impossible_drafts() -> None:
    p = frozen(np.full((3, 2), 0.5))
    with pytest.raises(InvariantError, match="tree"):
        gumbel.verify(Draft((0, 1), p[:2], (-1, -1)), p, Coins(PhiloxNoise(0), position=0))
    with pytest.raises(InvariantError, match="probability 0"):
        gumbel.verify(Draft((0,), frozen([[0.0, 1.0]])), p[:2], Coins(PhiloxNoise(0), position=0))


@given(st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=6), st.data())  # subnormal quotients have fewer bits
def test_a_coupled_acceptance_is_a_probability_also_by_the_last_bit(weights, data) -> None:
    """Where p = q the sum over the vocabulary is 1 up to rounding, and its inverse must not exceed 1."""
    probs = np.array(weights) / np.sum(weights)
    token = data.draw(st.integers(0, len(probs) - 1))
    assert 1.0 - 1e-12 <= gumbel.match_probability(probs, probs, token) <= 1.0
