"""Rejection sampling leaves p unchanged, for any p and q: shown exactly, by enumerating drafter and verifier.

Tolerance 1e-12: products and sums of a few dozen float64 numbers of relative error 1e-16 each.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispec.engine.laws import Enumerator, total_variation
from minispec.engine.noise import Address, Coins
from minispec.engine.records import Draft
from minispec.engine.verifiers import rejection
from minispec.errors import InvariantError
from minispec.theory import acceptance_probability

EXACT = 1e-12
weight = st.sampled_from([0.0, 0.0, 5e-324, 1e-310, 1e-200, 1e-17, 1e-3, 1.0]) | st.floats(0.0, 1.0)


@st.composite
def rows(draw, count, vocab_size):
    """``count`` distributions, read-only: zeros, subnormals, one-hot rows and ordinary numbers."""
    result = np.empty((count, vocab_size))
    for i in range(count):
        weights = np.array(draw(st.lists(weight, min_size=vocab_size, max_size=vocab_size)))
        if weights.sum() < 1e-3:
            weights[draw(st.integers(0, vocab_size - 1))] = 1.0
        result[i] = weights / weights.sum()
    result.flags.writeable = False
    return result


@st.composite
def problems(draw, gamma):
    """Rows per draft position; sometimes q = p, sometimes disjoint supports."""
    vocab_size = draw(st.integers(1, 4))
    target = draw(rows(gamma + 1, vocab_size))
    kind = draw(st.sampled_from(["any", "equal", "disjoint"]))
    if kind == "equal":
        return target, target[:gamma]
    draft = draw(rows(gamma, vocab_size))
    if kind == "disjoint" and vocab_size > 1:
        target, draft = target.copy(), draft.copy()
        target[:, vocab_size // 2 :], draft[:, : vocab_size // 2] = 0.0, 0.0
        target[:, 0] += target.sum(axis=1) < 1e-3
        draft[:, -1] += draft.sum(axis=1) < 1e-3
        target /= target.sum(axis=1, keepdims=True)
        draft /= draft.sum(axis=1, keepdims=True)
    return target, draft


def run(noise, target, draft_probs):
    """Draw a draft from q (the rows do not depend on earlier tokens), verify it, return the verdict and the draft."""
    tokens = tuple(noise.categorical(row, Address("draft", i)) for i, row in enumerate(draft_probs))
    verdict = rejection.verify(Draft(tokens, draft_probs), target, Coins(noise, position=0))
    return tokens, verdict


@given(problems(1))
def test_output_law_of_one_draft_is_p(problem):
    """The first token has law p_0; after an acceptance the next has law p_1, independent of it."""
    target, draft_probs = problem

    def emitted(noise):
        tokens, verdict = run(noise, target, draft_probs)
        return (*tokens[: verdict.num_accepted], verdict.next_token)

    law = Enumerator(emitted).law()
    first: dict[int, float] = {}
    for tokens, prob in law.items():
        first[tokens[0]] = first.get(tokens[0], 0.0) + prob
    assert total_variation(first, dict(enumerate(target[0]))) < EXACT
    for x in range(target.shape[1]):
        accepted = sum(prob for tokens, prob in law.items() if len(tokens) == 2 and tokens[0] == x)
        assert accepted == pytest.approx(min(target[0, x], draft_probs[0, x]), abs=EXACT)
        for y in range(target.shape[1]):
            assert law.get((x, y), 0.0) == pytest.approx(accepted * target[1, y], abs=EXACT)


@given(problems(2))
def test_output_law_of_two_drafts_completed_from_the_target_is_p(problem):
    """What a step emits, completed to three tokens from p, has law p_0 x p_1 x p_2."""
    target, draft_probs = problem

    def completed(noise):
        tokens, verdict = run(noise, target, draft_probs)
        emitted = [*tokens[: verdict.num_accepted], verdict.next_token]
        rest = [noise.categorical(target[i], Address("sample", i)) for i in range(len(emitted), 3)]
        return (*emitted, *rest)

    vocabulary = range(target.shape[1])
    wanted = {
        (x, y, z): target[0, x] * target[1, y] * target[2, z] for x, y, z in itertools.product(vocabulary, repeat=3)
    }
    assert total_variation(Enumerator(completed).law(), wanted) < EXACT


@given(problems(2))
def test_acceptance_is_the_overlap(problem):
    """P(a draft is accepted | it is evaluated) = sum_x min(p, q), at each position (here they are independent)."""
    target, draft_probs = problem
    law = Enumerator(lambda noise: run(noise, target, draft_probs)[1].num_accepted).law()
    beta = [acceptance_probability(target[i], draft_probs[i]) for i in range(2)]
    assert law.get(0, 0.0) == pytest.approx(1.0 - beta[0], abs=EXACT)
    assert law.get(1, 0.0) == pytest.approx(beta[0] * (1.0 - beta[1]), abs=EXACT)
    assert law.get(2, 0.0) == pytest.approx(beta[0] * beta[1], abs=EXACT)


@given(problems(1))
def test_residual_is_a_distribution_on_the_tokens_p_prefers(problem):
    target, draft_probs = problem
    residual = rejection.residual(target[0], draft_probs[0])
    assert residual.sum() == pytest.approx(1.0, abs=EXACT)
    if np.any(target[0] > draft_probs[0]):
        assert set(np.flatnonzero(residual)) <= set(np.flatnonzero(target[0] > draft_probs[0]))
    else:
        assert residual is target[0] or np.array_equal(residual, target[0])


@given(problems(2))
def test_the_parts_of_a_verdict_agree(problem):
    """For every branch: source, number of evaluated drafts and support."""
    target, draft_probs = problem

    def check(noise):
        tokens, verdict = run(noise, target, draft_probs)
        a = verdict.num_accepted
        assert verdict.source == ("bonus" if a == 2 else "recovered")
        assert len(verdict.accept_probs) == min(2, a + 1)
        assert all(0.0 <= prob <= 1.0 for prob in verdict.accept_probs)
        assert all(target[i, x] > 0.0 for i, x in enumerate(tokens[:a]))
        assert target[a, verdict.next_token] > 0.0
        return a

    Enumerator(check).law()


class Scripted:
    """Answers from a list, in order; categorical answers are checked to be possible."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.reads = []

    def bernoulli(self, prob, at):
        self.reads.append(at)
        return self.answers.pop(0)

    def categorical(self, probs, at):
        self.reads.append(at)
        token = self.answers.pop(0)
        assert probs[token] > 0.0
        return token


