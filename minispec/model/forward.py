"""Stop 1 of 12 · the forward pass, written once. Next: model/cache.

Each token knows its row, its slot in the cache and its position in the text; the backend knows how to multiply. The
shapes and a layer's formula (``Backend.layers``) are those of ``backends.base``; the model is GPT-2 (Radford et al.
2019), with Hugging Face's names.
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
from minispec.model.weights import Weights


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
    lengths = cache.lengths[len(layers) - 1]
    if rows is None:  # a few NumPy calls count beside a small draft's forward
        row_index, last = np.zeros(len(tokens), np.int64), int(lengths[0]) + len(tokens)
        slots = np.arange(last - len(tokens), last)
        ends = slots + 1 if visible is None else np.full(len(tokens), last)
    else:
        row_index = np.asarray(rows, np.int64)
        slots, ends = _next_slots(lengths, row_index)
        last = int(ends.max(initial=0))
        ends = slots + 1 if visible is None else ends
    if last > cache.capacity:
        raise InvariantError(f"{len(tokens)} tokens need slot {last - 1} of a cache of {cache.capacity}")
    if visible is not None and (visible.shape[0] != len(tokens) or visible.shape[1] < last):
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
    x = backend.layers(x, weights.h, cache, step, config.attention_scale, config.activation_function)
    return backend.linear(x[len(x) - step.num_logits :], weights.lm_head, norm=weights.ln_f)


def _next_slots(lengths: Index, rows: Index) -> tuple[Index, Index]:
    """Return each token's slot (its row's length plus its rank among the tokens of that row), and the row's new end."""
    slots, ends = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
    for row in np.unique(rows):
        mine = rows == row
        here = np.count_nonzero(mine)
        slots[mine] = lengths[row] + np.arange(here)
        ends[mine] = lengths[row] + here
    return slots, ends
