"""The template tests pass what is right, and tell what is wrong apart."""

from __future__ import annotations

import dataclasses
from functools import partial

import numpy as np
import pytest

from minispec.engine.drafters import CascadeDrafter, ModelDrafter, NgramDrafter, SuffixDrafter, SyntheticDrafter
from minispec.engine.laws import check_drafter, check_rule
from minispec.engine.model.session import Session
from minispec.engine.model.toy import TableModel
from minispec.engine.records import Draft, Verdict
from minispec.engine.verifiers import Verifier, get_verifier, kseq, one_by_one
from minispec.engine.verifiers.rejection import residual, verify
from minispec.errors import InvariantError

DRAFT = TableModel(3, seed=1)


class TestRules:
    @pytest.mark.parametrize("name", ["rejection", "block", "tree", "kseq", "match", "gumbel"])
    def test_ours_pass(self, name: str) -> None:
        check_rule(get_verifier(name))

    @pytest.mark.parametrize("name", ["typical", "lenient"])
    def test_lossy_ones_do_not(self, name: str) -> None:
        with pytest.raises(InvariantError, match="not lossless"):
            check_rule(get_verifier(name).verify)

    def test_a_wrong_replacement_is_told(self) -> None:
        def keep(p, q):
            return np.minimum(1.0, np.divide(p, q, out=np.ones_like(p), where=q > 0))

        check_rule(partial(one_by_one.verify, keep=keep, replace=residual))
        with pytest.raises(InvariantError, match="total variation"):
            check_rule(partial(one_by_one.verify, keep=keep, replace=lambda p, q: p))

    def test_a_promise_of_the_same_seed_is_checked(self) -> None:
        with pytest.raises(InvariantError, match="promises plain sampling's tokens"):
            check_rule(Verifier("rejection, boasting", verify, same_seed=True))

    def test_a_promise_of_trees_is_checked(self) -> None:
        with pytest.raises(InvariantError, match="handed a tree"):
            check_rule(Verifier("rejection, boasting", verify, trees=True))

    def test_a_rule_that_counts_siblings_has_to_say_so(self) -> None:
        with pytest.raises(InvariantError, match="not lossless: on drafts of a tree that grows"):
            check_rule(Verifier("K-SEQ, boasting", kseq.verify, trees=True))

    def test_a_rule_that_reads_noise_twice_is_told(self) -> None:
        def careless(draft: Draft, target_probs, coins) -> Verdict:
            verdict = verify(draft, target_probs, coins)
            again = verify(draft, target_probs, coins)
            return dataclasses.replace(verdict, next_token=again.next_token)

        with pytest.raises(InvariantError, match="read twice"):
            check_rule(careless)


class Liar(ModelDrafter):
    """Says that each token was drawn from a uniform row."""

    def propose(self, tokens, gamma, coins, more):
        draft = yield from super().propose(tokens, gamma, coins, more)
        return dataclasses.replace(draft, probs=np.full_like(draft.probs, 1 / 3))


class Chatterer(ModelDrafter):
    """Drafts one token more than it was asked for."""

    def propose(self, tokens, gamma, coins, more):
        return (yield from super().propose(tokens, gamma + 1, coins, more))


class Elephant(NgramDrafter):
    """Never forgets, and so copies from a text that was taken back."""

    def rollback(self, length: int) -> None:
        pass

    def _catch_up(self, tokens) -> None:
        for token in tokens[len(self._tokens) :]:
            self._tokens.append(token)
            for gram in self._grams():
                self._ends.setdefault(gram, []).append(len(self._tokens) - 1)


class TestDrafters:
    @pytest.mark.parametrize(
        "new_drafter",
        [
            lambda target, sampler: ModelDrafter(Session(DRAFT), sampler),
            lambda target, sampler: NgramDrafter(3),
            lambda target, sampler: SuffixDrafter(3),
            lambda target, sampler: SyntheticDrafter(Session(target.model), sampler, 0.6),
            lambda target, sampler: CascadeDrafter(Session(DRAFT), sampler, NgramDrafter(3)),
        ],
    )
    def test_ours_pass(self, new_drafter) -> None:
        check_drafter(new_drafter)

    @pytest.mark.parametrize(
        ("wrong", "problem"),
        [
            (lambda target, sampler: Liar(Session(DRAFT), sampler), "not drawn from its rows"),
            (lambda target, sampler: Chatterer(Session(DRAFT), sampler), "asked for 0 tokens and proposed 1"),
            (lambda target, sampler: Elephant(3), "after a rollback"),
            (lambda target, sampler: ModelDrafter(Session(DRAFT), sampler, coupled=True), "read twice"),
        ],
        ids=["misstates its rows", "too long", "does not forget", "draws with the target's noise"],
    )
    def test_wrong_ones_do_not(self, wrong, problem: str) -> None:
        with pytest.raises(InvariantError, match=problem):
            check_drafter(wrong)
