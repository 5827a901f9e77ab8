"""A model with weights in a smaller number format: a draft that is the target itself, slightly wrong.

*Acceptance* measures what the format loses. What it gains is bytes: a forward of one row takes as long as reading its
weights, and the panel backend reads the small format (``backends.formats``).
"""

from __future__ import annotations

import dataclasses
from weakref import WeakKeyDictionary

from minispec.engine.backends.base import MLP, Attention, Block, Linear
from minispec.engine.backends.formats import AUTO
from minispec.engine.model.gpt2 import GPT2
from minispec.errors import OptionError

_rounded: WeakKeyDictionary[GPT2, dict[str, GPT2]] = WeakKeyDictionary()


def round_model(model: GPT2, dtype: str) -> GPT2:
    """Return ``model`` with its matrices packed again in ``dtype``: a model of its own, made once for each target.

    As when loading, the matrices and the token embedding are rounded; norms, biases and positions stay float32.

    Raises
    ------
    OptionError
        If there is no such format, or the backend lacks it.
    """
    made = _rounded.setdefault(model, {})
    if dtype in made:
        return made[dtype]
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
    packed = dataclasses.replace(weights, wte=wte, h=blocks, lm_head=lm_head)
    kv_dtype = model.kv_dtype if model.kv_dtype in backend.kv_dtypes(dtype) else AUTO
    name = f"{model.name} in {dtype}"
    rounded = dataclasses.replace(model, name=name, weights=packed, dtype=dtype, kv_dtype=kv_dtype, pool=None)
    if model.pool is not None:  # pages of its own: their contents would be wrong for the target
        rounded = rounded.with_pages(model.pool.num_pages, model.pool.page_size)
        if rounded.pool is not None:
            model.pool.beside.append(rounded.pool)  # whoever clears the target's clears these
    made[dtype] = rounded
    return rounded
