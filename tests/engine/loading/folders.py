"""Small model folders to load and to break, written without transformers or the safetensors library."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from minispec.engine.model import GPT2Config
from minispec.engine.model.weights import expected_shapes

CONFIG = {
    "model_type": "gpt2",
    "vocab_size": 260,
    "n_positions": 16,
    "n_embd": 8,
    "n_layer": 2,
    "n_head": 2,
    "activation_function": "gelu_new",
    "layer_norm_epsilon": 1e-05,
    "eos_token_id": 256,
}


def write_safetensors(path: Path, tensors: dict[str, np.ndarray], header=None, metadata=None) -> None:
    """Write a file byte by byte, so that its header can also be made to lie."""
    names = {"float32": "F32", "float16": "F16", "uint16": "BF16", "float64": "F64", "bool": "BOOL", "int64": "I64"}
    entries, data = {} if metadata is None else {"__metadata__": metadata}, b""
    for name, tensor in tensors.items():
        content = tensor.tobytes()
        span = [len(data), len(data) + len(content)]
        entries[name] = {"dtype": names[str(tensor.dtype)], "shape": list(tensor.shape), "data_offsets": span}
        data += content
    text = json.dumps(entries if header is None else header(entries)).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def random_tensors(fields=CONFIG, seed=0) -> dict[str, np.ndarray]:
    """Return a tensor for every name the config asks for."""
    generator = np.random.default_rng(seed)
    shapes = expected_shapes(GPT2Config.from_dict(fields))
    return {name: generator.normal(size=shape).astype(np.float32) for name, shape in shapes}


def write_config(folder: Path, fields=CONFIG) -> None:
    (folder / "config.json").write_text(json.dumps(fields), encoding="utf-8")


def byte_symbols() -> list[str]:
    """Return GPT-2's printable symbol of each byte, in byte order (written independently of the tokenizer)."""
    shown = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = iter(range(256, 512))
    return [chr(byte if byte in shown else next(others)) for byte in range(256)]


def tokenizer_json() -> dict:
    """Return the content of a ``tokenizer.json``: 256 bytes, one special token, three merges."""
    symbols = byte_symbols()
    vocab = {symbol: i for i, symbol in enumerate(symbols)} | {"<|endoftext|>": 256, "th": 257, "the": 258, "Ġa": 259}
    special = {
        "id": 256,
        "content": "<|endoftext|>",
        "single_word": False,
        "lstrip": False,
        "rstrip": False,
        "normalized": False,
        "special": True,
    }
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    bpe = {
        "type": "BPE",
        "dropout": None,
        "unk_token": None,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": False,
        "vocab": vocab,
        "merges": [["t", "h"], ["th", "e"], ["Ġ", "a"]],
    }
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [special],
        "normalizer": None,
        "pre_tokenizer": byte_level,
        "post_processor": None,
        "decoder": byte_level,
        "model": bpe,
    }


def write_tokenizer(folder: Path, content=None) -> None:
    (folder / "tokenizer.json").write_text(json.dumps(content or tokenizer_json()), encoding="utf-8")


def write_vocab_and_merges(folder: Path) -> None:
    model = tokenizer_json()["model"]
    (folder / "vocab.json").write_text(json.dumps(model["vocab"]), encoding="utf-8")
    merges = "\n".join(["#version: 0.2", *(" ".join(pair) for pair in model["merges"])])
    (folder / "merges.txt").write_text(merges + "\n", encoding="utf-8")


def write_model(folder: Path, fields=CONFIG, seed=0) -> Path:
    """Write a folder that loads: config, one weight file, tokenizer."""
    folder.mkdir(exist_ok=True)
    write_config(folder, fields)
    write_safetensors(folder / "model.safetensors", random_tensors(fields, seed))
    write_tokenizer(folder)
    return folder


def write_index(folder: Path, weight_map) -> None:
    content = {"metadata": {}, "weight_map": weight_map}
    (folder / "model.safetensors.index.json").write_text(json.dumps(content), encoding="utf-8")


def assert_clear(error):
    """One printable line, short enough to read, with a sentence that says what to do."""
    message = str(error)
    assert message.isprintable(), repr(message)
    assert 20 < len(message) < 400, len(message)
