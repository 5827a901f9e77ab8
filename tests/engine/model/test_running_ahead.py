"""What an interruption or a self-draft leaves in the cache never shows; long prompts arrive whole."""

from __future__ import annotations

import numpy as np
import pytest

from minispec.engine.drafters.layerskip import AskLayers
from minispec.engine.model.session import PREFILL_CHUNK, Session
from minispec.engine.model.tree_session import TreeSession
from tests.models import bits, random_gpt2

MODEL = random_gpt2("numba", seed=1, n_positions=256, n_embd=12, n_layer=3, n_head=3, vocab_size=11)
TEXT = np.random.default_rng(0).integers(0, 11, 250).tolist()


@pytest.mark.parametrize("length", [PREFILL_CHUNK - 1, PREFILL_CHUNK, 2 * PREFILL_CHUNK + 1, 3 * PREFILL_CHUNK + 5])
def test_a_prompt_over_several_chunks_arrives_whole(length: int) -> None:
    chunked, at_once = Session(MODEL), Session(MODEL)
    chunked.prefill(TEXT[:length])
    assert chunked.tokens == TEXT[:length]
    at_once.score(TEXT[:length])
    assert bits(chunked.score([1])) == bits(at_once.score([1]))


@pytest.mark.parametrize("session", [Session, TreeSession])
def test_layers_that_ran_ahead_are_set_back_before_the_next_forward(session: type[Session]) -> None:
    """A self-draft that was interrupted leaves its layers longer than the others."""
    ahead, fresh = session(MODEL), Session(MODEL)
    ahead.prefill(TEXT[:20])
    AskLayers(ahead, [7, 8, 9], num_logits=1, k=1).answer()
    assert ahead.cache.lengths == [23, 20, 20]
    fresh.score(TEXT[:20])
    assert bits(ahead.score([1, 2])) == bits(fresh.score([1, 2]))


class Interrupting:
    """A model whose next forward writes all keys and values, then is interrupted before it returns."""

    def __init__(self) -> None:
        self.armed = False

    def __getattr__(self, name: str) -> object:
        return getattr(MODEL, name)

    def forward(self, *args: object, **options: object) -> np.ndarray:
        logits = MODEL.forward(*args, **options)  # type: ignore[arg-type]
        if self.armed:
            self.armed = False
            raise KeyboardInterrupt
        return logits


def test_a_tree_grows_rightly_after_an_interrupted_growth() -> None:
    model = Interrupting()
    broken, whole = TreeSession(model), TreeSession(MODEL)  # type: ignore[arg-type]
    for each in (broken, whole):
        each.prefill(TEXT[:5])
        each.score_tree([1], [2, 3], [-1, -1])
    model.armed = True
    with pytest.raises(KeyboardInterrupt):
        broken.grow_tree([4, 5], [0, 1])
    assert bits(broken.grow_tree([6], [1])) == bits(whole.grow_tree([6], [1]))
    broken.keep([1, 2])
    whole.keep([1, 2])
    assert bits(broken.score([9])) == bits(whole.score([9]))


def test_a_path_is_kept_or_forgotten_whole_when_it_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys are compacted before values; in between, the session must not remember nodes that have moved."""
    session, plain = TreeSession(MODEL), Session(MODEL)
    session.prefill(TEXT[:5])
    session.score_tree([1], [2, 3, 4], [-1, -1, 1])

    def interrupt(*args: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(session.cache, "keep", interrupt)
        with pytest.raises(KeyboardInterrupt):
            session.keep([1, 2])
    assert session.find_path([3]) == []
    plain.score([*TEXT[:5], 1])
    assert bits(session.score([8])) == bits(plain.score([8]))
