"""Small random models for tests, made without any other library."""

from __future__ import annotations

import numpy as np

from minispec.engine.backends import get_backend
from minispec.engine.model import GPT2, GPT2Config
from minispec.engine.model.weights import build_weights, expected_shapes


def random_gpt2(backend="numba", seed=0, dtype="float32", kv_dtype="auto", **fields) -> GPT2:
    """Return a GPT-2 whose every weight is random: far from a trained model's smoothness, so that mistakes show."""
    sizes = {"vocab_size": 97, "n_positions": 64, "n_embd": 32, "n_layer": 2, "n_head": 2, **fields}
    config = GPT2Config.from_dict(sizes)
    generator = np.random.default_rng(seed)
    tensors = {}
    for name, shape in expected_shapes(config):
        centre, spread = (1.0, 0.2) if "ln_" in name and name.endswith("weight") else (0.0, 1.0 / shape[-1] ** 0.5)
        tensors[name] = generator.normal(centre, spread, shape).astype(np.float32)
    runner = backend if not isinstance(backend, str) else get_backend(backend)
    weights = build_weights(tensors.__getitem__, config, runner, dtype)
    return GPT2("random", config, weights, runner, dtype=dtype, kv_dtype=kv_dtype)


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
