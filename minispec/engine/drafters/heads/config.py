"""The fields of a head's ``config.json``, and the tensors that follow from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from minispec.engine.drafters.spec import HEADS
from minispec.engine.model.config import GPT2Config
from minispec.engine.model.weights import block_shapes
from minispec.engine.sampling.params import is_whole
from minispec.errors import ModelFileError, quote

_MAX_SIZE = 1 << 16


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

        if fields.get("kind") not in HEADS:
            raise refuse("kind", f"one of {', '.join(HEADS)}")
        for key in ("target", "fingerprint"):
            if not isinstance(fields.get(key), str):
                raise refuse(key, "a text")
        for key, least in (("layers", 1), ("words", 0)):
            values = fields.get(key)
            if not isinstance(values, list) or not all(is_whole(value) and value >= least for value in values):
                raise refuse(key, f"a list of whole numbers from {least} on")
            if sorted(set(values)) != values or (key == "layers" and not values):
                raise refuse(key, "increasing")
        sizes = ["length", *([] if fields["kind"] == "medusa" else ["width", "num_heads", "inner", "num_layers"])]
        for key in sizes:
            if not is_whole(fields.get(key)) or not 1 <= fields[key] < _MAX_SIZE:
                raise refuse(key, f"a whole number from 1 to {_MAX_SIZE - 1}")
        if fields["kind"] != "medusa" and fields["width"] % fields["num_heads"]:
            raise refuse("width", f"a multiple of num_heads, {fields['num_heads']}")
        layers, words = tuple(fields["layers"]), tuple(fields["words"])
        own = {key: fields[key] for key in sizes}
        return cls(fields["kind"], fields["target"], fields["fingerprint"], layers, words=words, **own)


def expected_shapes(config: HeadConfig, target: GPT2Config) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the name and shape of every tensor of a head: matrices (inputs, outputs), ``lm_head`` (words, d)."""

    def matrix(name: str, inputs: int, outputs: int) -> Iterator[tuple[str, tuple[int, ...]]]:
        yield f"{name}.weight", (inputs, outputs)
        yield f"{name}.bias", (outputs,)

    def norm(name: str, width: int) -> Iterator[tuple[str, tuple[int, ...]]]:
        yield f"{name}.weight", (width,)
        yield f"{name}.bias", (width,)

    width, read = target.n_embd, len(config.layers) * target.n_embd
    if config.kind == "medusa":
        yield from matrix("guess", width, config.length * width)
        return
    yield from norm("norm", read)
    yield from matrix("fuse", read, config.width)
    yield from matrix("token", width, config.width)
    yield from norm("norm_state", config.width)
    yield from matrix("state", config.width, config.width)
    if config.kind == "block":
        yield "place.weight", (config.length, config.width)
        yield from matrix("previous", width, config.width)
    for i in range(config.num_layers):
        yield from block_shapes(i, config.width, config.inner)
    yield from norm("ln_f", config.width)
    yield "lm_head.weight", (len(config.words) or target.vocab_size, config.width)
