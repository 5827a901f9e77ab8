"""Make the golden checkpoints: tiny random GPT-2s as Hugging Face would publish them, and the logits of its own code.

Run from the repository root, with torch and transformers installed (dependency group ``peers``)::

    python -m tests.golden.make_goldens

Each case becomes a folder beside this file: ``config.json``, weights in one of the published forms, and ``logits.npz``
with the token ids (the whole context, to the last position), the logits that transformers computes from those very
files in float32, and those it computes when its cache rounds keys and values to float16 (``halves``). The same library
versions give the same bytes; the logits change by rounding only with others.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).resolve().parent

SMALL: dict[str, Any] = {"vocab_size": 67, "n_positions": 24, "n_embd": 18, "n_layer": 2, "n_head": 3}

CASES: dict[str, dict[str, Any]] = {
    # name: config fields; "form" says how the files are published
    "gelu_new": {"form": {"prefix": True}},
    "gelu": {"activation_function": "gelu", "n_inner": 40, "form": {"buffers": True}},
    "relu": {
        "activation_function": "relu",
        "n_inner": 130,
        "layer_norm_epsilon": 1e-3,
        "n_layer": 1,
        "form": {"shards": 3},
    },
    "gelu_pytorch_tanh": {
        "activation_function": "gelu_pytorch_tanh",
        "n_layer": 1,
        "form": {"prefix": True, "head": True},
    },
    "unscaled": {"scale_attn_weights": False, "n_embd": 16, "n_head": 1, "form": {"prefix": True, "buffers": True}},
    "inverse_layer": {"scale_attn_by_inverse_layer_idx": True, "n_layer": 4, "n_embd": 15, "n_head": 5, "form": {}},
    "reorder_upcast": {
        "reorder_and_upcast_attn": True,
        "scale_attn_by_inverse_layer_idx": True,
        "n_layer": 3,
        "form": {"prefix": True, "shards": 2},
    },
    "untied": {"tie_word_embeddings": False, "n_embd": 21, "n_head": 7, "form": {"prefix": True}},
    "float16": {"n_embd": 48, "n_head": 4, "n_layer": 1, "form": {"prefix": True, "dtype": "float16"}},
    "bfloat16": {"tie_word_embeddings": False, "n_embd": 32, "n_head": 1, "form": {"dtype": "bfloat16", "shards": 2}},
}


def main(place: Path = FOLDER) -> None:
    """Write every case to a folder of ``place``."""
    for seed, (name, case) in enumerate(CASES.items()):
        folder = place / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        fields = {**SMALL, **case}
        form = fields.pop("form")
        publish(folder, random_model(fields, seed), seed=seed, **form)
    size = sum(path.stat().st_size for path in place.rglob("*") if path.is_file())
    print(f"{len(CASES)} cases, {size / 1000:.0f} kB")


def random_model(fields: dict[str, object], seed: int):
    """Return a transformers model whose every parameter is random, biases and norms too (they start as 0 and 1)."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(seed)
    # eager: with reorder_and_upcast_attn transformers has a second code path, and takes it only there
    config = GPT2Config(**{"bos_token_id": 0, "eos_token_id": 0, **fields}, attn_implementation="eager")
    model = GPT2LMHeadModel(config).float().eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            spread = 0.3 if "ln_" in name or name.endswith("bias") else 1.5 / parameter.shape[-1] ** 0.5
            parameter.normal_(1.0 if "ln_" in name and name.endswith("weight") else 0.0, spread)
    return model


def publish(
    folder: Path,
    model,
    *,
    seed: int,
    prefix: bool = False,
    head: bool = False,
    buffers: bool = False,
    shards: int = 1,
    dtype: str = "float32",
    num_tokens: int | None = None,
) -> None:
    """Write a model in one of the forms that are found in the wild, and the logits of the weights as stored.

    Parameters
    ----------
    prefix, head : bool
        Names begin with ``transformer.``; a tied head is stored as well (both as in distilgpt2's file).
    buffers : bool
        The causal mask is among the weights (as in gpt2's file).
    shards : int
        Number of weight files; more than one come with an index.
    num_tokens : int, optional
        Length of the sequence whose logits are stored; the whole context by default.
    """
    import torch
    from safetensors.torch import save_file
    from transformers import GPT2LMHeadModel

    config = model.config
    tensors = {name: p.detach().to(getattr(torch, dtype)).contiguous() for name, p in model.named_parameters()}
    stored = GPT2LMHeadModel(config).float().eval()  # what a reader of the rounded weights must compute
    stored.load_state_dict({name: tensor.float() for name, tensor in tensors.items()}, strict=False)
    stored.tie_weights()
    if head and "lm_head.weight" not in tensors:
        tensors["lm_head.weight"] = tensors["transformer.wte.weight"].clone()
    if buffers:
        size = config.n_positions
        for i in range(config.n_layer):
            tensors[f"transformer.h.{i}.attn.bias"] = torch.ones(size, size).tril().bool()[None, None]
            tensors[f"transformer.h.{i}.attn.masked_bias"] = torch.tensor(-1e4)
    if not prefix:
        tensors = {name.removeprefix("transformer."): tensor for name, tensor in tensors.items()}

    save_file_names = _split(tensors, shards)
    for file, part in save_file_names.items():
        save_file(part, folder / file, metadata={"format": "pt"})
    if shards > 1:
        weight_map = {name: file for file, part in save_file_names.items() for name in part}
        index = {"metadata": {}, "weight_map": dict(sorted(weight_map.items()))}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=1) + "\n", encoding="utf-8")
    fields = {**config.to_diff_dict(), "model_type": "gpt2", "tie_word_embeddings": config.tie_word_embeddings}
    fields |= {key: getattr(config, key) for key in ("vocab_size", "n_positions", "n_embd", "n_layer", "n_head")}
    fields.pop("transformers_version", None)
    (folder / "config.json").write_text(json.dumps(fields, indent=1, sort_keys=True) + "\n", encoding="utf-8")

    tokens = np.random.default_rng(seed).integers(0, config.vocab_size, num_tokens or config.n_positions)
    fed = torch.as_tensor(tokens)[None]
    with torch.no_grad():
        logits, halves = (run.logits[0].numpy().astype(np.float32)
                          for run in (stored(fed), stored(fed, past_key_values=rounding_cache())))  # fmt: skip
    np.savez(folder / "logits.npz", tokens=tokens.astype(np.int64), logits=logits, halves=halves)


def rounding_cache():
    """Return a cache of transformers' that rounds what it is given to float16, and computes with that."""
    from transformers import DynamicCache

    class RoundingCache(DynamicCache):
        def update(self, key_states, value_states, *args, **kwargs):
            return super().update(key_states.half().float(), value_states.half().float(), *args, **kwargs)

    return RoundingCache()


def _split(tensors: dict, shards: int) -> dict[str, dict]:
    """Deal the tensors out to shards, named as transformers names them."""
    names = sorted(tensors)
    if shards == 1:
        return {"model.safetensors": {name: tensors[name] for name in names}}
    return {
        f"model-{i + 1:05d}-of-{shards:05d}.safetensors": {name: tensors[name] for name in names[i::shards]}
        for i in range(shards)
    }


if __name__ == "__main__":
    main()
