"""Model folders: what is read is what was written, and computes what GPT-2's formulas say."""

from __future__ import annotations

import functools
import hashlib
import json
import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from minispec.engine.loading import bundled, load_model
from minispec.engine.model import GPT2Config
from minispec.engine.model.weights import expected_shapes
from minispec.errors import ModelFileError

from .base import check

_SIZES = {"model_type": "gpt2", "vocab_size": 13, "n_positions": 12, "n_embd": 8, "n_layer": 3, "n_head": 2}
_FOLDERS: dict[str, tuple[dict[str, Any], tuple[str, ...], int]] = {
    "plain": ({"eos_token_id": 5}, ("float32",), 1),
    "untied": (
        {"tie_word_embeddings": False, "activation_function": "gelu", "scale_attn_by_inverse_layer_idx": True,
         "n_inner": 20, "eos_token_id": [3, 7, 99]}, ("bfloat16", "float16"), 3,
    ),
    "unscaled": (
        {"scale_attn_weights": False, "activation_function": "relu", "layer_norm_epsilon": 0.3}, ("float16",), 1,
    ),
    "tanh": ({"activation_function": "gelu_pytorch_tanh"}, ("bfloat16",), 2),
}  # fmt: skip
"""Fields beside the sizes, the formats of the tensors in turn, and into how many files they are cut."""
_MEANT = {
    "plain": ("float32", {5}), "untied": ("float32", {3, 7}),
    "unscaled": ("float16", set()), "tanh": ("bfloat16", set()),
}  # fmt: skip
"""The format a backend keeps that computes the same in each, and the ends of a text."""
_CODES = {"float32": "F32", "float16": "F16", "bfloat16": "BF16"}
_TOKENS = [4, 0, 12, 7, 7, 1]


def _stored(values: np.ndarray, dtype: str) -> tuple[np.ndarray, bytes]:
    """The values of a tensor once it is stored in a format, and its bytes there."""
    if dtype == "bfloat16":
        bits = values.astype(np.float32).view(np.uint32) >> np.uint32(16)
        return (bits << np.uint32(16)).view(np.float32).astype(float), bits.astype(np.uint16).tobytes()
    kept = values.astype(dtype)
    return kept.astype(float), kept.tobytes()


def _file(tensors: dict[str, tuple[str, tuple[int, ...], bytes]]) -> bytes:
    """A safetensors file: the header's length, the header, the numbers."""
    header, data = {}, b""
    for name, (dtype, shape, content) in tensors.items():
        offsets = [len(data), len(data) + len(content)]
        header[name] = {"dtype": _CODES[dtype], "shape": shape, "data_offsets": offsets}
        data += content
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


@functools.cache
def _folder(name: str) -> tuple[tempfile.TemporaryDirectory, dict[str, np.ndarray]]:
    """A folder of one of the forms that are published, and the values of its tensors."""
    fields, dtypes, num_files = _FOLDERS[name]
    fields, generator = {**_SIZES, **fields}, np.random.default_rng(len(name))
    tensors, files, weight_map = {}, [{} for _ in range(num_files)], {}
    for i, (tensor, shape) in enumerate(expected_shapes(GPT2Config.from_dict(fields))):
        values = generator.normal(1.0 if "ln_" in tensor else 0.0, 0.6, shape).astype(np.float32)
        dtype = dtypes[i % len(dtypes)]
        tensors[tensor], data = _stored(values, dtype)
        written = f"transformer.{tensor}" if name == "plain" and tensor != "lm_head.weight" else tensor
        files[i % num_files][written] = (dtype, shape, data)
        weight_map[written] = f"model-{i % num_files}.safetensors"
    made = tempfile.TemporaryDirectory()
    path = Path(made.name)
    (path / "config.json").write_text(json.dumps(fields), encoding="utf-8")
    for number, content in enumerate(files):
        file = path / ("model.safetensors" if num_files == 1 else f"model-{number}.safetensors")
        file.write_bytes(_file(content))
    if num_files > 1:
        (path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}), encoding="utf-8")
    return made, tensors


