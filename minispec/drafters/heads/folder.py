"""A head's folder: ``config.json`` says what it is and for which target, ``model.safetensors`` holds its weights."""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from minispec.backends import get_backend
from minispec.backends.base import Array, Feed
from minispec.drafters.heads.config import HeadConfig, expected_shapes
from minispec.errors import ModelFileError, OptionError, explain, quote
from minispec.loading.bundled import verify_checksums
from minispec.loading.checkpoint import WEIGHTS, read_json
from minispec.loading.safetensors_file import SafetensorsFile
from minispec.model.cache import KVCache
from minispec.model.forward import layers
from minispec.model.gpt2 import GPT2
from minispec.model.language_model import LanguageModel
from minispec.model.weights import Packing, check_shapes

EPSILON = 1e-5
"""Under the root of a head's layer norms."""

_UNLIKELY = np.float32(-1e30)


class Head:
    """A head that was read for a target; what it hands out is packed once, for all drafters of that target.

    Parameters
    ----------
    path : Path
        Its folder.
    kind : str
        What it must be.
    target : LanguageModel

    Attributes
    ----------
    config : HeadConfig
    backend, dtype : Backend, str
        Of the target's kind, and the head's own; the number format of its matrices.
    blocks : tuple of Block
        Its own layers.
    array, norm, matrix : callable
        Return a tensor or a layer norm by its name, or a matrix: see :class:`minispec.model.weights.Packing`.

    Raises
    ------
    OptionError
        If the target has no hidden states to read, or the head belongs to another one.
    ModelFileError
        If the folder is no head of this kind, or a file of it is broken.
    """

    def __init__(self, path: Path, kind: str, target: LanguageModel) -> None:
        if not isinstance(target, GPT2):
            raise OptionError(f"{kind}: {target.name} has no hidden states to read. Try --draft ngram")
        if not target.backend.keeps_features:
            raise OptionError(f"{kind}: backend {target.backend.name} keeps no hidden states. Try --backend panel")
        self.config = HeadConfig.from_dict(read_json(path / "config.json"), str(path / "config.json"))
        self._check(path, kind, target)
        verify_checksums(path)
        file = SafetensorsFile(path / WEIGHTS)
        check_shapes(file.shapes, expected_shapes(self.config, target), str(path))
        self.backend = get_backend(target.backend.name)
        self.dtype = _find_dtype(file)
        packing = Packing(file.read, self.backend, self.dtype, EPSILON)
        self.array, self.norm = functools.cache(packing.array), functools.cache(packing.norm)
        self.matrix, self._rows = functools.cache(packing.matrix), functools.cache(packing.rows)
        self.blocks = tuple(packing.block(i) for i in range(self.config.num_layers))
        self._vocab_size = target.vocab_size

    def new_cache(self, capacity: int) -> KVCache:
        """Return an empty cache for the head's own layers."""
        config = self.config
        size = config.width // config.num_heads
        return KVCache(config.num_layers, config.num_heads, size, capacity, backend=self.backend)

    def run_layers(self, x: Array, cache: KVCache, feed: Feed) -> Array:
        """Run the head's own layers over rows of shape (T, d)."""
        run = self.backend.layers if self.backend.fuses(self.blocks) else functools.partial(layers, self.backend)
        return run(x, self.blocks, cache, feed, self._scale, "gelu_new")

    def score(self, x: Array) -> Array:
        """Return logits over all tokens, (T, V), for outputs of the layers; what is none of the head's words gets none.

        Lossless all the same: a draft's row is what its token was drawn from, and rejection sampling makes up for what
        it lacks. (The number is finite because a constraint may leave none of the words.)
        """
        logits = self.backend.linear(x, self._rows("lm_head"), norm=self.norm("ln_f"))
        if not self.config.words:
            return logits
        wide = np.full((len(logits), self._vocab_size), _UNLIKELY)
        wide[:, self.config.words] = logits
        return wide

    def _scale(self, layer: int) -> float:
        """Return what multiplies the attention scores of a layer."""
        return 1.0 / math.sqrt(self.config.width // self.config.num_heads)

    def _check(self, path: Path, kind: str, model: GPT2) -> None:
        config = self.config
        if config.kind != kind:
            raise OptionError(f"{kind}: head {path} is of kind {config.kind}. Try {config.kind}:head={path}")
        if config.fingerprint != compute_fingerprint(model):
            raise OptionError(
                f"{kind}: head {path} was trained for {config.target} (fingerprint {config.fingerprint[:12]}), and "
                f"{model.name} has another ({compute_fingerprint(model)[:12]}); a head reads the hidden states of one "
                f"target alone. Train one for it: python -m minispec.training head {kind} --target {model.name}"
            )
        depth = model.config.n_layer
        if config.layers[-1] > depth or (kind == "medusa" and config.layers != (depth,)):
            raise ModelFileError(f"{path}: layers are {list(config.layers)} of {depth}. Train the head again")
        if config.words and config.words[-1] >= model.vocab_size:
            raise ModelFileError(
                f"{path}: words go up to {config.words[-1]}, the target has {model.vocab_size}. Train the head again"
            )


_read: WeakKeyDictionary[LanguageModel, dict[tuple[Any, ...], Head]] = WeakKeyDictionary()


def load_head(folder: str, kind: str, target: LanguageModel) -> Head:
    """Return the head of a folder, read once for all drafters of a target, and again where its files have changed.

    Raises
    ------
    InputError
        See :class:`Head`.
    """
    try:
        path = Path(folder).expanduser()
        ages = [(path / name).stat().st_mtime_ns for name in ("config.json", WEIGHTS)]
    except (OSError, RuntimeError, ValueError) as error:  # too long for the file system, no such ~user
        what = getattr(error, "strerror", None) or explain(error)
        raise ModelFileError(
            f"{kind}: {quote(folder)} holds no head ({what}); its folder has config.json and {WEIGHTS}. Train one: "
            f"python -m minispec.training head {kind} --help"
        ) from None
    known, key = _read.setdefault(target, {}), (kind, folder, *ages)
    if key not in known:
        known[key] = Head(path, kind, target)
    return known[key]


def compute_fingerprint(model: GPT2) -> str:
    """Return a SHA-256 that tells two trained targets apart: of the final norm and the positions.

    They are kept in float32 in every number format, so that a target has one fingerprint whatever format it runs in.
    """
    weights = model.weights
    return hash_arrays(model.backend.fetch(array) for array in (weights.ln_f.weight, weights.ln_f.bias, weights.wpe))


def hash_arrays(arrays: Iterable[Array]) -> str:
    """Return a SHA-256 over arrays, in float32."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array, np.float32).tobytes())
    return digest.hexdigest()


def _find_dtype(file: SafetensorsFile) -> str:
    """Return the number format for the matrices: half if they are stored so, which every backend computes exactly."""
    return "float16" if set(file.dtypes.values()) == {"F16"} else "float32"
