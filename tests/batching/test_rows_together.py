"""Distributions of a step: made in one call for all requests, and each request's own."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest

from minispec import generate
from minispec.batching import Engine
from minispec.batching import batch as batch_module
from minispec.errors import InvariantError
from minispec.model.toy import TableModel
from minispec.sampling import _kernels

TARGET, DRAFT = TableModel(8, 64, seed=1), TableModel(8, 64, seed=2)
OPTIONS = [
    {"temperature": 1.0, "top_p": 1.0},
    {"temperature": 0.7, "top_k": 2},
    {"temperature": 0.0},
    {"temperature": 2.0, "min_p": 0.1, "presence_penalty": 1.5},
    {"temperature": 1.0, "repetition_penalty": 1.4, "min_tokens": 9},
]


def count_wrong(draft: TableModel | None) -> int:
    """Return how many of these requests have another text in a batch than alone."""
    engine, alone = Engine(TARGET, max_running=8), []
    for seed, options in enumerate(OPTIONS * 2):
        given = {"draft": draft, "gamma": 3, "seed": seed, "max_tokens": 12, **options}
        engine.add([0, seed % 3], **given)
        alone.append(generate([0, seed % 3], target=TARGET, **given))
    return sum(a.token_ids != b.token_ids for a, b in zip(engine.run(), alone, strict=True))


@pytest.mark.parametrize("draft", [None, DRAFT])
def test_texts_are_those_alone_and_a_neighbours_settings_are_noticed(draft):
    right = batch_module.answer_probs_together

    def moved(asks):
        """Everyone's logits with the settings of the next."""
        moved_on = [asks[(i + 1) % len(asks)].params for i in range(len(asks))]
        return right([type(ask)(ask.logits, params) for ask, params in zip(asks, moved_on, strict=True)])

    def swapped(asks):
        """Everyone's distributions to somebody else with as many rows."""
        answers = right(asks)
        return answers[::-1] if len({answer.shape for answer in answers}) == 1 else answers

    assert count_wrong(draft) == 0
    for wrong in (moved, swapped):
        with mock.patch.object(batch_module, "answer_probs_together", wrong):
            assert count_wrong(draft) > 0


@pytest.mark.parametrize(("draft", "calls"), [(None, 1), (DRAFT, 4)])
def test_a_step_makes_everyones_distributions_in_one_call_per_forward(draft, calls):
    """The target's in one, and one for each token that all draft."""
    engine = Engine(TARGET, max_running=8)
    for seed in range(6):
        engine.add([0], draft=draft, gamma=3, seed=seed, max_tokens=40, temperature=1.0)
    engine.step()
    with mock.patch.object(_kernels, "process", wraps=_kernels.process) as process:
        engine.step()
    rows = [len(call.args[0]) for call in process.call_args_list]
    assert rows == [6] * (calls - 1) + [6 * calls]


def test_a_request_whose_logits_overflowed_is_blamed_alone():
    broken = {(1, 2): np.full(8, np.nan)}
    target = TableModel(8, 64, seed=1, table=broken)
    engine = Engine(target)
    others = [engine.add([0], draft=None, max_tokens=5, seed=3)]
    faulty = engine.add([1, 2], draft=None, max_tokens=5)
    others.append(engine.add([0, 2], draft=None, max_tokens=5, seed=4))
    with pytest.raises(InvariantError, match="the largest logit is nan"):
        engine.run()
    assert engine.blamed == faulty
    engine.cancel(faulty)
    engine.run()
    for number, prompt, seed in zip(others, ([0], [0, 2]), (3, 4), strict=True):
        alone = generate(prompt, target=target, draft=None, max_tokens=5, seed=seed)
        assert engine.generation(number).token_ids == alone.token_ids