def _normed(x: np.ndarray, tensors: dict[str, np.ndarray], name: str, epsilon: float) -> np.ndarray:
    centred = x - x.mean(axis=1, keepdims=True)
    scaled = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + epsilon)
    return scaled * tensors[f"{name}.weight"] + tensors[f"{name}.bias"]


def _activated(x: np.ndarray, name: str) -> np.ndarray:
    if name == "relu":
        return np.maximum(x, 0.0)
    if name == "gelu":
        return x * 0.5 * (1.0 + np.vectorize(math.erf)(x / math.sqrt(2.0)))
    return x * 0.5 * (1.0 + np.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)))


@functools.cache
def _written_out(name: str) -> np.ndarray:
    """GPT-2 in float64, from a folder's tensors and fields; each head of each token by itself."""
    _, w = _folder(name)
    fields = {**_SIZES, **_FOLDERS[name][0]}
    epsilon, heads = fields.get("layer_norm_epsilon", 1e-5), fields["n_head"]
    x = w["wte.weight"][_TOKENS] + w["wpe.weight"][: len(_TOKENS)]
    for i in range(fields["n_layer"]):
        qkv = _normed(x, w, f"h.{i}.ln_1", epsilon) @ w[f"h.{i}.attn.c_attn.weight"] + w[f"h.{i}.attn.c_attn.bias"]
        query, key, value = (part.reshape(len(_TOKENS), heads, -1) for part in np.split(qkv, 3, axis=1))
        scale = 1.0 / math.sqrt(query.shape[2]) if fields.get("scale_attn_weights", True) else 1.0
        scale /= i + 1 if fields.get("scale_attn_by_inverse_layer_idx") else 1
        mixed = np.zeros_like(query)
        for t in range(len(_TOKENS)):
            for h in range(heads):
                scores = key[: t + 1, h] @ query[t, h] * scale
                chances = np.exp(scores - scores.max())
                mixed[t, h] = chances / chances.sum() @ value[: t + 1, h]
        x = x + mixed.reshape(x.shape) @ w[f"h.{i}.attn.c_proj.weight"] + w[f"h.{i}.attn.c_proj.bias"]
        inner = _normed(x, w, f"h.{i}.ln_2", epsilon) @ w[f"h.{i}.mlp.c_fc.weight"] + w[f"h.{i}.mlp.c_fc.bias"]
        inner = _activated(inner, fields.get("activation_function", "gelu_new"))
        x = x + inner @ w[f"h.{i}.mlp.c_proj.weight"] + w[f"h.{i}.mlp.c_proj.bias"]
    head = w["wte.weight"] if fields.get("tie_word_embeddings", True) else w["lm_head.weight"]
    return _normed(x, w, "ln_f", epsilon) @ head.T


@check(
    "value", "logits of folders tied and untied, in one file and several, of every format, against GPT-2 written out"
)
def folders() -> float:
    wrong = 0
    for name, (dtype, ends) in _MEANT.items():
        model = load_model(_folder(name)[0].name, "numpy")
        wanted = _written_out(name)
        wrong += not np.allclose(model.logits(_TOKENS), wanted, rtol=1e-3, atol=1e-3 * float(np.abs(wanted).max()))
        wrong += model.dtype != dtype or model.eos_token_id != ends
    return float(wrong)


@check("trace", "a change of a byte in any file that a folder's listing names is noticed")
def checksums() -> float:
    unnoticed = 0
    with tempfile.TemporaryDirectory() as folder:
        contents = {name: name.encode() * 3 for name in ("config.json", "model.safetensors", "tokenizer.json")}
        listing = [f"{hashlib.sha256(content).hexdigest()}  {name}" for name, content in contents.items()]
        (Path(folder) / "SHA256SUMS").write_text("\n".join(listing) + "\n", encoding="utf-8")
        for changed in (None, *contents):
            for name, content in contents.items():
                (Path(folder) / name).write_bytes(content[:-1] + b"!" if name == changed else content)
            try:
                bundled.verify_checksums(Path(folder))
                unnoticed += changed is not None
            except ModelFileError:
                unnoticed += changed is None
    return float(unnoticed)
