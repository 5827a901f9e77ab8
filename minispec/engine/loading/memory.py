"""Whether a model fits into memory, asked before any of it is read."""

from __future__ import annotations

import numpy as np

from minispec.engine.backends.base import Backend
from minispec.engine.backends.formats import ITEM_BYTES
from minispec.engine.model.config import GPT2Config
from minispec.engine.model.weights import expected_shapes
from minispec.errors import OptionError


def needed_bytes(config: GPT2Config, item_bytes: int, kv_bytes: int) -> int:
    """Return the bytes of the weights, with matrices of ``item_bytes`` a number, and of one full cache.

    As in ``build_weights``, the token embedding is a matrix; norms, biases and positions are float32.
    """
    weights = 0
    for name, shape in expected_shapes(config):
        is_matrix = len(shape) == 2 and name != "wpe.weight"
        weights += (item_bytes if is_matrix else 4) * (shape[0] * (shape[1] if len(shape) == 2 else 1))
    return weights + 2 * kv_bytes * config.n_layer * config.n_positions * config.n_embd


def check_memory(config: GPT2Config, backend: Backend, dtype: str, kv_dtype: str, name: str) -> None:
    """Refuse a model that does not fit where the backend computes, if the backend can tell.

    Raises
    ------
    OptionError
    """
    item_bytes = _item_bytes(backend, dtype)
    free, needed = backend.free_bytes(), needed_bytes(config, item_bytes, ITEM_BYTES[kv_dtype])
    if free is not None and needed > free:
        smaller = "a smaller --dtype" if _item_bytes(backend, backend.dtypes[-1]) < item_bytes else "a smaller model"
        raise OptionError(
            f"{name} in {dtype} needs {needed / 1e9:.2f} GB with its cache; backend {backend.name} has "
            f"{free / 1e9:.2f} GB left. Try {smaller} or another --backend"
        )


def _item_bytes(backend: Backend, dtype: str) -> int:
    """Return the bytes of a packed number; the reference keeps float32 whatever the format."""
    return backend.pack(np.zeros((1, 1), np.float32), None, dtype).weight.itemsize
