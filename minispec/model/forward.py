"""Stop 1 of 12 · the forward pass, written once. Next: model/cache.

Each token knows its row, its slot in the cache and its position in the text; the backend knows how to multiply. The
shapes are those of ``backends.base``; the formulas are GPT-2's (Radford et al. 2019), with Hugging Face's names.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from minispec.backends.base import Array, Backend, Index
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
    slots, ends = _next_slots(cache.lengths[len(layers) - 1], row_index)
    if ends.max(initial=0) > cache.capacity:
        raise InvariantError(f"{len(tokens)} tokens need slot {ends.max() - 1} of a cache of {cache.capacity}")
    if visible is None:
        ends = slots + 1  # a chain: each token sees the slots up to its own
    elif visible.shape[0] != len(tokens) or visible.shape[1] < ends.max(initial=0):
        raise InvariantError(f"the mask has shape {visible.shape}; it must cover {len(tokens)} tokens, all slots")
    position_index = slots if positions is None else np.asarray(positions, np.int64)
    cache.positions[row_index, slots] = position_index

    x = backend.embed(weights.wte, weights.wpe, np.asarray(tokens, np.int64), position_index)  # (T, C)
    for i, block in enumerate(layers):
        x = _block(x, block, i, config, backend, cache, row_index, slots, ends, visible)
    if num_logits is not None:
        x = x[len(x) - num_logits :]
    x = backend.layer_norm(x, weights.ln_f.weight, weights.ln_f.bias, config.layer_norm_epsilon)
    return backend.linear(x, weights.lm_head)  # (T or num_logits, V)


def _block(
    x: Array,
    block: Block,
    layer: int,
    config: GPT2Config,
    backend: Backend,
    cache: KVCache,
    rows: Index,
    slots: Index,
    ends: Index,
    visible: NDArray[np.bool_] | None,
) -> Array:
    """One pre-LN layer: x + attention(norm(x)), then x + mlp(norm(x)); (T, C) -> (T, C)."""
    epsilon = config.layer_norm_epsilon
    normed = backend.layer_norm(x, block.ln_1.weight, block.ln_1.bias, epsilon)
    qkv = backend.linear(normed, block.attn.c_attn)  # (T, 3C)
    queries, keys, values = np.ascontiguousarray(
        qkv.reshape(len(x), 3, config.n_head, config.head_size).transpose(1, 0, 2, 3)
    )  # (T, 3C) -> 3 x (T, H, D)
    cache.store(layer, rows, slots, keys, values)
    heads = backend.attention(
        queries, cache.keys[layer], cache.values[layer], rows, ends, visible, config.attention_scale(layer)
    )
    x = backend.linear(heads.reshape(x.shape), block.attn.c_proj, residual=x)

    normed = backend.layer_norm(x, block.ln_2.weight, block.ln_2.bias, epsilon)
    hidden = backend.activation(backend.linear(normed, block.mlp.c_fc), config.activation_function)  # (T, n_inner)
    return backend.linear(hidden, block.mlp.c_proj, residual=x)


def _next_slots(lengths: Index, rows: Index) -> tuple[Index, Index]:
    """Return each token's slot (its row's length plus its rank among the tokens of that row), and the row's new end."""
    slots, ends = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
    for row in np.unique(rows):
        mine = rows == row
        count = np.count_nonzero(mine)
        slots[mine] = lengths[row] + np.arange(count)
        ends[mine] = lengths[row] + count
    return slots, ends