@pytest.mark.parametrize("accepted", range(5))
def test_noise_is_read_where_the_docs_say(accepted):
    """One acceptance per evaluated position, then one draw one position further or at the rejected one."""
    probs = np.full((5, 3), 1.0 / 3.0)
    skewed = np.array([[0.6, 0.2, 0.2]] * 4)
    noise = Scripted(*[True] * accepted, *([False] if accepted < 4 else []), 1)
    verdict = rejection.verify(Draft((0, 0, 0, 0), skewed), probs, Coins(noise, position=10, step=3, level=2))
    assert (verdict.num_accepted, verdict.next_token) == (accepted, 1)
    wanted = [Address("accept", 10 + i, 3, level=2) for i in range(min(4, accepted + 1))]
    wanted.append(Address("bonus" if accepted == 4 else "residual", 10 + accepted, 3, level=2))
    assert noise.reads == wanted


def test_no_draft_reads_plain_decodings_noise():
    """So gamma = 0 gives plain decoding's tokens, seed for seed."""
    noise = Scripted(1)
    coins = Coins(noise, position=4, step=9, level=1)
    verdict = rejection.verify(Draft((), np.empty((0, 2))), np.array([[0.5, 0.5]]), coins)
    assert (verdict.source, noise.reads) == ("plain", [Address("sample", 4, level=1)])


def test_a_token_of_probability_zero_is_a_contradiction():
    draft = Draft((1,), np.array([[1.0, 0.0]]))
    with pytest.raises(InvariantError, match="proposed token 1"):
        rejection.verify(draft, np.full((2, 2), 0.5), Coins(Scripted(True, 0), position=0))
