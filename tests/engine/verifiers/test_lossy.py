"""The rules that are lossy on purpose: they miss the target's law by exactly the distance they state."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minispec.engine.noise import Coins
from minispec.engine.noise.philox import PhiloxNoise
from minispec.engine.records import Draft
from minispec.engine.verifiers import expected_accepted, lenient, rejection, typical
from minispec.errors import InvariantError
from minispec.theory import acceptance_probability as overlap
from tests.audited_noise import AuditedNoise
from tests.engine.verifiers import exact
from tests.engine.verifiers.exact import ChainLaw, chain, frozen, random_laws, rows

P, Q = frozen([0.5, 0.3, 0.15, 0.05]), frozen([0.2, 0.5, 0.1, 0.2])

RULES: list[tuple[Any, dict[str, float]]] = [
    (lenient, {"lenience": 0.5}),
    (lenient, {"lenience": 0.1}),
    (typical, {"epsilon": 0.09, "delta": 0.3}),
    (typical, {"epsilon": 0.4, "delta": 0.9}),
]


def tv(one: exact.Row, other: exact.Row) -> float:
    return 0.5 * float(np.abs(one - other).sum())


@pytest.mark.parametrize(("rule", "options"), RULES)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_one_draft_misses_the_law_by_the_stated_distance(rule: Any, options: dict[str, float], seed: int) -> None:
    """One judged position, then the target's law: the whole distance is that of the one position."""
    target, draft = random_laws(seed, 4, 0.2), random_laws(seed + 10, 4, 0.2)
    stated = rule.output_distribution(target(()), draft(()), **options)
    seen = exact.distance(partial(rule.verify, **options), target, chain(draft, 1), 2)
    assert seen == pytest.approx(tv(stated, target(())), abs=1e-12)


@pytest.mark.parametrize(("rule", "options"), RULES)
def test_the_suite_tells_them_from_a_lossless_rule(rule: Any, options: dict[str, float]) -> None:
    """On one pair of laws on which none of them happens to be right."""
    assert exact.distance(partial(rule.verify, **options), lambda _: P, chain(lambda _: Q, 1), 2) > 0.1
    assert exact.distance(rejection.verify, lambda _: P, chain(lambda _: Q, 1), 2) < 1e-15


@pytest.mark.parametrize(("rule", "options"), RULES)
@pytest.mark.parametrize("gamma", [0, 1, 2, 3])
def test_first_token_and_length_as_it_runs_are_the_stated_ones(
    rule: Any, options: dict[str, float], gamma: int
) -> None:
    target, draft = random_laws(3, 3, 0.2), random_laws(4, 3, 0.2)
    verify, propose = partial(rule.verify, **options), chain(draft, gamma)
    first = np.zeros(3)
    for tokens, prob in exact.emitted_law(verify, target, propose).items():
        first[tokens[0]] += prob
    stated = rule.output_distribution(target(()), draft(()), **options) if gamma else target(())
    assert np.allclose(first, stated, rtol=0, atol=1e-12)
    predicted = expected_accepted(partial(rule.survival, **options), target, draft, gamma)
    assert exact.expected_length(verify, target, propose) == pytest.approx(predicted, abs=1e-12)


def block_joint(
    rule: Any, options: dict[str, float], target: ChainLaw, draft: ChainLaw, gamma: int
) -> dict[Any, float]:
    """The law of gamma + 1 tokens, position by position: judged while all before it were kept, else the target's."""
    judged = {((), True): 1.0}  # (tokens, still judging) -> probability
    for depth in range(gamma + 1):
        following: dict[tuple[tuple[int, ...], bool], float] = {}
        for (tokens, judging), prob in judged.items():
            p = target(tokens)
            kept, lost = np.zeros_like(p), p
            if judging and depth < gamma:
                q = draft(tokens)
                accept = [rule.survival(1.0, p, q, x, **options) if q[x] else 0.0 for x in range(len(q))]
                kept = q * accept
                lost = rule.output_distribution(p, q, **options) - kept
            for token in range(len(p)):
                for law, still in ((kept, True), (lost, False)):
                    key = ((*tokens, token), still)
                    following[key] = following.get(key, 0.0) + prob * float(law[token])
        judged = following
    joint: dict[Any, float] = {}
    for (tokens, _), prob in judged.items():
        joint[tokens] = joint.get(tokens, 0.0) + prob
    return joint


@pytest.mark.parametrize(("rule", "options"), RULES)
def test_a_block_misses_the_law_by_what_its_positions_state(rule: Any, options: dict[str, float]) -> None:
    target, draft = random_laws(5, 3), random_laws(6, 3)
    verify = partial(rule.verify, **options)
    seen, stated = exact.output_joint(verify, target, chain(draft, 2), 3), block_joint(rule, options, target, draft, 2)
    assert all(seen.get(tokens, 0.0) == pytest.approx(prob, abs=1e-12) for tokens, prob in stated.items())
    target_joint = exact.target_joint(target, 3)
    distance = 0.5 * sum(abs(stated[tokens] - prob) for tokens, prob in target_joint.items())
    assert exact.distance(verify, target, chain(draft, 2), 3) == pytest.approx(distance, abs=1e-12)
    assert distance > 0.01


