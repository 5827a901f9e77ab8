"""The weight tree: attribute names are Hugging Face's, so that the tree reads like the checkpoint and the forward."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from minispec.backends.base import MLP, Array, Attention, Backend, Block, Linear, Norm
from minispec.backends.parts import Tensor
from minispec.errors import ModelFileError, quote
from minispec.model.config import GPT2Config


@dataclass(frozen=True, slots=True)
class Weights:
    """All of a model; ``wpe`` is (n_positions, C), ``lm_head`` maps C to V.

    ``wte`` is packed like a head, each token a column; in a tied model it *is* the head, so there is one copy of it.
    """

    wte: Linear
    wpe: Array
    h: tuple[Block, ...]
    ln_f: Norm
    lm_head: Linear


def expected_shapes(config: GPT2Config) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the name and shape of every tensor a checkpoint must hold, without the ``transformer.`` prefix.

    Matrices are (inputs, outputs), as Hugging Face's ``Conv1D`` stores them; ``lm_head.weight`` is (V, C).
    """
    width, inner = config.n_embd, config.n_inner
    yield "wte.weight", (config.vocab_size, width)
    yield "wpe.weight", (config.n_positions, width)
    for i in range(config.n_layer):
        for norm in ("ln_1", "ln_2"):
            yield f"h.{i}.{norm}.weight", (width,)
            yield f"h.{i}.{norm}.bias", (width,)
        matrices = (
            ("attn.c_attn", width, 3 * width),
            ("attn.c_proj", width, width),
            ("mlp.c_fc", width, inner),
            ("mlp.c_proj", inner, width),
        )
        for name, inputs, outputs in matrices:
            yield f"h.{i}.{name}.weight", (inputs, outputs)
            yield f"h.{i}.{name}.bias", (outputs,)
    yield "ln_f.weight", (width,)
    yield "ln_f.bias", (width,)
    if not config.tie_word_embeddings:
        yield "lm_head.weight", (config.vocab_size, width)


def check_shapes(shapes: Mapping[str, tuple[int, ...]], config: GPT2Config, name: str) -> None:
    """Check that a checkpoint holds what its config promises, before any of it is read.

    Raises
    ------
    ModelFileError
        Naming the first tensor that is missing or has another shape.
    """
    for tensor, expected in expected_shapes(config):
        found = shapes.get(tensor)
        if found is None:
            raise ModelFileError(f"{name}: tensor {tensor!r} is missing; the config asks for it. Fetch the model again")
        if found != expected:
            raise ModelFileError(
                f"{name}: tensor {tensor!r} has shape {quote(found)}, but the config makes it {expected}; "
                "config and weights belong to different models. Fetch both again"
            )


def build_weights(
    read: Callable[[str], Tensor], config: GPT2Config, backend: Backend, dtype: str = "float32"
) -> Weights:
    """Read every tensor once, in order, and hand the matrices to the backend's packing.

    Parameters
    ----------
    read : callable
        Maps a name of :func:`expected_shapes` to an array of that shape, float32 or float16.
    dtype : str
        The number format of the matrices and the token embedding; norms, biases and positions, being few, stay float32.
    """

    def single(name: str) -> Array:
        return np.asarray(read(name), np.float32)

    def norm(name: str) -> Norm:
        weight, bias = single(f"{name}.weight"), single(f"{name}.bias")
        return Norm(backend.place(weight), backend.place(bias), config.layer_norm_epsilon)

    def matrix(name: str) -> Linear:
        return backend.pack(read(f"{name}.weight"), single(f"{name}.bias"), dtype)

    wte = backend.pack(read("wte.weight").T, None, dtype)
    return Weights(
        wte=wte,
        wpe=backend.place(single("wpe.weight")),
        h=tuple(
            Block(
                ln_1=norm(f"h.{i}.ln_1"),
                attn=Attention(matrix(f"h.{i}.attn.c_attn"), matrix(f"h.{i}.attn.c_proj")),
                ln_2=norm(f"h.{i}.ln_2"),
                mlp=MLP(matrix(f"h.{i}.mlp.c_fc"), matrix(f"h.{i}.mlp.c_proj")),
            )
            for i in range(config.n_layer)
        ),
        ln_f=norm("ln_f"),
        lm_head=wte if config.tie_word_embeddings else backend.pack(read("lm_head.weight").T, None, dtype),
    )


def num_parameters(config: GPT2Config) -> int:
    """Count the parameters of a model of this config."""
    return sum(int(np.prod(shape)) for _, shape in expected_shapes(config))
