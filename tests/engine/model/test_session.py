"""A session against a forward from scratch, after any sequence of operations: same logits, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from minispec.engine.model import session as session_module
from minispec.engine.model.session import Session, count_shared
from minispec.engine.model.toy import TableModel
from minispec.errors import InvariantError
from tests.engine.generation.tiny import random_gpt2
from tests.models import Counted

N_POSITIONS, VOCAB = 24, 11
tokens = st.lists(st.integers(0, VOCAB - 1), min_size=1, max_size=6)


class SessionMachine(RuleBasedStateMachine):
    """score, prefill, rollback and interrupted forwards in any order; what was fed is counted."""

    model = None
    rtol = 0.0

    def __init__(self):
        super().__init__()
        self.counted = Counted(self.model)
        self.session = Session(self.counted)
        self.text: list[int] = []
        self.fed = self.forwards = 0

    def check(self, logits, count):
        """Logits after the last ``count`` tokens are those of the whole text, fed to an empty cache."""
        assert logits.shape == (count, VOCAB)
        if count:
            wanted = self.model.logits(self.text)[-count:]
            # rtol 0 where the backend is batch-invariant; else float32 sums in another order, |logit| below 10
            np.testing.assert_allclose(logits, wanted, rtol=0.0, atol=self.rtol)

    @rule(new=tokens, data=st.data())
    def score(self, new, data):
        new = new[: N_POSITIONS - len(self.text)]
        if new:
            num_logits = data.draw(st.none() | st.integers(0, len(new)))
            self.text += new
            self.fed += len(new)
            self.forwards += 1
            self.check(self.session.score(new, num_logits), len(new) if num_logits is None else num_logits)

    @rule(length=st.integers(0, N_POSITIONS + 1))
    def roll_back(self, length):
        self.session.rollback(length)
        del self.text[length:]

    @rule(shared=st.integers(0, N_POSITIONS), new=st.lists(st.integers(0, VOCAB - 1), max_size=9))
    def prefill(self, shared, new):
        """A prompt that shares a beginning with what is there feeds the rest alone, in chunks."""
        prompt = [*self.text[:shared], *new][:N_POSITIONS]
        lacking = len(prompt) - count_shared(self.text, prompt)
        self.session.prefill(prompt)
        self.text = prompt
        self.fed += lacking
        self.forwards += -(-lacking // session_module.PREFILL_CHUNK)

    @rule(new=tokens, layers=st.integers(1, 2))
    def interrupted_forward(self, new, layers):
        """Ctrl-C after some of the layers: the session is as it was, and so are its cache's lengths."""
        new = new[: N_POSITIONS - len(self.text)]
        if not new:
            return
        real, stored = self.session.cache.store, 0

        def store(*args):
            nonlocal stored
            stored += 1
            real(*args)
            if stored == layers:
                raise KeyboardInterrupt

        self.session.cache.store = store
        try:
            with pytest.raises(KeyboardInterrupt):
                self.session.score(new)
        finally:
            del self.session.cache.store
        self.fed += len(new)
        assert set(self.session.cache.lengths) == {len(self.text)}

    @rule()
    def score_past_the_end(self):
        """Refused in our own words, and nothing changes."""
        too_many = [0] * (N_POSITIONS - len(self.text) + 1)
        with pytest.raises(InvariantError):
            self.session.score(too_many)
        self.fed += len(too_many)

    @invariant()
    def counts_agree(self):
        assert self.session.tokens == self.text
        assert self.session.length == self.session.cache.length == len(self.text)
        assert self.counted.num_fed == self.fed
        assert self.session.num_forwards == self.forwards

    def teardown(self):
        """Whatever happened: the next token's logits are right."""
        if len(self.text) < N_POSITIONS:
            self.text += [3]
            self.check(self.session.score([3]), 1)


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch):
    monkeypatch.setattr(session_module, "PREFILL_CHUNK", 3)


class NumbaMachine(SessionMachine):
    model = random_gpt2("numba", n_positions=N_POSITIONS)


class NumpyMachine(SessionMachine):
    model = random_gpt2("numpy", n_positions=N_POSITIONS)
    rtol = 1e-4


TestNumbaSession = NumbaMachine.TestCase
TestNumbaSession.settings = settings(max_examples=60, stateful_step_count=20)
TestNumpySession = NumpyMachine.TestCase
TestNumpySession.settings = settings(max_examples=20, stateful_step_count=20)


def test_a_table_model_predicts_from_what_its_cache_holds():
    """Not from what the caller believes: a row changed behind its back changes the law."""
    model = TableModel(4, seed=1)
    session = model.session()
    session.score([1, 2])
    session.cache.keys[0, 0, 0] = 3.0
    logits = session.score([0])
    np.testing.assert_array_equal(logits[0], np.log(model.next_probs((3, 2, 0))).astype(np.float32))
    assert not np.array_equal(model.next_probs((3, 2, 0)), model.next_probs((1, 2, 0)))


def test_a_tables_law_does_not_depend_on_who_asks_first_nor_with_which_integers():
    first, second = TableModel(4, seed=1), TableModel(4, seed=1)
    np.testing.assert_array_equal(
        first.next_probs(np.array([1, 2])), (second.next_probs((3,)), second.next_probs((1, 2)))[1]
    )


def test_a_negative_length_is_refused():
    session = TableModel(4, seed=1).session()
    session.score([1, 2, 3])
    with pytest.raises(InvariantError):
        session.rollback(-1)
    assert session.tokens == [1, 2, 3]


def test_a_session_stopped_ahead_by_its_first_layers_takes_them_back():
    """A self-draft runs the first layers alone; the next score counts on no layer more than on the others."""
    model = random_gpt2("numba", n_positions=N_POSITIONS)
    session = model.session()
    session.score([1, 2, 3])
    block, ahead = np.ones((2, 3, 4), np.float32), session.cache.feed([7, 8], num_layers=1, num_logits=0)
    session.cache.store(0, ahead, block, block)
    session.cache.extend(ahead)
    assert session.cache.lengths == [5, 3]
    np.testing.assert_array_equal(session.score([5, 6]), model.logits([1, 2, 3, 5, 6])[-2:])
