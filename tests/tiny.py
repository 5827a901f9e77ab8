"""Tiny random models in the form they are published in: a Hugging Face folder with a byte-level tokenizer."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import tokenizers
from safetensors.numpy import save_file
from tokenizers import decoders, models, pre_tokenizers

from minispec.engine.model import GPT2Config
from minispec.engine.model.weights import expected_shapes
from minispec.engine.tokenizer import END_OF_TEXT


def byte_tokenizer(merges: tuple[tuple[str, str], ...] = (("t", "h"), ("th", "e"))) -> tokenizers.Tokenizer:
    """A byte-level BPE tokenizer: 256 bytes, a few merges, and the end-of-text token."""
    symbols = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocab = {symbol: i for i, symbol in enumerate([*symbols, *("".join(pair) for pair in merges)])}
    tokenizer = tokenizers.Tokenizer(models.BPE(vocab, list(merges)))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([END_OF_TEXT])
    return tokenizer


def write_model(
    folder: Path,
    *,
    seed: int = 0,
    n_positions: int = 64,
    n_embd: int = 16,
    n_layer: int = 2,
    scale: float = 0.5,
    tokenizer: tokenizers.Tokenizer | None = None,
) -> Path:
    """Write a random model; a larger ``scale`` makes its distributions more peaked."""
    tokenizer = tokenizer or byte_tokenizer()
    fields = {
        "model_type": "gpt2",
        "architectures": ["GPT2LMHeadModel"],
        "vocab_size": tokenizer.get_vocab_size(),
        "n_positions": n_positions,
        "n_embd": n_embd,
        "n_layer": n_layer,
        "n_head": 2,
        "activation_function": "gelu_new",
        "layer_norm_epsilon": 1e-5,
        "eos_token_id": tokenizer.token_to_id(END_OF_TEXT),
    }
    generator = np.random.default_rng(seed)
    tensors = {
        f"transformer.{name}": (generator.standard_normal(shape) * scale).astype(np.float32)
        for name, shape in expected_shapes(GPT2Config.from_dict(fields))
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(fields), encoding="utf-8")
    save_file(tensors, folder / "model.safetensors")
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder
