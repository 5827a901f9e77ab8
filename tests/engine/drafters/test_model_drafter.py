"""A model that drafts: q is what it drew from, its window is respected, it feeds what it lacks and nothing twice."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispec.engine.drafters import ModelDrafter
from minispec.engine.drafters.base import allow_all
from minispec.engine.laws import Enumerator
from minispec.engine.model.asks import answer
from minispec.engine.model.session import Session
from minispec.engine.model.toy import TableModel
from minispec.engine.noise import Coins
from minispec.engine.noise.philox import PhiloxNoise
from minispec.engine.sampling import SamplingParams, distribution
from tests.audited_noise import AuditedNoise
from tests.engine.generation.tiny import PLAIN, random_gpt2
from tests.models import Counted


def propose(drafter, tokens, gamma, noise, step=0, more=allow_all):
    return answer(drafter.propose(tokens, gamma, Coins(noise, position=len(tokens), step=step), more))


def test_the_reported_q_is_the_law_it_draws_from():
    """Enumerated: P(draft) is the product of its reported probabilities, with processors in force."""
    params = SamplingParams(0.6, 2, 0.95, 0.0)

    def run(noise):
        drafter = ModelDrafter(Session(TableModel(4, seed=1)), params)
        draft = propose(drafter, [0, 1], 2, noise)
        return draft.tokens, float(np.prod([draft.probs[i, token] for i, token in enumerate(draft.tokens)]))

    law = Enumerator(run).law()
    assert len(law) > 1
    for (_, reported), prob in law.items():
        assert prob == pytest.approx(reported, rel=1e-12)  # the same two factors


@given(
    committed=st.lists(st.integers(0, 10), min_size=1, max_size=12),
    cuts=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5)), max_size=5),
)
def test_q_is_an_uncached_forwards_after_any_history(committed, cuts):
    """Drafts accepted in part, again and again: each reported row equals that of an empty cache, bit for bit."""
    model = Counted(random_gpt2("numba", seed=3))
    drafter, noise = ModelDrafter(Session(model), PLAIN), AuditedNoise(PhiloxNoise(0))
    tokens = list(committed)
    for step, (gamma, accepted) in enumerate(cuts):
        draft = propose(drafter, tokens, gamma, noise, step)
        assert len(draft) == min(gamma, max(0, model.n_positions - len(tokens) + 1))
        if len(draft):
            wanted = distribution(model.logits([*tokens, *draft.tokens][:-1])[-len(draft) :], PLAIN)
            np.testing.assert_array_equal(draft.probs, wanted)
        fed = model.num_fed
        tokens += [*draft.tokens[:accepted], step % 11]
        drafter.rollback(len(tokens) - 1)
        assert drafter.session.tokens == tokens[: drafter.session.length]
        assert model.num_fed == fed


@pytest.mark.parametrize("num_tokens", range(1, 9))
def test_the_window_is_used_to_the_last_slot_and_no_further(num_tokens):
    """All but the last drafted token must fit: with a window of 5 and n tokens, 5 - n + 1 drafts."""
    drafter = ModelDrafter(Session(TableModel(3, 5, seed=1)), PLAIN)
    tokens = [0] * num_tokens
    answer(drafter.prefill(tokens[:-1]))
    draft = propose(drafter, tokens, 9, PhiloxNoise(0))
    assert len(draft) == max(0, 6 - num_tokens)
    assert draft.probs.shape == (len(draft), 3)


def test_a_prompt_longer_than_the_window_is_not_fed():
    model = Counted(TableModel(3, 5, seed=1))
    answer(ModelDrafter(Session(model), PLAIN).prefill([0] * 6))
    assert model.num_fed == 0


def test_no_draft_reads_no_noise():
    noise = AuditedNoise(PhiloxNoise(0))
    assert len(propose(ModelDrafter(Session(TableModel(3, seed=1)), PLAIN), [0], 0, noise)) == 0
    assert noise.reads == set()


def test_a_position_drafted_again_reads_other_noise():
    """The address holds the step: over 200 positions two steps cannot agree by chance (2**-200 or so)."""
    table = {(0,) * n: [0.5, 0.5] for n in range(1, 300)}
    drafter = ModelDrafter(Session(TableModel(2, 400, table=table)), PLAIN)
    noise = PhiloxNoise(0)
    drafts = []
    for step in range(2):
        drafter.rollback(0)
        drafts.append([propose(drafter, [0] * n, 1, noise, step).tokens[0] for n in range(1, 201)])
    assert drafts[0] != drafts[1]
