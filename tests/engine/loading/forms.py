"""Small model folders of every published form, and what to ask of each.

``forms.json`` holds what transformers answered; tests/peers/test_folders.py asks it again and writes the file.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.engine.loading.folders import (
    CONFIG,
    random_tensors,
    tokenizer_json,
    write_index,
    write_safetensors,
    write_tokenizer,
    write_vocab_and_merges,
)

FIELDS = CONFIG | {"vocab_size": 266, "n_positions": 48, "eos_token_id": None, "bos_token_id": 256}
"""Six rows more than the tokenizer has tokens."""
TEXTS = ("the a", "", " the", "the<|user|> a <|bot|>.", "<|endoftext|>the", "x‹é>y <é> z", "café the\n", "the <pad>")
PROMPT, NUM_TOKENS = "the a", 24
ANSWERS = Path(__file__).with_name("forms.json")

USER, BOT, NAME = "<|user|>", "<|bot|>", "‹é>"


def token(content: str, *, special: bool = True, **settings: bool) -> dict[str, Any]:
    usual = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": special}
    return {"content": content} | usual | settings


def decoder(*contents: str, **settings: bool) -> dict[str, Any]:
    """Return an ``added_tokens_decoder`` that begins behind the vocabulary."""
    return {str(260 + i): token(content, **settings) for i, content in enumerate(contents)}


def begins_with(*pieces: str) -> dict[str, Any]:
    """Return a post-processor that puts ``<|endoftext|>`` around a text, as LLaMA 3's does."""
    special = {"SpecialToken": {"id": "<|endoftext|>", "type_id": 0}}
    single = [special if piece else {"Sequence": {"id": "A", "type_id": 0}} for piece in pieces]
    tokens = {"<|endoftext|>": {"id": "<|endoftext|>", "ids": [256], "tokens": ["<|endoftext|>"]}}
    return {"type": "TemplateProcessing", "single": single, "pair": [], "special_tokens": tokens}


def own(**changes: Any) -> dict[str, Any]:
    """Return a ``tokenizer.json`` with other top-level values."""
    return tokenizer_json() | changes


def with_added(*contents: str, **settings: bool) -> dict[str, Any]:
    """Return a ``tokenizer.json`` with tokens beside its vocabulary."""
    content = tokenizer_json()
    content["added_tokens"] += [{"id": 260 + i, **token(text, **settings)} for i, text in enumerate(contents)]
    return content


