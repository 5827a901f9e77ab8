"""The target with rounded weights, and the rounding."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from minispec.engine.backends import BACKENDS
from minispec.engine.backends.formats import round_weights
from minispec.engine.drafters import SelfDrafter
from minispec.engine.model.quantize import ROUNDED_DTYPES, round_model
from minispec.engine.model.toy import TableModel
from minispec.errors import OptionError
from tests.models import bits, random_gpt2

from .laws import EXACT, GREEDY, PLAIN, check_rows_are_the_law, drafted_run, engine_distance, plain_tokens

MATRICES = arrays(np.float32, (4, 3), elements=st.floats(-1e4, 1e4, width=32))


@given(MATRICES)
def test_float16_is_numpys(array):
    assert bits(round_weights(array, "float16")) == bits(array.astype(np.float16).astype(np.float32))


def test_float16_saturates():
    assert round_weights(np.array([[1e9], [-1e9]], np.float32), "float16").tolist() == [[65504.0], [-65504.0]]


@given(MATRICES)
def test_bfloat16_is_the_nearest_of_the_two_neighbours(array):
    rounded = round_weights(array, "bfloat16")
    assert not np.any(rounded.view(np.uint32) & 0xFFFF)
    down = (array.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
    up = ((array.view(np.uint32) & np.uint32(0xFFFF0000)) + np.uint32(0x10000)).view(np.float32)
    off = np.abs(rounded.astype(np.float64) - array)
    assert np.all(off <= np.abs(down.astype(np.float64) - array))
    assert np.all(off <= np.abs(up.astype(np.float64) - array))


def test_bfloat16_ties_go_to_even():
    ties = np.array([[1.0 + 2.0**-8, 1.0 + 3 * 2.0**-8]], np.float32)  # half way between neighbours 2**-7 apart
    assert round_weights(ties, "bfloat16").tolist() == [[1.0, 1.0 + 2.0**-6]]


@given(MATRICES)
def test_int8_is_within_half_a_step_of_each_channel(array):
    rounded = round_weights(array, "int8").astype(np.float64)
    step = np.abs(array.astype(np.float64)).max(axis=0) / 127
    # One ulp of slack: scale and product are float32.
    assert np.all(np.abs(rounded - array) <= 0.5 * step + 2e-7 * np.abs(array).max() + 1e-38)
    assert all(len(set(np.rint(column / s))) <= 255 for column, s in zip(rounded.T, step, strict=True) if s > 0)


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


def test_rows_are_the_law_and_the_engines_law_is_the_targets():
    model = random_gpt2(vocab_size=3, n_embd=8, n_positions=16)
    check_rows_are_the_law(lambda: SelfDrafter(model, PLAIN, "int8"), [0, 1], 2)
    assert engine_distance(model, lambda _: SelfDrafter(model, PLAIN, "int8"), num_tokens=3, gamma=2) < EXACT


def test_errors_name_a_way_out():
    with pytest.raises(OptionError, match="Try self:dtype=int8"):
        SelfDrafter(random_gpt2(), PLAIN, "int4")
    with pytest.raises(OptionError, match="Try --draft ngram"):
        SelfDrafter(TableModel(3), PLAIN)
