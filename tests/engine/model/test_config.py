"""The config: Hugging Face's names and defaults, and a clear no to what would change the numbers unseen."""

from __future__ import annotations

import math

import pytest

from minispec.engine.model import GPT2Config
from minispec.engine.model.weights import expected_shapes, num_parameters
from minispec.errors import ModelFileError
from tests.engine.loading.folders import assert_clear

GPT2 = {"vocab_size": 50257, "n_positions": 1024, "n_embd": 768, "n_layer": 12, "n_head": 12}


@pytest.mark.parametrize(
    ("changes", "published"),
    [
        ({}, 124_439_808),
        ({"n_layer": 6}, 81_912_576),  # distilgpt2
        ({"n_embd": 1024, "n_layer": 24, "n_head": 16}, 354_823_168),
        ({"n_embd": 1280, "n_layer": 36, "n_head": 20}, 774_030_080),
        ({"n_embd": 1600, "n_layer": 48, "n_head": 25}, 1_557_611_200),
    ],
    ids=["gpt2", "distilgpt2", "gpt2-medium", "gpt2-large", "gpt2-xl"],
)
def test_published_models_have_their_published_number_of_parameters(changes, published):
    assert num_parameters(GPT2Config.from_dict(GPT2 | changes)) == published


def test_defaults_are_those_of_hugging_face():
    config = GPT2Config.from_dict(GPT2)
    assert (config.n_inner, config.activation_function, config.layer_norm_epsilon) == (3072, "gelu_new", 1e-5)
    assert config.scale_attn_weights
    assert config.tie_word_embeddings
    assert not config.scale_attn_by_inverse_layer_idx
    assert config.eos_token_id == {50256}


def test_an_inner_width_of_null_is_four_times_the_width():
    assert GPT2Config.from_dict(GPT2 | {"n_inner": None}).n_inner == 3072
    assert GPT2Config.from_dict(GPT2 | {"n_inner": 100}).n_inner == 100


def test_attention_scale():
    plain = GPT2Config.from_dict(GPT2)
    assert plain.attention_scale(0) == plain.attention_scale(5) == 1 / math.sqrt(64)
    assert GPT2Config.from_dict(GPT2 | {"scale_attn_weights": False}).attention_scale(3) == 1.0
    both = GPT2Config.from_dict(GPT2 | {"scale_attn_by_inverse_layer_idx": True})
    assert both.attention_scale(0) == 0.125
    assert both.attention_scale(3) == 0.125 / 4


@pytest.mark.parametrize(
    ("value", "expected"), [(None, set()), (50256, {50256}), ([1, 2], {1, 2}), (50257, set()), ([], set())]
)
def test_end_of_text_ids(value, expected):
    """Ids outside the vocabulary can never come up; fine-tunes with a smaller vocabulary carry them."""
    assert GPT2Config.from_dict(GPT2 | {"eos_token_id": value}).eos_token_id == expected


def test_tensors_that_the_config_promises():
    tied = dict(expected_shapes(GPT2Config.from_dict(GPT2)))
    assert len(tied) == 2 + 12 * 12 + 2
    assert tied["h.11.attn.c_attn.weight"] == (768, 2304)
    assert tied["h.0.mlp.c_proj.weight"] == (3072, 768)
    untied = dict(expected_shapes(GPT2Config.from_dict(GPT2 | {"tie_word_embeddings": False})))
    assert set(untied) - set(tied) == {"lm_head.weight"}


SIZES = ("vocab_size", "n_positions", "n_embd", "n_layer", "n_head", "n_inner")
NO_SIZE = (0, -1, 2**31, 10**400, 1.0, float("nan"), "12", True, [12], {}, "x\n" * 9999)


@pytest.mark.parametrize("value", NO_SIZE, ids=lambda value: repr(value)[:12])
@pytest.mark.parametrize("key", SIZES)
def test_sizes_must_be_sizes(key, value):
    with pytest.raises(ModelFileError, match=rf"{key} is .*; it must be a positive integer") as error:
        GPT2Config.from_dict(GPT2 | {key: value})
    assert_clear(error.value)


@pytest.mark.parametrize("key", SIZES[:-1])
def test_sizes_must_be_there(key):
    with pytest.raises(ModelFileError, match=f"{key} is None"):
        GPT2Config.from_dict({name: value for name, value in GPT2.items() if name != key})


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"n_head": 7}, "n_embd 768 is not a multiple of n_head 7"),
        ({"n_head": 2**31 - 1}, "not a multiple"),
        ({"model_type": "llama"}, "model_type is 'llama'"),
        ({"model_type": None}, "model_type is None"),
        ({"model_type": ["x"] * 9999}, "model_type"),
        ({"add_cross_attention": True}, "add_cross_attention"),
        ({"activation_function": "quick_gelu"}, "'quick_gelu'; minispec knows gelu_new"),
        ({"activation_function": None}, "activation_function is None"),
        ({"activation_function": ["relu"]}, "activation_function"),
        ({"layer_norm_epsilon": 0}, "layer_norm_epsilon is 0"),
        ({"layer_norm_epsilon": -1e-5}, "layer_norm_epsilon"),
        ({"layer_norm_epsilon": float("nan")}, "layer_norm_epsilon is nan"),
        ({"layer_norm_epsilon": 10**400}, "layer_norm_epsilon"),
        ({"layer_norm_epsilon": "1e-5"}, "layer_norm_epsilon"),
        ({"layer_norm_epsilon": True}, "layer_norm_epsilon"),
        ({"scale_attn_weights": 1}, "scale_attn_weights is 1; it must be true or false"),
        ({"scale_attn_by_inverse_layer_idx": "no"}, "true or false"),
        ({"tie_word_embeddings": None}, "true or false"),
        ({"eos_token_id": -1}, "eos_token_id is -1"),
        ({"eos_token_id": [1, "2"]}, "eos_token_id"),
        ({"eos_token_id": True}, "eos_token_id is True"),
        ({"eos_token_id": ["x" * 9999] * 9999}, "eos_token_id"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_refusals(change, match):
    with pytest.raises(ModelFileError, match=match) as error:
        GPT2Config.from_dict(GPT2 | change)
    assert_clear(error.value)
