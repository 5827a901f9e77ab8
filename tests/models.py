"""Small random models for tests, made without any other library."""

from __future__ import annotations

import dataclasses

import numpy as np

from minispec.backends import get_backend
from minispec.model import GPT2, GPT2Config
from minispec.model.weights import build_weights, expected_shapes


def random_gpt2(backend="numba", seed=0, dtype="float32", **fields) -> GPT2:
    """Return a GPT-2 whose every weight is random: far from a trained model's smoothness, so that mistakes show."""
    sizes = {"vocab_size": 97, "n_positions": 64, "n_embd": 32, "n_layer": 2, "n_head": 2, **fields}
    config = GPT2Config.from_dict(sizes)
    generator = np.random.default_rng(seed)
    tensors = {}
    for name, shape in expected_shapes(config):
        centre, spread = (1.0, 0.2) if "ln_" in name and name.endswith("weight") else (0.0, 1.0 / shape[-1] ** 0.5)
        tensors[name] = generator.normal(centre, spread, shape).astype(np.float32)
    runner = backend if not isinstance(backend, str) else get_backend(backend)
    return GPT2("random", config, build_weights(tensors.__getitem__, config, runner, dtype), runner, dtype=dtype)


def feed_rows(cache, tokens, rows, **options):
    """Return one feed of tokens of several rows: token i goes to the next free slot of ``rows[i]``."""
    parts = [
        cache.feed([token for token, at in zip(tokens, rows, strict=True) if at == row], row, **options)
        for row in sorted(set(rows))
    ]
    order = np.argsort(np.argsort(rows, kind="stable"))  # from row after row to the order asked for
    names = ("tokens", "positions", "pages", "slots", "ends")
    joined = {name: np.concatenate([getattr(part, name) for part in parts])[order] for name in names}
    spans = {row: span for part in parts for row, span in part.spans.items()}
    return dataclasses.replace(parts[0], **joined, num_logits=sum(part.num_logits for part in parts), spans=spans)


class Counted:
    """A model that counts the tokens it is fed; otherwise the one it is given."""

    def __init__(self, model):
        self._model = model
        self.num_fed = 0

    def __getattr__(self, name):
        return getattr(self._model, name)

    def forward(self, tokens, cache, num_logits=None, **where):
        self.num_fed += len(tokens)
        return self._model.forward(tokens, cache, num_logits, **where)


def bits(array: np.ndarray) -> tuple[tuple[int, ...], bytes]:
    """Return an array's shape and bytes: equal iff the arrays are the same bit for bit."""
    return array.shape, np.ascontiguousarray(array).tobytes()
