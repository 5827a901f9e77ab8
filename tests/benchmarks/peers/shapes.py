"""The models that are timed, as folders: Hugging Face's form, GGUF in three number formats, CTranslate2's form."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file

from minispec.engine.export.gguf import write_gguf
from minispec.engine.generation import generate
from minispec.engine.loading import load_model
from minispec.engine.loading.bundled import bundled_folders
from minispec.engine.loading.checkpoint import Checkpoint
from minispec.engine.model.config import GPT2Config
from minispec.engine.model.weights import expected_shapes

GPT2_124M = {
    "model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "vocab_size": 50257, "n_positions": 1024,
    "n_ctx": 1024, "n_embd": 768, "n_head": 12, "n_layer": 12, "n_inner": None, "activation_function": "gelu_new",
    "layer_norm_epsilon": 1e-5, "bos_token_id": 50256, "eos_token_id": 50256, "tie_word_embeddings": True,
}  # fmt: skip
FULL_TARGET = GPT2_124M | {"vocab_size": 8192, "n_embd": 512, "n_head": 8, "n_layer": 6, "n_inner": 2048}
CONTEXT = 256
SHAPES = ("bundled", "full", "124M")
"""The bundled target as it is; random weights of a full-size target (23M); random weights of GPT-2 124M."""


def prepare(shape: str, folder: Path) -> Path:
    """Write every form of ``shape`` to ``folder`` (unless it is there) and return it."""
    done = folder / "done"
    if done.exists():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    hf = folder / "hf"
    hf.mkdir(parents=True)
    if shape == "bundled":
        tensors, config = _bundled(hf)
    else:
        tensors, config = _random(FULL_TARGET if shape == "full" else GPT2_124M)
        (hf / "config.json").write_text(json.dumps(config))
    save_file(
        {f"transformer.{name}": tensor for name, tensor in tensors.items()},
        hf / "model.safetensors",
        metadata={"format": "pt"},
    )
    context = np.random.default_rng(3).integers(1, config["vocab_size"], CONTEXT)
    (folder / "context.json").write_text(json.dumps(_text() if shape == "bundled" else context.tolist()))
    for number_format in ("f32", "f16", "q8_0"):
        write_gguf(_Tensors(tensors), GPT2Config.from_dict(config), folder / f"{number_format}.gguf", number_format)
    done.touch()
    return folder


class _Tensors(dict[str, NDArray[np.float32]]):
    """Tensors in memory, read like those of a checkpoint."""

    def read(self, name: str) -> NDArray[np.float32]:
        return self[name]


def num_bytes_per_token(folder: Path, bytes_per_weight: float) -> int:
    """Count the bytes of weights that one token reads: all but the position table, the tied head once."""
    config = json.loads((folder / "hf" / "config.json").read_text())
    shapes = dict(expected_shapes(GPT2Config.from_dict(config, "benchmark")))
    shapes.pop("wpe.weight")
    return int(sum(np.prod(shape) for shape in shapes.values()) * bytes_per_weight)


def num_multiply_adds(folder: Path) -> int:
    """Count the multiply-adds of one row's matrix products."""
    config = json.loads((folder / "hf" / "config.json").read_text())
    shapes = dict(expected_shapes(GPT2Config.from_dict(config, "benchmark")))
    shapes.pop("wpe.weight")
    return int(sum(np.prod(shape) for shape in shapes.values() if len(shape) == 2))


def _bundled(hf: Path) -> tuple[dict[str, NDArray[np.float32]], dict[str, object]]:
    source = bundled_folders()["target-17m"]
    config = json.loads((source / "config.json").read_text()) | {"torch_dtype": "float32", "dtype": "float32"}
    (hf / "config.json").write_text(json.dumps(config))
    for name in ("tokenizer.json", "vocab.json", "merges.txt"):
        if (source / name).exists():
            shutil.copy(source / name, hf / name)
    checkpoint = Checkpoint(source)
    names = [name for name, _ in expected_shapes(GPT2Config.from_dict(config, "bundled"))]
    return {name: np.ascontiguousarray(checkpoint.read(name), np.float32) for name in names}, config


def _text() -> list[int]:
    """Return a context in the bundled pair's own language, so that its greedy text is worth comparing."""
    target = load_model("target-17m")
    text = generate(
        "Once upon a time there was a little girl who",
        target=target,
        draft=None,
        max_tokens=CONTEXT,
        min_tokens=CONTEXT,
        seed=5,
    )
    return list(text.token_ids)


def _random(config: dict[str, object]) -> tuple[dict[str, NDArray[np.float32]], dict[str, object]]:
    rng = np.random.default_rng(0)
    tensors = {}
    for name, shape in expected_shapes(GPT2Config.from_dict(config, "random")):
        if name.endswith("bias"):
            tensors[name] = np.zeros(shape, np.float32)
        elif "ln_" in name:
            tensors[name] = np.ones(shape, np.float32)
        else:
            tensors[name] = (0.05 * rng.standard_normal(shape, np.float32)).astype(np.float32)
    return tensors, config
