"""A head's folder: ``config.json`` says what it is and for which target, ``model.safetensors`` holds its weights."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from minispec.backends import get_backend
from minispec.backends.base import Array
from minispec.drafters.spec import HEADS
from minispec.errors import ModelFileError, OptionError, quote
from minispec.loading.bundled import verify_checksums
from minispec.loading.checkpoint import WEIGHTS, read_json
from minispec.loading.safetensors_file import SafetensorsFile
from minispec.model.gpt2 import GPT2
from minispec.model.language_model import LanguageModel
from minispec.model.weights import Packing, check_shapes, expected_in_block

EPSILON = 1e-5
"""Under the root of a head's layer norms."""

_MAX_SIZE = 1 << 16
_UNLIKELY = np.float32(-1e30)


@dataclass(frozen=True, slots=True)
class HeadConfig:
    """What a head is.

    Attributes
    ----------
    kind : str
        One of ``drafters.spec.HEADS``.
    target, fingerprint : str
        The name of the target it was trained for, and :func:`compute_fingerprint` of it.
    layers : tuple of int
        Whose output it reads, from 1 on.
    length : int
        The longest draft it was trained for.
    width, num_heads, inner, num_layers : int
        Of its own layers; a medusa has none.
    words : tuple of int
        The tokens it drafts; all of the target's if empty.
    """

    kind: str
    target: str
    fingerprint: str
    layers: tuple[int, ...]
    length: int
    width: int = 0
    num_heads: int = 1
    inner: int = 0
    num_layers: int = 0
    words: tuple[int, ...] = ()

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any], name: str) -> HeadConfig:
        """Read a head's ``config.json`` that has been parsed.

        Raises
        ------
        ModelFileError
            If it is not a head's, or a value is missing or out of range.
        """

        def refuse(key: str, rule: str) -> ModelFileError:
            return ModelFileError(f"{name}: {key} is {quote(fields.get(key))}; it must be {rule}. Train the head again")

        def is_size(value: Any, least: int = 1) -> bool:
            return isinstance(value, int) and not isinstance(value, bool) and least <= value < _MAX_SIZE

        if fields.get("kind") not in HEADS:
            raise refuse("kind", f"one of {', '.join(HEADS)}")
        for key in ("target", "fingerprint"):
            if not isinstance(fields.get(key), str):
                raise refuse(key, "a text")
        for key, least in (("layers", 1), ("words", 0)):
            values = fields.get(key)
            if not isinstance(values, list) or not all(is_size(value, least) for value in values):
                raise refuse(key, f"a list of whole numbers from {least} on")
            if sorted(set(values)) != values or (key == "layers" and not values):
                raise refuse(key, "increasing")
        sizes = ["length", *([] if fields["kind"] == "medusa" else ["width", "num_heads", "inner", "num_layers"])]
        for key in sizes:
            if not is_size(fields.get(key)):
                raise refuse(key, f"a whole number from 1 to {_MAX_SIZE - 1}")
        if fields["kind"] != "medusa" and fields["width"] % fields["num_heads"]:
            raise refuse("width", f"a multiple of num_heads, {fields['num_heads']}")
        layers, words = tuple(fields["layers"]), tuple(fields["words"])
        own = {key: fields[key] for key in sizes}
        return cls(fields["kind"], fields["target"], fields["fingerprint"], layers, words=words, **own)


class Head:
    """A head that was read for a target; what it hands out is packed once, for all drafters of that target.

    Parameters
    ----------
    folder : str
    kind : str
        What it must be.
    target : LanguageModel

    Attributes
    ----------
    config : HeadConfig
    backend : Backend
        Of the target's kind, and the head's own.
    array, norm, matrix, rows, block : callable
        See :class:`minispec.model.weights.Packing`.

    Raises
    ------
    OptionError
        If the target has no hidden states to read, or the head belongs to another one.
    ModelFileError
        If the folder is no head of this kind, or a file of it is broken.
    """

    def __init__(self, folder: str, kind: str, target: LanguageModel) -> None:
        if not isinstance(target, GPT2):
            raise OptionError(f"{kind}: {target.name} has no hidden states to read. Try --draft ngram")
        if not target.backend.keeps_features:
            raise OptionError(f"{kind}: backend {target.backend.name} keeps no hidden states. Try --backend panel")
        path = Path(folder).expanduser()
        self.config = HeadConfig.from_dict(read_json(path / "config.json"), str(path / "config.json"))
        self._check(path, kind, target)
        verify_checksums(path)
        file = SafetensorsFile(path / WEIGHTS)
        check_shapes(file.shapes, expected_shapes(self.config, target), str(path))
        self.backend = get_backend(target.backend.name)
        packing = Packing(file.read, self.backend, _find_dtype(file), EPSILON)
        self.array, self.norm = functools.cache(packing.array), functools.cache(packing.norm)
        self.matrix, self.rows = functools.cache(packing.matrix), functools.cache(packing.rows)
        self.block = functools.cache(packing.block)

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
    files = [Path(folder).expanduser() / name for name in ("config.json", WEIGHTS)]
    known, key = _read.setdefault(target, {}), (kind, folder, *(_find_age(file) for file in files))
    if key not in known:
        known[key] = Head(folder, kind, target)
    return known[key]


def _find_age(path: Path) -> int:
    """Return when a file was written, in nanoseconds; 0 where there is none, which reading it says better."""
    return path.stat().st_mtime_ns if path.is_file() else 0


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


def expected_shapes(config: HeadConfig, target: GPT2) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the name and shape of every tensor of a head: matrices (inputs, outputs), ``lm_head`` (words, d)."""

    def matrix(name: str, inputs: int, outputs: int) -> Iterator[tuple[str, tuple[int, ...]]]:
        yield f"{name}.weight", (inputs, outputs)
        yield f"{name}.bias", (outputs,)

    def norm(name: str, width: int) -> Iterator[tuple[str, tuple[int, ...]]]:
        yield f"{name}.weight", (width,)
        yield f"{name}.bias", (width,)

    width, read = target.config.n_embd, len(config.layers) * target.config.n_embd
    if config.kind == "medusa":
        yield from matrix("guess", width, config.length * width)
        return
    yield from norm("norm", read)
    yield from matrix("fuse", read, config.width)
    yield from matrix("token", width, config.width)
    if config.kind == "eagle":
        yield from norm("norm_state", config.width)
        yield from matrix("state", config.width, config.width)
    else:
        yield "place.weight", (config.length, config.width)
    for i in range(config.num_layers):
        yield from expected_in_block(i, config.width, config.inner)
    yield from norm("ln_f", config.width)
    yield "lm_head.weight", (len(config.words) or target.vocab_size, config.width)


def widen(logits: Array, config: HeadConfig, vocab_size: int) -> Array:
    """Return logits over all tokens, (T, V), from those over a head's words; no other token can be drawn.

    Lossless all the same: a draft's row is what its token was drawn from, and rejection sampling makes up for what it
    lacks. (The number is finite because a constraint may leave none of the words.)
    """
    if not config.words:
        return logits
    wide = np.full((len(logits), vocab_size), _UNLIKELY)
    wide[:, config.words] = logits
    return wide


def _find_dtype(file: SafetensorsFile) -> str:
    """Return the number format for the matrices: half if they are stored so, which every backend computes exactly."""
    return "float16" if set(file.dtypes.values()) == {"F16"} else "float32"