def prefixed(prefix: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda tensors: {prefix + name: tensor for name, tensor in tensors.items()}


def head_only(tensors: dict[str, Any]) -> dict[str, Any]:
    tensors["lm_head.weight"] = tensors.pop("wte.weight")
    return {name if name == "lm_head.weight" else f"transformer.{name}": tensor for name, tensor in tensors.items()}


def both(factor: float) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda tensors: tensors | {"lm_head.weight": tensors["wte.weight"] * np.float32(factor)}


BYTES = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
FAST, GPT2 = "PreTrainedTokenizerFast", "GPT2Tokenizer"
NAMED = {"bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>", "unk_token": "<|endoftext|>"}

FORMS: dict[str, dict[str, Any]] = {
    "plain": {},
    # where texts end
    "config.json names an end": {"config": {"eos_token_id": 146}},
    "config.json names several": {"config": {"eos_token_id": [256, 192, 146]}},
    "generation_config.json names an end": {"generation": {"eos_token_id": 146}},
    "generation_config.json names several": {"generation": {"eos_token_id": [0, 192, 146]}},
    "both name ends": {"config": {"eos_token_id": 13}, "generation": {"eos_token_id": [192]}},
    "generation_config.json names none": {"config": {"eos_token_id": 146}, "generation": {"bos_token_id": 1}},
    "generation_config.json says null": {"config": {"eos_token_id": 146}, "generation": {"eos_token_id": None}},
    "an end without a row": {"generation": {"eos_token_id": [50256, 146]}},
    "an end that is text, and special tokens": {
        "generation": {"eos_token_id": 192},
        "tokenizer_config": {"tokenizer_class": GPT2, **NAMED, "pad_token": "<|endoftext|>"},
    },
    # tokens beside the vocabulary
    "added_tokens.json": {"slow": True, "added": {USER: 260, BOT: 261}, "tokenizer_config": {"tokenizer_class": GPT2}},
    "added_tokens.json in another order": {"slow": True, "added": {BOT: 261, USER: 260}},
    "added_tokens.json, special by the map": {
        "slow": True,
        "added": {USER: 260, BOT: 261},
        "special": {**NAMED, "additional_special_tokens": [USER, BOT]},
    },
    "added_tokens.json with the end": {"slow": True, "added": {"<|endoftext|>": 256, USER: 260}},
    "the map alone, with a pad token": {"slow": True, "special": {**NAMED, "pad_token": "<pad>"}},
    "the map with settings": {
        "slow": True,
        "special": {"eos_token": token("<|endoftext|>"), "pad_token": token("<pad>", lstrip=True)},
    },
    "added_tokens_decoder, no tokenizer.json": {
        "slow": True,
        "tokenizer_config": {"added_tokens_decoder": decoder(USER, BOT, "<pad>"), "tokenizer_class": GPT2},
    },
    "added_tokens_decoder, not special": {
        "slow": True,
        "tokenizer_config": {"added_tokens_decoder": decoder(USER, BOT, special=False), "tokenizer_class": GPT2},
    },
    "added_tokens_decoder, stripping": {
        "slow": True,
        "tokenizer_config": {"added_tokens_decoder": decoder(USER, BOT, lstrip=True, rstrip=True)},
    },
    "added_tokens_decoder beside tokenizer.json": {
        "tokenizer_config": {"added_tokens_decoder": decoder(USER, BOT), "tokenizer_class": FAST},
    },
    "added_tokens_decoder that tokenizer.json has too": {
        "tokenizer": with_added(USER, BOT),
        "tokenizer_config": {"added_tokens_decoder": decoder(USER, BOT), "tokenizer_class": GPT2, **NAMED},
    },
    "tokenizer.json with added tokens": {"tokenizer": with_added(USER, BOT, special=False)},
    "tokenizer.json with added special tokens": {
        "tokenizer": with_added(USER, BOT),
        "tokenizer_config": {"tokenizer_class": FAST},
    },
    "a name outside ASCII": {
        "tokenizer": with_added(NAME, special=False),
        "tokenizer_config": {"tokenizer_class": FAST},
    },
    "a special name outside ASCII": {"slow": True, "special": {"additional_special_tokens": [NAME, "<é>"]}},
    "additional_special_tokens beside tokenizer.json": {
        "tokenizer_config": {"tokenizer_class": FAST, "additional_special_tokens": [USER, BOT]},
    },
    "extra_special_tokens": {
        "tokenizer_config": {"tokenizer_class": GPT2, "extra_special_tokens": [USER], "image_token": BOT},
    },
    "a pad token without a row": {
        "config": {"vocab_size": 260},
        "tokenizer_config": {"tokenizer_class": FAST, **NAMED, "pad_token": "<pad>"},
    },
    "a special token that the vocabulary has as text": {
        "slow": True,
        "tokenizer_config": {"tokenizer_class": GPT2, "additional_special_tokens": ["the"]},
    },
    # what is put around a prompt
    "add_prefix_space": {"slow": True, "tokenizer_config": {"add_prefix_space": True, "tokenizer_class": GPT2}},
    "add_prefix_space beside tokenizer.json": {"tokenizer_config": {"add_prefix_space": True, "tokenizer_class": GPT2}},
    "add_prefix_space of another class": {"tokenizer_config": {"add_prefix_space": True, "tokenizer_class": FAST}},
    "tokenizer.json with a space, GPT-2's class": {"tokenizer": own(pre_tokenizer=BYTES)},
    "tokenizer.json with a space, another class": {
        "tokenizer": own(pre_tokenizer=BYTES),
        "tokenizer_config": {"tokenizer_class": FAST},
    },
    "add_bos_token": {"slow": True, "tokenizer_config": {"add_bos_token": True, "tokenizer_class": GPT2}},
    "add_bos_token and add_eos_token": {
        "slow": True,
        "tokenizer_config": {"add_bos_token": True, "add_eos_token": True, "bos_token": "the", "tokenizer_class": GPT2},
    },
    "add_bos_token beside tokenizer.json": {"tokenizer_config": {"add_bos_token": True, "tokenizer_class": GPT2}},
    "a post-processor": {"tokenizer": own(post_processor=begins_with("x", ""))},
    "a post-processor of another class": {
        "tokenizer": own(post_processor=begins_with("x", "", "x")),
        "tokenizer_config": {"tokenizer_class": FAST},
    },
    "a byte-level post-processor": {"tokenizer": own(post_processor=BYTES)},
    # how weights are kept
    "prefixes": {"tensors": prefixed("transformer.")},
    "the head alone": {"tensors": head_only},
    "the head twice": {"tensors": both(1.0)},
    "a head that differs": {"tensors": both(2.0)},
    "untied": {"config": {"tie_word_embeddings": False}},
    "shards": {"shards": True},
    **{
        f"activation {name}": {"config": {"activation_function": name}}
        for name in (
            *("gelu", "gelu_python", "gelu_fast", "gelu_accurate", "gelu_pytorch_tanh", "gelu_python_tanh"),
            *("relu", "silu", "swish", "tanh"),
        )
    },
}
"""Keyword arguments of :func:`write_form` by what is special about the form."""

BEYOND: dict[str, dict[str, Any]] = {
    "torch.compile's names": {"tensors": prefixed("_orig_mod.transformer.")},
    "DistributedDataParallel's names": {"tensors": prefixed("module._orig_mod.")},
}
"""Forms whose names transformers does not know, so that it draws weights at random; they are the plain form's."""


def write_form(
    folder: Path,
    *,
    config: dict[str, Any] | None = None,
    generation: dict[str, Any] | None = None,
    tokenizer: dict[str, Any] | None = None,
    tokenizer_config: dict[str, Any] | None = None,
    added: dict[str, int] | None = None,
    special: dict[str, Any] | None = None,
    slow: bool = False,
    tensors: Callable[[dict[str, Any]], dict[str, Any]] = dict,
    shards: bool = False,
) -> Path:
    """Write a folder; ``slow`` without ``tokenizer.json``, as tokenizers in Python were saved."""
    folder.mkdir()
    fields = FIELDS | (config or {})
    files = {
        "config.json": fields,
        "generation_config.json": generation,
        "tokenizer_config.json": tokenizer_config,
        "added_tokens.json": added,
        "special_tokens_map.json": special,
    }
    for name, content in files.items():
        if content is not None:
            (folder / name).write_text(json.dumps(content), encoding="utf-8")
    if slow:
        write_vocab_and_merges(folder)
    else:
        write_tokenizer(folder, tokenizer)
    made = {name: weight * np.float32(0.6) if weight.ndim == 2 else weight
            for name, weight in random_tensors(fields, seed=2).items()}  # fmt: skip
    made = tensors(made)
    if not shards:
        write_safetensors(folder / "model.safetensors", made, metadata={"format": "pt"})
        return folder
    places = {name: f"model-0000{1 + i % 2}-of-00002.safetensors" for i, name in enumerate(made)}
    for place in set(places.values()):
        part = {name: made[name] for name in made if places[name] == place}
        write_safetensors(folder / place, part, metadata={"format": "pt"})
    write_index(folder, places)
    return folder
