"""A model with its weights in a smaller number format, for a draft that is the target itself, slightly wrong.

What the format costs in values is measured as *acceptance*; what it saves is bytes: a one-row forward is bound by the
bytes of its weights, and the panel backend keeps and reads the small format (``backends.formats``).
"""

from __future__ import annotations

import dataclasses

from minispec.backends.base import MLP, Attention, Block, Linear
from minispec.errors import OptionError
from minispec.model.gpt2 import GPT2

ROUNDED_DTYPES = ("float16", "bfloat16", "int8")
"""Formats that round a float32 model."""


def round_model(model: GPT2, dtype: str) -> GPT2:
    """Return ``model`` with its matrices packed again in ``dtype``: a model of its own, for a session of its own.

    As when loading, the matrices and the token embedding are rounded; norms, biases and positions stay float32.

    Raises
    ------
    OptionError
        If there is no such format, or the backend lacks it.
    """
    backend = model.backend
    if dtype not in backend.dtypes:
        raise OptionError(
            f"self: dtype is {dtype!r}; backend {backend.name} has {', '.join(backend.dtypes)}. "
            "Try self:dtype=float16 or another --backend"
        )

    def matrix(original: Linear) -> Linear:
        return backend.pack(backend.unpack(original), backend.fetch(original.bias), dtype)

    weights = model.weights
    blocks = tuple(
        Block(
            ln_1=block.ln_1,
            attn=Attention(matrix(block.attn.c_attn), matrix(block.attn.c_proj)),
            ln_2=block.ln_2,
            mlp=MLP(matrix(block.mlp.c_fc), matrix(block.mlp.c_proj)),
        )
        for block in weights.h
    )
    wte = matrix(weights.wte)
    lm_head = wte if weights.lm_head is weights.wte else matrix(weights.lm_head)
    rounded = dataclasses.replace(weights, wte=wte, h=blocks, lm_head=lm_head)
    return dataclasses.replace(model, name=f"{model.name} in {dtype}", weights=rounded, dtype=dtype)
