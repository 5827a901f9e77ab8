"""A draft for the draft: the drafted tokens stay the draft model's own, exactly."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from minispec.engine.drafters import CascadeDrafter, ModelDrafter, NgramDrafter, SuffixDrafter, TableDrafter, TokenTable
from minispec.engine.model import Session
from minispec.engine.model.toy import TableModel
from minispec.engine.noise.philox import PhiloxNoise
from minispec.engine.sampling import SamplingParams, distribution
from tests.audited_noise import AuditedNoise
from tests.models import random_gpt2

from .laws import (
    EXACT,
    GREEDY,
    PLAIN,
    check_rows_are_the_law,
    propose,
    while_true,
)

INNER = {
    "ngram": lambda: NgramDrafter(3, 2),
    "suffix": lambda: SuffixDrafter(3),
    "random": lambda: TableDrafter(TokenTable([0, 1, 2, 1], 3, 2), PLAIN),
    "model": lambda: ModelDrafter(Session(TableModel(3, 5, seed=9)), PLAIN),
}


@pytest.mark.parametrize("inner", INNER)
@pytest.mark.parametrize("params", [PLAIN, GREEDY, SamplingParams(0.7, 2, 1.0, 0.0)], ids=["plain", "greedy", "top-k"])
def test_drafts_are_distributed_as_the_draft_models_own(inner, params):
    """P(draft) = the product of its rows, and the rows are the draft model's: whatever the inner drafter does."""
    model, prompt, gamma = TableModel(3, seed=2), [0, 1, 0], 3
    drafts = check_rows_are_the_law(lambda: CascadeDrafter(Session(model), params, INNER[inner]()), prompt, gamma)
    assert sum(prob for prob, _ in drafts.values()) == pytest.approx(1.0, abs=EXACT)
    for _, draft in drafts.values():
        assert len(draft) == gamma
        logits = Session(model).score([*prompt, *draft.tokens[:-1]], num_logits=gamma)
        assert np.array_equal(draft.probs, distribution(logits, params))


@pytest.mark.parametrize("inner", ["ngram", "random"])
def test_a_stop_that_looks_at_the_next_row_keeps_the_law(inner):
    model = TableModel(3, seed=6)

    confident = while_true(lambda row: row.max() > 0.5)
    drafts = check_rows_are_the_law(
        lambda: CascadeDrafter(Session(model), PLAIN, INNER[inner]()), [0, 1, 0], 3, confident
    )
    plain = check_rows_are_the_law(lambda: ModelDrafter(Session(model), PLAIN), [0, 1, 0], 3, confident)
    assert {tokens: pytest.approx(prob, abs=EXACT) for tokens, (prob, _) in plain.items()} == {
        tokens: prob for tokens, (prob, _) in drafts.items()
    }
    assert len({len(tokens) for tokens in drafts}) > 1


def test_coupled_drafts_are_token_for_token_the_draft_models():
    model = random_gpt2(n_positions=40)
    prompt = [1, 2, 3, 1, 2, 3, 1]
    cascade = propose(CascadeDrafter(Session(model), PLAIN, NgramDrafter(97), coupled=True), prompt, 8)
    plain = propose(ModelDrafter(Session(model), PLAIN, coupled=True), prompt, 8)
    assert cascade.tokens == plain.tokens
    assert np.array_equal(cascade.probs, plain.probs)


def test_it_saves_forwards_of_the_draft_model():
    """A draft model that counts 0 1 2 0 1 2 ... is fully predictable by an n-gram."""
    table = {}
    for length in range(1, 20):
        for first in range(3):
            prefix = tuple((first + i) % 3 for i in range(length))
            row = np.zeros(3)
            row[(first + length) % 3] = 1.0
            table[prefix] = row
    model = TableModel(3, table=table)
    drafter = CascadeDrafter(Session(model), PLAIN, NgramDrafter(3))
    draft = propose(drafter, [0, 1, 2, 0], 6)
    assert draft.tokens == (1, 2, 0, 1, 2, 0)
    assert drafter.session.num_forwards == 2  # the prompt, then all six at once
    assert (drafter.num_inner, drafter.num_inner_accepted) == (6, 6)


@pytest.mark.parametrize("allowed", [0, 1, 2, 3, 4, 9])
def test_it_is_told_once_per_token_how_many_more(allowed):
    """Also where the inner drafter guesses right behind the last token: a policy counts what it was asked about."""
    model = TableModel(2, table={p: np.eye(2)[len(p) % 2] for n in range(1, 12) for p in product(range(2), repeat=n)})
    for inner in (NgramDrafter(2), NgramDrafter(2, 3, 3)):
        asked = []

        def more(row, asked=asked):
            asked.append(int(row.argmax()))
            return allowed - len(asked) + 1

        draft = propose(CascadeDrafter(Session(model), PLAIN, inner), [0, 1, 0], 4, more=more)
        assert draft.tokens == (1, 0, 1, 0)[:allowed]
        assert asked == [1, 0, 1, 0][: max(1, allowed)]


def test_inner_coins_have_addresses_of_their_own():
    model, seen = TableModel(3, seed=2), AuditedNoise(PhiloxNoise(3))
    for step in range(6):
        drafter = CascadeDrafter(Session(model), PLAIN, INNER["random"]())
        propose(drafter, [0, 1, 0], 5, seen, step=step)
    levels = {(at.purpose, at.level) for at in seen.reads}
    assert levels <= {("draft", 0), ("draft", 1), ("accept", 1), ("residual", 1)}


@pytest.mark.parametrize("window", range(1, 7))
def test_the_end_of_the_draft_models_window(window):
    model, prompt = TableModel(3, window, seed=2), [0, 1, 0]
    for gamma in (0, 1, 4):
        cascade = propose(CascadeDrafter(Session(model), PLAIN, NgramDrafter(3)), prompt, gamma)
        plain = propose(ModelDrafter(Session(model), PLAIN), prompt, gamma)
        assert len(cascade) == len(plain) == max(0, min(gamma, window + 1 - 3))
        assert cascade.probs.shape == (len(cascade), 3)


def test_rollbacks_leave_both_as_if_nothing_had_been():
    model, prompt = random_gpt2(n_positions=40), [1, 2, 1, 2, 1]
    drafter = CascadeDrafter(Session(model), PLAIN, NgramDrafter(97))
    propose(drafter, prompt, 6)
    drafter.rollback(3)
    fresh = CascadeDrafter(Session(model), PLAIN, NgramDrafter(97))
    again, first = propose(drafter, [1, 2, 1, 9, 2], 6, step=1), propose(fresh, [1, 2, 1, 9, 2], 6, step=1)
    assert again.tokens == first.tokens
    assert np.array_equal(again.probs, first.probs)


def test_a_vocabulary_of_one():
    assert propose(CascadeDrafter(Session(TableModel(1)), PLAIN, NgramDrafter(1)), [0], 3).tokens == (0, 0, 0)
