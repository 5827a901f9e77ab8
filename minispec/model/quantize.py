"""Weights rounded to a smaller number format, for a draft that is the target itself, slightly wrong.

The values are rounded, the arithmetic is not: rounded weights are kept and multiplied in float32, by the kernels there
are. So this measures what a format costs in *acceptance*; the speed comes with kernels that read the small format
(a batch-1 forward is bound by the bytes of its weights).

Formats: IEEE float16 and bfloat16, rounded to nearest, ties to even; int8, symmetric, with one scale per output channel
(the largest magnitude of a channel becomes 127), as in LLM.int8() (Dettmers et al. 2022), without its outliers.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from minispec.backends.base import Array, Linear
from minispec.errors import OptionError
from minispec.model.gpt2 import GPT2
from minispec.model.weights import MLP, Attention, Block, Norm

ROUNDED_DTYPES = ("float16", "bfloat16", "int8")
"""What :func:`round_weights` knows."""


def round_weights(array: Array, dtype: str, axis: int = -2) -> Array:
    """Round values to ``dtype`` and return them as float32.

    Parameters
    ----------
    array : ndarray, float32
    dtype : {"float16", "bfloat16", "int8"}
    axis : int
        For int8, the axis that runs over the *inputs* of one output channel; its values share a scale.

    Raises
    ------
    OptionError
        If ``dtype`` is none of the three.

    Examples
    --------
    >>> import numpy as np
    >>> round_weights(np.array([[1.0], [0.3]], np.float32), "int8").tolist() == [[1.0], [np.float32(38 / 127)]]
    True
    """
    if dtype == "float16":
        largest = np.finfo(np.float16).max  # larger values saturate instead of becoming infinite
        return np.clip(array, -largest, largest).astype(np.float16).astype(np.float32)
    if dtype == "bfloat16":
        bits = np.ascontiguousarray(array, np.float32).view(np.uint32)
        rounded = bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
        return (rounded & np.uint32(0xFFFF0000)).view(np.float32)
    if dtype == "int8":
        scale = np.abs(array).max(axis=axis, keepdims=True) / np.float32(127.0)
        scale = np.where(scale > 0.0, scale, np.float32(1.0))  # a channel of zeros stays zero
        return np.asarray(np.rint(array / scale) * scale, np.float32)
    raise OptionError(f"dtype is {dtype!r}; a self-draft's is one of {', '.join(ROUNDED_DTYPES)}. Try self:dtype=int8")


def rounded_model(model: GPT2, dtype: str) -> GPT2:
    """Return ``model`` with rounded weights: a model of its own, for a session of its own.

    float16 and bfloat16 round every tensor. int8 rounds the matrices and the token embedding, which is also the head
    (one scale per token); positions, norms and biases stay as they are, being few.

    Raises
    ------
    OptionError
        If the backend packs matrices in a way that cannot be rounded in place.
    """

    def vector(array: Array) -> Array:
        return array if dtype == "int8" else round_weights(array, dtype)

    def norm(original: Norm) -> Norm:
        return Norm(vector(original.weight), vector(original.bias))

    def matrix(original: Linear, num_inputs: int) -> Linear:
        # Both packings there are, (K, N) and panels (N/64, K, 64), keep the inputs on the last axis but one.
        weight = original.weight
        if weight.dtype != np.float32 or weight.ndim not in (2, 3) or weight.shape[-2] != num_inputs:
            raise OptionError(
                f"{model.name} is packed as {weight.dtype} of shape {weight.shape}, which cannot be rounded again. "
                "Try --dtype float32 for the target, or --draft layerskip"
            )
        return dataclasses.replace(original, weight=round_weights(weight, dtype), bias=vector(original.bias))

    weights, width = model.weights, model.config.n_embd
    blocks = tuple(
        Block(
            ln_1=norm(block.ln_1),
            attn=Attention(matrix(block.attn.c_attn, width), matrix(block.attn.c_proj, width)),
            ln_2=norm(block.ln_2),
            mlp=MLP(matrix(block.mlp.c_fc, width), matrix(block.mlp.c_proj, model.config.n_inner)),
        )
        for block in weights.h
    )
    rounded = dataclasses.replace(
        weights,
        wte=round_weights(weights.wte, dtype, axis=-1),
        wpe=vector(weights.wpe),
        h=blocks,
        ln_f=norm(weights.ln_f),
        lm_head=matrix(weights.lm_head, width),
    )
    return dataclasses.replace(model, name=f"{model.name} (weights rounded to {dtype})", weights=rounded)
