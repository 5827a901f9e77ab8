"""A head's folder: ``config.json`` has its kind and its target, ``model.safetensors`` its weights."""

from __future__ import annotations

import functools
import hashlib
import math
import shlex
from abc import abstractmethod
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import ClassVar, cast

import numpy as np

from minispec.engine.backends import get_backend
from minispec.engine.backends.base import Array, Cache, Feed, Index
from minispec.engine.drafters.heads.config import HeadConfig, expected_shapes
from minispec.engine.drafters.heads.feed import HeadFeed
from minispec.engine.loading.bundled import verify_checksums
from minispec.engine.loading.checkpoint import WEIGHTS, read_json
from minispec.engine.loading.safetensors_file import SafetensorsFile
from minispec.engine.model.cache import KVCache
from minispec.engine.model.forward import layers
from minispec.engine.model.gpt2 import GPT2
from minispec.engine.model.language_model import FedCache
from minispec.engine.model.paged import PagedCache
from minispec.engine.model.pages import PagePool
from minispec.engine.model.trim import spread
from minispec.engine.model.weights import Packing, check_shapes
from minispec.errors import ModelFileError, OptionError

EPSILON = 1e-5
"""Under the root of a head's layer norms."""


class Head:
    """A head that was read for a target, once for all drafters of that target; its subclass has the formula.

    Parameters
    ----------
    path : Path
        Its folder.
    target : GPT2
        If its caches share pages, the head's do too.

    Attributes
    ----------
    kind : str
        What its folder must say that it is.
    config : HeadConfig
    backend, dtype, kv_dtype : Backend, str, str
        Of the target's kind; the number format of the head's own matrices; that of the target's keys and values.
    blocks : tuple of Block
        Its own layers.
    array, norm, matrix : callable
        Return a tensor or a layer norm by its name, or a matrix: see :class:`minispec.engine.model.weights.Packing`.

    Raises
    ------
    OptionError
        If the head belongs to another target, or is of another kind.
    ModelFileError
        If the folder is no head of this kind, or a file of it is broken.
    """

    kind: ClassVar[str]

    def __init__(self, path: Path, target: GPT2) -> None:
        self.config = HeadConfig.from_dict(read_json(path / "config.json"), str(path / "config.json"))
        self._check(path, target)
        verify_checksums(path)
        file = SafetensorsFile(path / WEIGHTS)
        check_shapes(file.shapes, expected_shapes(self.config, target.config), str(path))
        self.backend = get_backend(target.backend.name).from_host()
        self.dtype, self.kv_dtype = _find_dtype(file), target.kv_dtype
        packing = Packing(file.read, self.backend, self.dtype, EPSILON)
        self.array, self.norm = functools.cache(packing.array), functools.cache(packing.norm)
        self.matrix, self._rows = functools.cache(packing.matrix), functools.cache(packing.rows)
        self.blocks = tuple(packing.block(i) for i in range(self.config.num_layers))
        self.target_weights, self.target_backend = target.weights, target.backend.from_host()
        self._words = np.array(self.config.words, np.int64)
        self._vocab_size, self._num_slots = target.vocab_size, target.n_positions + self.config.length
        self._pool = None if target.pool is None else self._open_pool(target.pool, target.n_positions)

    def new_cache(self) -> KVCache:
        """Return an empty cache for rows of a text and, after them, those of a draft."""
        if self._pool is not None:
            return PagedCache(self._pool, self._num_slots)
        return KVCache(*self._sizes, self._num_slots, backend=self.backend, kv_dtype=self.kv_dtype)

    def run(self, feed: Feed, cache: FedCache) -> Array:
        """Run the pass of a feed, and count it in; logits of shape (num_logits, V)."""
        logits = self.backend.run(cast("Callable[[Cache, Feed], Array]", self.compute), cache, feed)
        cache.extend(feed)
        return logits

    @abstractmethod
    def compute(self, cache: Cache, feed: HeadFeed) -> Array:
        """Return the logits of a pass, (num_logits, V)."""

    def embed(self, tokens: Index) -> Array:
        """Return the target's embeddings of tokens, (T, C)."""
        return self.target_backend.columns(self.target_weights.wte, tokens)

    def run_layers(self, x: Array, cache: Cache, feed: Feed) -> Array:
        """Run the head's own layers over rows of shape (T, d)."""
        run = self.backend.layers if self.backend.fuses(self.blocks) else functools.partial(layers, self.backend)
        return run(x, self.blocks, cache, feed, self._scale, "gelu_new")

    def follow(self, logits: Array, tokens: Index) -> Array:
        """Return the logits of places, (T, V), behind the tokens drawn before; as they are, unless it reads these."""
        return logits

    def score(self, x: Array, norm: str | None = "ln_f") -> Array:
        """Return logits over all tokens, (T, V), for outputs of the layers; see :mod:`minispec.engine.model.trim`."""
        logits = self.backend.linear(x, self._rows("lm_head"), norm=None if norm is None else self.norm(norm))
        return spread(logits, self._words, self._vocab_size) if self._words.size else logits

    @property
    def _sizes(self) -> tuple[int, int, int]:
        """Layers, heads and head size of a cache; one layer without width for a head that has none."""
        config = self.config
        return max(config.num_layers, 1), config.num_heads, config.width // config.num_heads

    def _open_pool(self, pages: PagePool, num_positions: int) -> PagePool:
        """Return a pool next to the target's, with more pages for the rows of a draft after as many whole texts."""
        num_texts = -(-pages.num_pages * pages.page_size // num_positions)
        return pages.open_beside(*self._sizes, num_more=num_texts * -(-self.config.length // pages.page_size))

    def _scale(self, layer: int) -> float:
        """Return what multiplies the attention scores of a layer."""
        return 1.0 / math.sqrt(self.config.width // self.config.num_heads)

    def _check(self, path: Path, model: GPT2) -> None:
        config, kind = self.config, self.kind
        if config.kind != kind:
            right = shlex.quote(f"{config.kind}:head={path}")
            raise OptionError(f"{kind}: head {path} is of kind {config.kind}. Try --draft {right}")
        if config.fingerprint != compute_fingerprint(model):
            raise OptionError(
                f"{kind}: head {path} was trained for {config.target} (fingerprint {config.fingerprint[:12]}), and "
                f"{model.name} has another ({compute_fingerprint(model)[:12]}); a head reads the hidden states of one "
                f"target alone. Train one for it: python -m minispec.lab.training head {kind} --target "
                f"{shlex.quote(model.name)}"
            )
        depth = model.config.n_layer
        if config.layers[-1] > depth or (kind == "medusa" and config.layers != (depth,)):
            raise ModelFileError(f"{path}: layers are {list(config.layers)} of {depth}. Train the head again")
        if config.words and config.words[-1] >= model.vocab_size:
            raise ModelFileError(
                f"{path}: words go up to {config.words[-1]}, the target has {model.vocab_size}. Train the head again"
            )


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
