"""A draft that scores some of its words: what its forward says, and that nothing else changes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minispec.engine.backends import BACKENDS
from minispec.engine.drafters import ModelDrafter, load_draft
from minispec.engine.model.session import Session
from minispec.engine.model.toy import TableModel
from minispec.engine.model.trim import spread, trim_words
from minispec.engine.sampling import SamplingParams
from minispec.errors import InputError
from tests.engine.drafters.laws import PLAIN, check_rows_are_the_law, engine_distance
from tests.models import bits, random_gpt2

VOCABULARY, EOS = 97, 90


def model_and_trimmed(backend: str = "panel", num_words: int = 30, **options):
    model = random_gpt2(backend, vocab_size=VOCABULARY, eos_token_id=EOS, **options)
    return model, trim_words(model, num_words)


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_its_words_have_the_logits_of_the_whole_head(backend, dtype, tied):
    model, trimmed = model_and_trimmed(backend, dtype=dtype, tie_word_embeddings=tied)
    tokens = [1, 96, 50, 3, 0, 31]
    whole, found = model.logits(tokens), trimmed.logits(tokens)
    words = [*range(30), EOS]
    assert trimmed.words.tolist() == words
    others = np.setdiff1d(np.arange(VOCABULARY), words)
    assert found.shape == whole.shape
    assert np.all(found[:, others] == np.float32(-1e30))
    if model.batch_invariant:
        assert bits(found[:, words]) == bits(whole[:, words])
    else:
        np.testing.assert_allclose(found[:, words], whole[:, words], rtol=1e-5, atol=1e-6)


@given(st.integers(1, VOCABULARY - 1))
@settings(max_examples=20, deadline=None)
def test_only_its_words_and_an_end_are_drafted(num_words):
    _, trimmed = model_and_trimmed(num_words=num_words)
    drafter = ModelDrafter(Session(trimmed), SamplingParams(temperature=1.0, top_p=0.95))
    row = drafter.probs(trimmed.logits([5, 95])[-1:], [5, 95])
    assert set(np.flatnonzero(row)) <= {*range(num_words), EOS}
    assert row.sum() == pytest.approx(1.0, abs=1e-12)


def test_it_is_made_once_and_keeps_its_words_with_pages():
    model, trimmed = model_and_trimmed()
    assert trim_words(model, 30) is trimmed
    assert trim_words(model, 31) is not trimmed
    assert trimmed.with_pages(4).words is trimmed.words
    assert trimmed.name == f"{model.name}:words=30"
    assert trimmed.weights.wte is model.weights.wte  # what it reads is not copied


def test_its_threads_follow_from_the_weights_it_reads():
    model, trimmed = model_and_trimmed("panel")
    width = model.config.n_embd
    assert trimmed.backend._num_weights == model.backend._num_weights - VOCABULARY * width + 31 * width


def test_with_pages_it_keeps_its_own_recordings():
    """What a backend has recorded of the whole model's forward would end in the whole head."""
    model = random_gpt2("panel", vocab_size=VOCABULARY, eos_token_id=EOS).with_pages(8)
    few, fewer = trim_words(model, 30), trim_words(model, 20)
    notes = [each.new_cache().recordings for each in (model, few, few, fewer)]
    assert notes[1] is notes[2]
    assert len({id(each) for each in notes}) == 3


def test_int8_is_packed_again_to_within_a_rounding():
    model, trimmed = model_and_trimmed("panel", dtype="int8")
    found, whole = trimmed.logits([1, 2]), model.logits([1, 2])
    np.testing.assert_allclose(found[:, trimmed.words], whole[:, trimmed.words], rtol=1e-4, atol=1e-4)


def test_rows_are_the_law():
    trimmed = trim_words(random_gpt2(vocab_size=3, n_embd=8, n_positions=16, seed=7), 2)
    check_rows_are_the_law(lambda: ModelDrafter(Session(trimmed), PLAIN), [0, 1], 2)


def test_rows_of_the_whole_head_would_break_the_law():
    """Drawn without some words and reported as if with them: what a missing word should get goes to others."""
    target = random_gpt2(vocab_size=3, n_embd=8, n_positions=16)
    draft = random_gpt2(vocab_size=3, n_embd=8, n_positions=16, seed=7)
    trimmed = trim_words(draft, 2)

    class Boasting(ModelDrafter):
        def propose(self, tokens, gamma, coins, more):
            import dataclasses

            made = yield from super().propose(tokens, gamma, coins, more)
            texts = [[*tokens, *made.tokens[:i]] for i in range(len(made))]
            rows = [self.sampler(draft.logits(text)[-1:], text)[0] for text in texts]
            return dataclasses.replace(made, probs=np.reshape(rows, made.probs.shape))

    assert engine_distance(target, lambda _: Boasting(Session(trimmed), PLAIN), num_tokens=3, gamma=2) > 1e-3


@given(st.integers(0, 2**32), st.integers(1, 11), st.floats(0.1, 5.0))
def test_acceptance_falls_by_at_most_the_mass_of_the_missing_words(seed, num_words, spread):
    """sum_S min(p, q / q(S)) >= sum_S min(p, q) >= alpha - p(not S); the ledger's entry says so."""
    rng = np.random.default_rng(seed)
    p, q = (np.exp(spread * rng.normal(size=12)) for _ in range(2))
    p, q = p / p.sum(), q / q.sum()
    kept = q[:num_words] / q[:num_words].sum()
    assert np.minimum(p[:num_words], kept).sum() >= np.minimum(p, q).sum() - p[num_words:].sum() - 1e-12


def test_spread_logits_stay_finite():
    assert (
        spread(np.ones((2, 1), np.float32), np.array([1]), 3).tolist()
        == [[np.float32(-1e30), 1.0, np.float32(-1e30)]] * 2
    )


@pytest.mark.parametrize(
    ("draft", "message"),
    [("model:words=97", "has 97, and a trimmed head has fewer. Try .*words=36"), ("model:words=0", "at least 1"),
     ("model:words=x", "a whole number"), ("table:words=2", "no head to be trimmed"),
     ("model:words=96", "fewer"), ("cut:words=5", "no head to be trimmed")],
)  # fmt: skip
def test_bad_numbers_are_refused_in_one_line(draft, message):
    model = random_gpt2(vocab_size=VOCABULARY, eos_token_id=VOCABULARY - 1)
    models = {"model": model, "table": TableModel(3), "cut": trim_words(model, 30)}
    with pytest.raises(InputError, match=message) as error:
        load_draft(draft, models.__getitem__)
    assert "\n" not in str(error.value)
