"""The weight tree: attribute names are Hugging Face's, so that the tree reads like the checkpoint and the forward."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from minispec.engine.backends.base import MLP, Array, Attention, Backend, Block, Linear, Norm
from minispec.engine.backends.types import Tensor
from minispec.engine.model.config import GPT2Config
from minispec.errors import ModelFileError, quote


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
        yield from block_shapes(i, width, inner)
    yield "ln_f.weight", (width,)
    yield "ln_f.bias", (width,)
    if not config.tie_word_embeddings:
        yield "lm_head.weight", (config.vocab_size, width)


def block_shapes(i: int, width: int, inner: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the same for layer ``i`` of a model of width C and an MLP of width ``inner``."""
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


def check_shapes(
    shapes: Mapping[str, tuple[int, ...]], expected: Iterable[tuple[str, tuple[int, ...]]], name: str
) -> None:
    """Check that a checkpoint holds what its config promises, before any of it is read.

    Raises
    ------
    ModelFileError
        Naming the first tensor that is missing or has another shape.
    """
    for tensor, wanted in expected:
        found = shapes.get(tensor)
        if found is None:
            raise ModelFileError(
                f"{name}: tensor {tensor!r} is missing; the config asks for it. Fetch it, or train it, again"
            )
        if found != wanted:
            raise ModelFileError(
                f"{name}: tensor {tensor!r} has shape {quote(found)}, but the config makes it {wanted}; "
                "config and weights belong to different models. Fetch them, or train them, again"
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
    packing = Packing(read, backend, dtype, config.layer_norm_epsilon)
    wte = packing.rows("wte")
    return Weights(
        wte=wte,
        wpe=packing.array("wpe.weight"),
        h=tuple(packing.block(i) for i in range(config.n_layer)),
        ln_f=packing.norm("ln_f"),
        lm_head=wte if config.tie_word_embeddings else packing.rows("lm_head"),
    )


@dataclass(frozen=True, slots=True)
class Packing:
    """Tensors on their way from a checkpoint to a backend, by their names.

    Parameters
    ----------
    read : callable
        Maps a name to an array.
    backend : Backend
    dtype : str
        The number format of the matrices.
    epsilon : float
        Of the layer norms.
    """

    read: Callable[[str], Tensor]
    backend: Backend
    dtype: str
    epsilon: float

    def array(self, name: str) -> Array:
        """Return an array as it is, in float32."""
        return self.backend.place(np.asarray(self.read(name), np.float32))

    def norm(self, name: str) -> Norm:
        """Return a layer norm."""
        return Norm(self.array(f"{name}.weight"), self.array(f"{name}.bias"), self.epsilon)

    def matrix(self, name: str) -> Linear:
        """Return a matrix that is stored (inputs, outputs), and its bias."""
        bias = np.asarray(self.read(f"{name}.bias"), np.float32)
        return self.backend.pack(self.read(f"{name}.weight"), bias, self.dtype)

    def rows(self, name: str) -> Linear:
        """Return a matrix that is stored (outputs, inputs), as embeddings are, and has no bias."""
        return self.backend.pack(self.read(f"{name}.weight").T, None, self.dtype)

    def block(self, i: int) -> Block:
        """Return layer ``i``."""
        return Block(
            ln_1=self.norm(f"h.{i}.ln_1"),
            attn=Attention(self.matrix(f"h.{i}.attn.c_attn"), self.matrix(f"h.{i}.attn.c_proj")),
            ln_2=self.norm(f"h.{i}.ln_2"),
            mlp=MLP(self.matrix(f"h.{i}.mlp.c_fc"), self.matrix(f"h.{i}.mlp.c_proj")),
        )


def num_parameters(config: GPT2Config) -> int:
    """Count the parameters of a model of this config."""
    return sum(int(np.prod(shape)) for _, shape in expected_shapes(config))
