"""The target with rounded weights, and the rounding."""

from __future__ import annotations

import numpy as np
import pytest

from minispec.engine.backends import BACKENDS
from minispec.engine.backends.formats import ROUNDED_DTYPES, round_weights
from minispec.engine.drafters import SelfDrafter
from minispec.engine.model.quantize import round_model
from minispec.engine.model.toy import TableModel
from minispec.errors import OptionError
from tests.models import bits, random_gpt2

from .laws import GREEDY, PLAIN, check_rows_are_the_law, drafted_run, plain_tokens


@pytest.mark.parametrize("dtype", ROUNDED_DTYPES)
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_packed_model_rounds_as_its_tensors_do(backend, dtype):
    """Rounding what the backend packed is packing what was rounded."""
    model = random_gpt2(backend, vocab_size=97)
    rounded = round_model(model, dtype)
    runner = model.backend
    reference = random_gpt2("numpy", vocab_size=97)  # the same seed: its matrices are the plain ones
    plain = reference.weights.h[1].mlp.c_fc
    expected = runner.pack(plain.weight, plain.bias, dtype)
    found = rounded.weights.h[1].mlp.c_fc
    assert bits(found.weight) == bits(expected.weight)
    assert bits(found.bias) == bits(expected.bias)
    np.testing.assert_array_equal(runner.unpack(found), round_weights(plain.weight, dtype))
    assert rounded.weights.lm_head is rounded.weights.wte  # tied: one rounding for both uses


@pytest.mark.parametrize("dtype", ROUNDED_DTYPES)
def test_close_to_the_target_but_not_the_target(dtype):
    model = random_gpt2()
    tokens = list(range(20))
    exact, rounded = model.logits(tokens), round_model(model, dtype).logits(tokens)
    assert bits(exact) != bits(rounded)
    assert np.abs(exact - rounded).max() < 0.1 * np.abs(exact).max()


@pytest.mark.parametrize("dtype", ROUNDED_DTYPES)
def test_greedy_text_is_plain_text_and_most_drafts_are_accepted(dtype):
    model = random_gpt2(n_positions=48, seed=2)
    generation = drafted_run(model, lambda _: SelfDrafter(model, GREEDY, dtype), [1, 2, 3], GREEDY, 40)
    assert generation.token_ids == plain_tokens(model, [1, 2, 3], GREEDY, 40)
    assert generation.metrics.draft_acceptance_rate > 0.5


def test_rows_are_the_law():
    model = random_gpt2(vocab_size=3, n_embd=8, n_positions=16)
    check_rows_are_the_law(lambda: SelfDrafter(model, PLAIN, "int8"), [0, 1], 2)


def test_errors_name_a_way_out():
    with pytest.raises(OptionError, match="Try self:dtype=int8"):
        SelfDrafter(random_gpt2(), PLAIN, "int4")
    with pytest.raises(OptionError, match="Try --draft ngram"):
        SelfDrafter(TableModel(3), PLAIN)
