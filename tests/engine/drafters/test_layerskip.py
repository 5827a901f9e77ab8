"""The target's first layers draft in the target's own cache, and the target never notices."""

from __future__ import annotations

import pytest

from minispec.engine.drafters import LayerSkipDrafter
from minispec.engine.drafters.base import allow_all
from minispec.engine.model.asks import answer
from minispec.engine.model.toy import TableModel
from minispec.engine.model.tree_session import TreeSession
from minispec.engine.noise import Coins
from minispec.engine.sampling import SamplingParams
from minispec.errors import OptionError
from tests.models import bits, random_gpt2

from .laws import (
    GREEDY,
    PLAIN,
    check_rows_are_the_law,
    drafted_run,
    plain_tokens,
    propose,
)

PROMPT = [3, 1, 4, 1, 5, 9, 2, 6]


@pytest.fixture(scope="module")
def target():
    return random_gpt2(n_layer=4, n_positions=32)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_targets_session_is_unharmed_bit_by_bit(target, k):
    session, untouched = TreeSession(target), TreeSession(target)
    for each in (session, untouched):
        each.prefill(PROMPT[:-1])
    drafter = LayerSkipDrafter(session, PLAIN, k)
    assert len(propose(drafter, PROMPT, 5)) == 5
    drafter.rollback(len(PROMPT) - 1)
    length = untouched.length
    assert session.tokens == untouched.tokens
    assert session.cache.lengths == untouched.cache.lengths
    for mine, theirs in ((session.cache.keys, untouched.cache.keys), (session.cache.values, untouched.cache.values)):
        assert bits(mine[:, :, :length]) == bits(theirs[:, :, :length])
    feed = [PROMPT[-1], 7, 8, 9]
    assert bits(session.score(feed)) == bits(untouched.score(feed))


def test_what_the_draft_wrote_is_what_the_target_writes(target):
    """On a batch-invariant backend; today it is written again all the same."""
    session = TreeSession(target)
    session.prefill(PROMPT[:-1])
    draft = propose(LayerSkipDrafter(session, PLAIN, 2), PROMPT, 4)
    begin, end = len(PROMPT) - 1, len(PROMPT) + 3
    keys = session.cache.keys[:2, :, begin:end].copy()
    session.score([PROMPT[-1], *draft.tokens])
    assert bits(session.cache.keys[:2, :, begin:end]) == bits(keys)


@pytest.mark.parametrize("backend", ["numba", "numpy"])
@pytest.mark.parametrize("k", [1, 2, None])
def test_greedy_text_is_plain_text(backend, k):
    """To the end of the context, for as many tokens as it holds."""
    model = random_gpt2(backend, n_layer=4, n_positions=32, seed=5)
    generation = drafted_run(model, lambda session: LayerSkipDrafter(session, GREEDY, k), PROMPT, GREEDY, 99)
    assert generation.token_ids == plain_tokens(model, PROMPT, GREEDY, 99)
    assert generation.finish_reason == "context"


def test_sampled_text_goes_to_the_end_of_the_context(target):
    params = SamplingParams(0.8, 0, 0.95, 0.0)
    generation = drafted_run(target, lambda session: LayerSkipDrafter(session, params, 2), PROMPT, params, 99)
    assert len(generation.token_ids) == 32 - len(PROMPT)


def test_rows_are_the_law():
    model = random_gpt2(vocab_size=3, n_embd=8, n_layer=3, n_positions=16)

    def new_drafter():
        session = TreeSession(model)
        session.prefill([0])
        return LayerSkipDrafter(session, PLAIN, 2)

    assert len(check_rows_are_the_law(new_drafter, [0, 1], 2)) == 9


def test_it_catches_up_when_the_target_is_behind(target):
    """A draft of a text of which the target's cache holds nothing yet."""
    session = TreeSession(target)
    alone = propose(LayerSkipDrafter(session, PLAIN, 2), PROMPT, 3)
    assert session.length == 0
    other = TreeSession(target)
    other.prefill(PROMPT[:-1])
    assert propose(LayerSkipDrafter(other, PLAIN, 2), PROMPT, 3).tokens == alone.tokens


def test_gamma_zero_and_the_end_of_the_window(target):
    text = list(range(32))
    for length, room in ((31, 2), (32, 1)):
        session = TreeSession(target)
        session.prefill(text[: length - 1])
        drafter = LayerSkipDrafter(session, PLAIN, 1)
        assert len(propose(drafter, text[:length], 0)) == 0
        assert len(propose(drafter, text[:length], 5)) == room


@pytest.mark.parametrize(("k", "way_out"), [(4, "k=2"), (9, "k=2"), (0, "k=2"), (-1, "k=2")])
def test_k_out_of_range_names_one_that_works(target, k, way_out):
    with pytest.raises(OptionError, match=f"from 1 to 3.*Try layerskip:{way_out}"):
        LayerSkipDrafter(TreeSession(target), PLAIN, k)


@pytest.mark.parametrize("model", [TableModel(3), random_gpt2(n_layer=1)], ids=["table", "one layer"])
def test_a_target_without_layers_to_skip(model):
    with pytest.raises(OptionError, match="Try --draft ngram"):
        LayerSkipDrafter(TreeSession(model), PLAIN, 1)


def test_an_interrupted_draft_leaves_the_target_as_it_was(target):
    """Its text is what it was; the first layers, which had run ahead, count again once it is set back, or drafts."""
    session, untouched = TreeSession(target), TreeSession(target)
    for each in (session, untouched):
        each.prefill(PROMPT[:-1])
    drafter = LayerSkipDrafter(session, PLAIN, 2)

    class Interrupted:
        def categorical(self, probs, at):
            raise KeyboardInterrupt

    def interrupt():
        with pytest.raises(KeyboardInterrupt):
            answer(drafter.propose(PROMPT, 3, Coins(Interrupted(), position=len(PROMPT)), allow_all))
        assert session.tokens == untouched.tokens
        assert session.cache.length == untouched.length

    interrupt()
    session.rollback(session.length)
    assert set(session.cache.lengths) == {len(PROMPT) - 1}
    interrupt()
    again = propose(drafter, PROMPT, 3)
    undisturbed = propose(LayerSkipDrafter(untouched, PLAIN, 2), PROMPT, 3)
    assert (again.tokens, bits(again.probs)) == (undisturbed.tokens, bits(undisturbed.probs))
    interrupt()
    assert bits(session.score([PROMPT[-1], 7])) == bits(untouched.score([PROMPT[-1], 7]))
