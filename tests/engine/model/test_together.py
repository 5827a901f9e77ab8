"""One forward for many readers has the bits of a forward for each."""

from __future__ import annotations

import dataclasses
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minispec.engine.drafters.layerskip import AskLayers
from minispec.engine.model import together
from minispec.engine.model.asks import Ask
from minispec.engine.model.pages import OutOfPagesError
from minispec.engine.model.session import Session
from minispec.engine.model.together import answer_together
from minispec.engine.model.toy import TableModel
from minispec.engine.model.tree_session import AskTree, TreeSession
from tests.models import bits, random_gpt2

GPT2S = {name: random_gpt2(name) for name in ("numba", "panel")}
GPT2S["panel, halves"] = random_gpt2("panel", kv_dtype="float16")
TABLE = TableModel(97, 64, seed=1)

kinds = st.sampled_from(["chain", "prompt", "tree", "first layer"])


def make_ask(kind, session, tokens):
    if kind == "first layer" and isinstance(session.model, TableModel):
        kind = "chain"
    if kind == "tree":
        return AskTree(session, tokens[:2], 4, [*tokens[2:4], 7], [-1, 0, -1])
    if kind == "first layer":
        return AskLayers(session, tokens, 1, k=1)
    return Ask(session, tokens, 0 if kind == "prompt" else min(2, len(tokens)))


def fed(rounds, new_session, answer):
    """Feed sessions through some rounds; return all logits."""
    sessions, found = [new_session() for _ in rounds[0]], []
    for asked in rounds:
        asks = [
            make_ask(kind, session, tokens) for session, (kind, tokens) in zip(sessions, asked, strict=True) if kind
        ]
        found += [bits(logits) for logits in answer(asks)]
        for session in sessions:
            if session.length % 3 == 2:  # some are set back
                session.rollback(session.length - 1)
    return found


@settings(max_examples=25, deadline=None)
@given(data=st.data(), name=st.sampled_from([*GPT2S, "table"]), page_size=st.sampled_from([1, 4, 5, 64]))
def test_everyone_gets_the_bits_of_a_forward_of_his_own(data, name, page_size):
    model = TABLE if name == "table" else GPT2S[name]
    number, tokens = data.draw(st.integers(1, 4)), st.lists(st.integers(0, 96), min_size=4, max_size=9)
    rounds = data.draw(st.lists(st.lists(st.tuples(kinds | st.none(), tokens), min_size=number, max_size=number),
                                min_size=1, max_size=3))  # fmt: skip
    paged = model.with_pages(4 * 64 // page_size + 8, page_size)
    alone = fed(rounds, lambda: TreeSession(model), lambda asks: [ask.answer() for ask in asks])
    assert fed(rounds, lambda: TreeSession(paged), answer_together) == alone


def test_sessions_with_memory_of_their_own_are_answered_one_by_one():
    model = GPT2S["numba"]
    sessions = [Session(model), Session(model)]
    found = answer_together([Ask(session, [1, 2, i], 1) for i, session in enumerate(sessions)])
    assert [bits(row) for row in found] == [bits(model.logits([1, 2, i])[-1:]) for i in range(2)]
    assert [session.num_forwards for session in sessions] == [1, 1]


def test_one_forward_is_run_for_all():
    paged = GPT2S["numba"].with_pages(8)
    with mock.patch.object(type(paged), "run", autospec=True, side_effect=type(paged).run) as run:
        answer_together([Ask(Session(paged), [1, 2, 3], 1) for _ in range(4)])
    assert run.call_count == 1


def test_when_pages_run_out_nothing_has_happened():
    paged = TABLE.with_pages(3, 4)
    sessions = [Session(paged) for _ in range(2)]
    with pytest.raises(OutOfPagesError):
        answer_together([Ask(session, list(range(8)), 1) for session in sessions])
    assert [session.length for session in sessions] == [0, 0]
    for session in sessions:
        session.rollback(0)
    assert paged.pool.num_free == 3


@pytest.mark.parametrize("mistake", ["pages of another", "ends of another", "logits in another order"])
def test_a_wrong_join_is_noticed(mistake):
    """Negative control: each mistake moves the bits of the check above."""

    def wrong(feeds):
        feed = together_join(feeds)
        if len(feeds) == 1:
            return feed
        name = {"pages of another": "pages", "ends of another": "ends", "logits in another order": "slots"}[mistake]
        return dataclasses.replace(feed, **{name: np.roll(getattr(feed, name), 1, axis=0)})

    together_join = together.join
    rounds = [[("chain", [1, 2, 3, 4, 5]), ("chain", [6, 7, 8, 9]), ("prompt", [1, 5, 2, 8])]] * 2
    model = GPT2S["numba"]
    alone = fed(rounds, lambda: TreeSession(model), lambda asks: [ask.answer() for ask in asks])
    paged = model.with_pages(20, 4)
    with mock.patch.object(together, "join", wrong):
        assert fed(rounds, lambda: TreeSession(paged), answer_together) != alone
