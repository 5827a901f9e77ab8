"""Heads with random weights, written to a folder as training writes them."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from minispec.engine.drafters.heads import HeadConfig, compute_fingerprint
from minispec.engine.drafters.heads.config import expected_shapes
from minispec.engine.model import GPT2

SIZES = {"width": 8, "num_heads": 2, "inner": 12, "num_layers": 2}


def write_head(folder: Path, kind: str, target: GPT2, *, seed: int = 0, length: int = 3, words=(), **fields) -> str:
    """Write a head whose every weight is random; return the folder's path."""
    depth = target.config.n_layer
    sizes = {"layers": (depth,)} if kind == "medusa" else {"layers": (1, depth), "words": tuple(words), **SIZES}
    config = HeadConfig(kind, target.name, compute_fingerprint(target), **{"length": length, **sizes, **fields})
    generator, tensors = np.random.default_rng(seed), {}
    for name, shape in expected_shapes(config, target.config):
        centre = 1.0 if "norm" in name or "ln_" in name else 0.0
        spread = 0.2 if centre else 2.0 / shape[0] ** 0.5
        tensors[name] = generator.normal(centre, spread, shape).astype(np.float32)
    folder.mkdir(parents=True, exist_ok=True)
    save_file(tensors, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(dataclasses.asdict(config)))
    return str(folder)