@pytest.mark.parametrize(("rule", "options"), RULES)
def test_greedy_rows_are_never_missed(rule: Any, options: dict[str, float]) -> None:
    """At temperature 0 the rows are one-hot, and even these rules keep the argmax only."""
    greedy, draft = random_laws(7, 3), random_laws(8, 3)
    verify = partial(rule.verify, **options)

    def target(prefix: tuple[int, ...]) -> exact.Row:
        return exact.likeliest(greedy(prefix), [])

    assert exact.distance(verify, target, chain(draft, 2), 3) == 0.0


# ── lenient ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_lenience_one_is_rejection_sampling() -> None:
    target, draft = random_laws(1, 4, 0.2), random_laws(2, 4, 0.2)
    lenience_one = partial(lenient.verify, lenience=1.0)
    for seed in range(50):
        one = exact.judge(lenience_one, target, chain(draft, 3), AuditedNoise(PhiloxNoise(seed)))
        assert one == exact.judge(rejection.verify, target, chain(draft, 3), PhiloxNoise(seed))


@settings(max_examples=100)
@given(rows(4), rows(4), st.floats(0.01, 1.0) | st.sampled_from([1e-320, 1e-9, 0.5, 1.0]))
def test_lenience_loses_in_truth_what_it_gains_in_acceptance(p: exact.Row, q: exact.Row, lenience: float) -> None:
    law = lenient.output_distribution(p, q, lenience=lenience)
    gain = lenient.acceptance_probability(p, q, lenience=lenience) - overlap(p, q)
    assert tv(law, p) == pytest.approx(gain, abs=1e-12)
    assert law.sum() == pytest.approx(1.0)
    with np.errstate(over="ignore"):
        assert (law <= p / lenience + 1e-12).all()  # no token more than 1 / l times as likely


def test_lenience_of_a_known_example() -> None:
    """Lenience 1/2 accepts min(2p, q) = (.2, .5, .1, .1); the lost tenth goes where p > q, six parts to one."""
    law = lenient.output_distribution(P, Q, lenience=0.5)
    assert law == pytest.approx([0.2 + 0.1 * 6 / 7, 0.5, 0.1 + 0.1 / 7, 0.1])
    assert tv(law, P) == pytest.approx(0.25)


def test_lenience_never_accepts_the_impossible() -> None:
    p, q = frozen([0.0, 1.0]), frozen([5e-324, 1.0])
    for lenience in (1.0, 0.5, 1e-9):
        assert lenient.keep(p, q, lenience=lenience)[0] == 0.0


# ── typical ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_typical_of_a_known_example() -> None:
    """The last token is below the threshold .09; the others come out as the draft likes them."""
    law = typical.output_distribution(P, Q, epsilon=0.09, delta=0.3)
    assert law == pytest.approx([0.3, 0.56, 0.13, 0.01])
    assert tv(law, P) == pytest.approx(0.26)


def test_typical_threshold_follows_the_entropy() -> None:
    assert typical.threshold(frozen([1.0, 0.0]), epsilon=0.09, delta=0.3) == 0.09
    assert typical.threshold(frozen(np.full(100, 0.01)), epsilon=0.09, delta=0.3) == pytest.approx(0.003)


def test_typical_wants_more_than_the_threshold() -> None:
    p = frozen([0.25] * 4)
    assert typical.keep(p, p, epsilon=0.25, delta=0.999).tolist() == [1.0] * 4  # delta / 4 is just below
    assert typical.keep(frozen([0.25, 0.75]), p, epsilon=0.25, delta=0.999).tolist() == [0.0, 1.0]  # equal is not more


@settings(max_examples=100)
@given(rows(4), rows(4), st.floats(0.001, 0.999), st.floats(0.001, 0.999))
def test_typical_states_a_law_and_an_acceptance(p: exact.Row, q: exact.Row, epsilon: float, delta: float) -> None:
    options = {"epsilon": epsilon, "delta": delta}
    law = typical.output_distribution(p, q, **options)
    assert law.sum() == pytest.approx(1.0)
    assert (law >= 0.0).all()
    accepted = sum(q[x] * typical.survival(1.0, p, q, x, **options) for x in range(4))
    assert typical.acceptance_probability(p, q, **options) == pytest.approx(accepted, abs=1e-12)


# ── both ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@settings(max_examples=25)
@given(exact.pairs(), st.sampled_from(RULES))
def test_edges(pair: tuple[ChainLaw, ChainLaw, int], case: tuple[Any, dict[str, float]]) -> None:
    """Zeros, ties, one-hots, subnormals, a vocabulary of one: the first token has the stated law."""
    (target, draft, gamma), (rule, options) = pair, case
    law = exact.emitted_law(partial(rule.verify, **options), target, chain(draft, gamma))
    first = np.zeros(len(target(())))
    for tokens, prob in law.items():
        first[tokens[0]] += prob
    stated = rule.output_distribution(target(()), draft(()), **options) if gamma else target(())
    assert np.allclose(first, stated, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("rule", "options"), RULES)
def test_refuses_trees_and_impossible_drafts(rule: Any, options: dict[str, float]) -> None:
    p = frozen(np.full((3, 2), 0.5))
    with pytest.raises(InvariantError, match="tree"):
        rule.verify(Draft((0, 1), p[:2], (-1, -1)), p, Coins(PhiloxNoise(0), position=0), **options)
    with pytest.raises(InvariantError, match="probability 0"):
        rule.verify(Draft((0,), frozen([[0.0, 1.0]])), p[:2], Coins(PhiloxNoise(0), position=0), **options)
