"""Block verification: the target's law exactly, the longest expected block, and what its wrong versions do."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

from minispec.engine.noise import Coins
from minispec.engine.noise.philox import PhiloxNoise
from minispec.engine.records import Draft, Verdict
from minispec.engine.verifiers import block, expected_accepted, gumbel, lenient, match, rejection
from minispec.engine.verifiers.block import block_residual
from minispec.errors import InvariantError
from tests.audited_noise import AuditedNoise
from tests.engine.verifiers import exact
from tests.engine.verifiers.exact import ChainLaw, always, chain, random_laws

MOTIVATING = always(1 / 3, 2 / 3), always(2 / 3, 1 / 3)  # the target's and the draft's law in Sun et al.'s example
THREE = always(0.5, 0.3, 0.2), always(0.2, 0.5, 0.3)


@pytest.mark.parametrize(("vocab", "gamma"), [(3, 0), (3, 1), (3, 2), (3, 3), (2, 5)])
@pytest.mark.parametrize(("seed", "zeros"), [(0, 0.0), (1, 0.0), (2, 0.4), (3, 0.4)])
def test_output_has_the_targets_law(vocab: int, gamma: int, seed: int, zeros: float) -> None:
    target, draft = random_laws(seed, vocab, zeros), random_laws(seed + 100, vocab, zeros)
    assert exact.distance(block.verify, target, chain(draft, gamma), gamma + 1) < 1e-12


@settings(max_examples=40)
@given(exact.pairs())
def test_output_has_the_targets_law_at_the_edges(pair: tuple[ChainLaw, ChainLaw, int]) -> None:
    target, draft, gamma = pair
    assert exact.distance(block.verify, target, chain(draft, gamma), gamma + 1) < 1e-12


def test_output_has_the_targets_law_when_the_draft_decides_where_to_stop() -> None:
    """A draft may stop by its own prefix and rows (confidence), though its length is then random."""
    target, draft = random_laws(5, 3), random_laws(6, 3)

    def unsure(prefix: tuple[int, ...]) -> bool:
        return bool(prefix) and bool(draft(prefix).max() < 0.7)

    lengths = {len(tokens) for tokens in exact.emitted_law(block.verify, target, chain(draft, 3, unsure))}
    assert lengths == {1, 2, 3, 4}
    assert exact.distance(block.verify, target, chain(draft, 3, unsure), 4) < 1e-12


@pytest.mark.parametrize(
    ("laws", "gamma", "token", "blockwise"),
    [
        (MOTIVATING, 1, 2 / 3, 2 / 3),
        (MOTIVATING, 2, 10 / 9, 11 / 9),
        (MOTIVATING, 3, 1.4074, 1.6667),
        (MOTIVATING, 4, 1.6049, 2.0494),
        (MOTIVATING, 5, 1.7366, 2.3704),
        (MOTIVATING, 6, 1.8244, 2.6516),
        (THREE, 2, 1.19, 1.25),
        (THREE, 3, 1.533, 1.72),
        (THREE, 4, 1.7731, 2.1141),
    ],
)
def test_expected_length_of_known_examples(
    laws: tuple[ChainLaw, ChainLaw], gamma: int, token: float, blockwise: float
) -> None:
    target, draft = laws
    assert expected_accepted(rejection.survival, target, draft, gamma) == pytest.approx(token, abs=5e-5)
    assert expected_accepted(block.survival, target, draft, gamma) == pytest.approx(blockwise, abs=5e-5)


@pytest.mark.parametrize("gamma", [0, 1, 2, 3])
@pytest.mark.parametrize("rule", [rejection, block])
@pytest.mark.parametrize("seed", [0, 1])
def test_length_as_it_runs_is_the_predicted_one(rule: Any, gamma: int, seed: int) -> None:
    target, draft = random_laws(seed, 3, 0.2), random_laws(seed + 50, 3, 0.2)
    measured = exact.expected_length(rule.verify, target, chain(draft, gamma))
    assert measured == pytest.approx(expected_accepted(rule.survival, target, draft, gamma), abs=1e-12)


@settings(max_examples=40)
@given(exact.pairs(max_vocab=4))
def test_never_worse(pair: tuple[ChainLaw, ChainLaw, int]) -> None:
    """match <= gumbel <= rejection <= block, on average, for any laws; lenience only adds to rejection."""
    target, draft, gamma = pair
    lengths = [
        expected_accepted(survival, target, draft, gamma)
        for survival in (match.survival, gumbel.survival, rejection.survival, block.survival)
    ]
    assert lengths == sorted(lengths) or np.allclose(lengths, sorted(lengths), rtol=0, atol=1e-12)

    def with_lenience(*args: Any) -> float:
        return lenient.survival(*args, lenience=0.5)

    assert expected_accepted(with_lenience, target, draft, gamma) >= lengths[2] - 1e-12


@pytest.mark.parametrize("gamma", [1, 2, 3])
def test_one_hot_drafts_gain_nothing(gamma: int) -> None:
    """Ratios of a deterministic draft are never above 1, so there is nothing to make up with."""
    target, greedy = random_laws(3, 3), random_laws(4, 3)

    def draft(prefix: tuple[int, ...]) -> NDArray[np.float64]:
        return exact.likeliest(greedy(prefix), [])

    one, other = (exact.emitted_law(rule.verify, target, chain(draft, gamma)) for rule in (rejection, block))
    assert one.keys() == other.keys()
    assert all(other[tokens] == pytest.approx(prob, abs=1e-12) for tokens, prob in one.items())


def test_one_draft_is_rejection_sampling() -> None:
    target, draft = random_laws(8, 4), random_laws(9, 4)
    one, other = (exact.emitted_law(rule.verify, target, chain(draft, 1)) for rule in (rejection, block))
    assert all(other[tokens] == pytest.approx(prob, abs=1e-12) for tokens, prob in one.items())


def test_accept_probs_are_the_clipped_products() -> None:
    p, q = exact.frozen([[0.2, 0.8], [0.9, 0.1], [0.5, 0.5]]), exact.frozen([[0.8, 0.2], [0.3, 0.7]])
    verdict = block.verify(Draft((0, 0), q), p, Coins(PhiloxNoise(0), position=0))
    assert verdict.accept_probs == pytest.approx((0.25, 0.75))


def test_an_equal_draft_is_kept_whole() -> None:
    target = random_laws(1, 4)
    for seed in range(50):
        tokens, verdict = exact.judge(block.verify, target, chain(target, 4), AuditedNoise(PhiloxNoise(seed)))
        assert (len(tokens), verdict.source) == (5, "bonus")


def test_a_token_impossible_for_the_target_ends_the_block() -> None:
    """However much the target likes what follows."""
    p = exact.frozen([[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]])
    q = exact.frozen([[1.0, 0.0], [5e-324, 1.0]])
    for seed in range(20):
        verdict = block.verify(Draft((0, 0), q), p, Coins(PhiloxNoise(seed), position=0))
        assert (verdict.num_accepted, verdict.next_token, verdict.source) == (0, 1, "recovered")


def test_refuses_a_tree_and_a_draft_that_could_not_be_drawn() -> None:
    p, q = exact.frozen(np.full((3, 2), 0.5)), exact.frozen([[0.0, 1.0], [0.5, 0.5]])
    with pytest.raises(InvariantError, match=r"tree with parents \(-1, -1\)"):
        block.verify(Draft((1, 0), q, (-1, -1)), p, Coins(PhiloxNoise(0), position=0))
    with pytest.raises(InvariantError, match="probability 0"):
        block.verify(Draft((0, 0), q), p, Coins(PhiloxNoise(0), position=0))


# ── wrong versions, each told apart ─────────────────────────────────────────────────────────────────────────────────


def broken_block(
    draft: Draft,
    target_probs: NDArray[np.float64],
    coins: Coins,
    *,
    stop_at_first_no: bool = False,
    token_residual: bool = False,
    last_row_looks_ahead: bool = False,
    unclipped: bool = False,
) -> Verdict:
    """Block verification in the order of the paper, with one mistake of those seen in public code."""
    survived, kept, gamma = 1.0, 0, len(draft)
    at_kept = 1.0
    for i, token in enumerate(draft.tokens):
        ratio = survived * target_probs[i, token] / draft.probs[i, token]
        survived = float(ratio if unclipped else min(1.0, ratio))
        coin = survived
        if i + 1 < gamma or last_row_looks_ahead:
            following = draft.probs[min(i + 1, gamma - 1)]
            mass = block_residual(survived, target_probs[i + 1], following).sum()
            coin = 1.0 if survived >= 1.0 else float(mass / (mass + 1.0 - survived))
        if coins.accept(i, coin):
            kept, at_kept = i + 1, survived
        elif stop_at_first_no:
            break
    if kept == gamma:
        return Verdict(kept, coins.bonus(gamma, target_probs[gamma]), "bonus")
    law = rejection.residual((1.0 if token_residual else at_kept) * target_probs[kept], draft.probs[kept])
    token = coins.residual(kept, law / law.sum())
    return Verdict(kept, token, "recovered")


def test_the_papers_order_without_a_mistake_is_the_same_rule() -> None:
    """The control of the controls: only the mistakes make the difference."""
    target, draft = random_laws(0, 3), random_laws(100, 3)
    one, other = (exact.emitted_law(verify, target, chain(draft, 3)) for verify in (block.verify, broken_block))
    assert all(other[tokens] == pytest.approx(prob, abs=1e-12) for tokens, prob in one.items())


def with_mistake(mistake: str) -> Any:
    return partial(broken_block, **{mistake: True})


def test_giving_up_at_the_first_no_is_no_block_verification() -> None:
    target, draft = MOTIVATING
    wrong = with_mistake("stop_at_first_no")
    assert exact.distance(wrong, target, chain(draft, 2), 3) == pytest.approx(1 / 3, abs=1e-12)
    assert exact.expected_length(wrong, target, chain(draft, 2)) == pytest.approx(5 / 9, abs=1e-12)


@pytest.mark.parametrize("mistake", ["stop_at_first_no", "token_residual", "last_row_looks_ahead", "unclipped"])
def test_mistakes_change_the_law(mistake: str) -> None:
    target, draft = random_laws(0, 3), random_laws(100, 3)
    assert exact.distance(with_mistake(mistake), target, chain(draft, 3), 4) > 0.01
