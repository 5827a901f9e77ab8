"""Stop 1 of 12 · the forward pass, written once. Next: model/cache.

Each token knows its row, its slot in the cache and its position in the text; the backend knows how to multiply. The
shapes are those of ``backends.base``; the formulas are GPT-2's (Radford et al. 2019), with Hugging Face's names.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from minispec.backends.base import Array, Backend, Cache, Index, Step
from minispec.errors import InvariantError
from minispec.model.cache import KVCache
from minispec.model.config import GPT2Config
from minispec.model.weights import Block, Weights


def forward(
    weights: Weights,
    config: GPT2Config,
    backend: Backend,
    tokens: Sequence[int],
    cache: KVCache,
    *,
    rows: Sequence[int] | None = None,
    positions: Sequence[int] | None = None,
    visible: NDArray[np.bool_] | None = None,
    num_layers: int | None = None,
    num_logits: int | None = None,
) -> Array:
    """Feed ``tokens`` to the cache and return the logits that follow them.

    Parameters
    ----------
    tokens : sequence of int, length T
    cache : KVCache
        Receives the tokens' keys and values at the next free slots of their rows.
    rows : sequence of int, length T, optional
        The cache row of each token; all row 0 by default.
    positions : sequence of int, length T, optional
        Positions in the text; by default each token's slot.
    visible : ndarray of shape (T, S), bool, optional
        Which slots each token attends to, itself included; by default every slot up to its own.
    num_layers : int, optional
        Run only the first layers (a self-draft); the cache of the others stays as it is.
    num_logits : int, optional
        Return logits only for the last tokens; by default for all.

    Returns
    -------
    ndarray of shape (T or num_logits, V), float32

    Raises
    ------
    InvariantError
        If the cache has no room, a mask lacks columns, or a count is out of range; nothing has been written then.
    """
    layers = weights.h[: config.n_layer if num_layers is None else num_layers]
    if not layers or not 0 <= (num_logits or 0) <= len(tokens):
        raise InvariantError(f"cannot run {num_layers} layers and return {num_logits} logits of {len(tokens)} tokens")
    row_index = np.zeros(len(tokens), np.int64) if rows is None else np.asarray(rows, np.int64)
    slots, ends = _next_slots(cache.lengths[len(layers) - 1], None if rows is None else row_index, len(tokens))
    last = int(ends[-1]) if rows is None and tokens else int(ends.max(initial=0))
    if last > cache.capacity:
        raise InvariantError(f"{len(tokens)} tokens need slot {last - 1} of a cache of {cache.capacity}")
    if visible is None:
        ends = slots + 1  # a chain: each token sees the slots up to its own
    elif visible.shape[0] != len(tokens) or visible.shape[1] < last:
        raise InvariantError(f"the mask has shape {visible.shape}; it must cover {len(tokens)} tokens, all slots")
    position_index = slots if positions is None else np.asarray(positions, np.int64)
    cache.positions[row_index, slots] = position_index

    step = Step(
        np.asarray(tokens, np.int64), position_index, row_index, slots, ends, visible, len(layers),
        len(tokens) if num_logits is None else num_logits,
    )  # fmt: skip
    return backend.run(functools.partial(_compute, weights, config, backend), cache, step)


def _compute(weights: Weights, config: GPT2Config, backend: Backend, cache: Cache, step: Step) -> Array:
    """Embed, run the layers, and return logits of the last tokens, (num_logits, V)."""
    x = backend.embed(weights.wte, weights.wpe, step.tokens, step.positions)  # (T, C)
    for i, block in enumerate(weights.h[: step.num_layers]):
        x = _block(x, block, i, config, backend, cache, step)
    return backend.linear(x[len(x) - step.num_logits :], weights.lm_head, norm=weights.ln_f)


def _block(x: Array, block: Block, layer: int, config: GPT2Config, backend: Backend, cache: Cache, step: Step) -> Array:
    """One pre-LN layer: x + attention(norm(x)), then x + mlp(norm(x)); (T, C) -> (T, C)."""
    queries = backend.project(x, block.attn.c_attn, block.ln_1, cache, layer, step)  # (T, H, D)
    heads = backend.attention(
        queries, cache.keys[layer], cache.values[layer], step.rows, step.ends, step.visible,
        config.attention_scale(layer),
    )  # fmt: skip
    x = backend.linear(heads.reshape(x.shape), block.attn.c_proj, residual=x)

    hidden = backend.linear(x, block.mlp.c_fc, norm=block.ln_2, activation=config.activation_function)  # (T, n_inner)
    return backend.linear(hidden, block.mlp.c_proj, residual=x)


def _next_slots(lengths: Index, rows: Index | None, count: int) -> tuple[Index, Index]:
    """Return each token's slot (its row's length plus its rank among the tokens of that row), and the row's new end.

    ``rows`` None is row 0 for all ``count`` of them.
    """
    if rows is None:
        first = int(lengths[0])
        return np.arange(first, first + count), np.full(count, first + count)
    slots, ends = np.empty(count, np.int64), np.empty(count, np.int64)
    for row in np.unique(rows):
        mine = rows == row
        here = np.count_nonzero(mine)
        slots[mine] = lengths[row] + np.arange(here)
        ends[mine] = lengths[row] + here
    return slots, ends
