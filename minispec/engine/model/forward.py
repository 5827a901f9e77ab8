"""Stop 9 of 13: GPT-2 (Radford et al. 2019), from tokens to logits, with Hugging Face's names.

The letters: T tokens that are fed, C channels, H heads of D channels each, V words. Where a token's key and value lie
in the cache, and what the token sees there, was settled before (:meth:`minispec.engine.model.cache.KVCache.feed`).

Next: `backends/base.py`, where `linear` and `attention` are formulas.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from minispec.engine.backends.base import Array, Backend, Block, Cache, Feed
from minispec.engine.model.config import GPT2Config
from minispec.engine.model.language_model import FedCache
from minispec.engine.model.weights import Weights


def forward(weights: Weights, config: GPT2Config, backend: Backend, feed: Feed, cache: FedCache) -> Array:
    """Feed tokens to a cache and return the logits after the last of them.

    Returns
    -------
    ndarray of shape (feed.num_logits, V), float32
    """
    logits = backend.run(functools.partial(compute, weights, config, backend), cache, feed)
    cache.extend(feed)
    return logits


def compute(weights: Weights, config: GPT2Config, backend: Backend, cache: Cache, feed: Feed) -> Array:
    """Return the logits of a forward; keys and values of its tokens are in the cache then."""
    run_layers = backend.layers if backend.fuses(weights.h) else functools.partial(layers, backend)
    x = backend.embed(weights.wte, weights.wpe, feed.tokens, feed.positions)  # (T, C)
    x = run_layers(x, weights.h, cache, feed, config.attention_scale, config.activation_function)  # (T, C)
    return backend.linear(x[len(x) - feed.num_logits :], weights.lm_head, norm=weights.ln_f)  # (num_logits, V)


def layers(
    backend: Backend,
    x: Array,
    blocks: Sequence[Block],
    cache: Cache,
    feed: Feed,
    scale: Callable[[int], float],
    activation: str,
) -> Array:
    """Run the first ``feed.num_layers`` layers: x = x + attention(norm(x)), then x = x + mlp(norm(x)), and so on.

    ``linear`` takes the norm before it, the activation and the sum behind it along, so that a backend can do all in one
    pass. A backend that runs the whole stack in one call must return the same bits as these lines.

    Parameters
    ----------
    x : ndarray of shape (T, C)
    blocks : sequence of Block
    cache : Cache
    feed : Feed
    scale : callable
        Maps a layer's number, from 0, to what multiplies its attention scores: 1 / sqrt(D) in most models.
    activation : str
        GPT-2's is ``gelu_new``.

    Returns
    -------
    ndarray of shape (T, C)
    """
    linear = backend.linear
    for i, block in enumerate(blocks[: feed.num_layers]):
        # x = x + attention(norm(x))
        queries = backend.project(x, block.attn.c_attn, block.ln_1, cache, i, feed)  # (T, H, D); the rest is cached
        seen = cache.keys[i], cache.values[i], feed.pages, feed.ends, feed.visible
        heads = backend.attention(queries, *seen, scale(i))  # (T, H, D)
        x = linear(heads.reshape(x.shape), block.attn.c_proj, residual=x)  # (T, C)

        # x = x + mlp(norm(x))
        hidden = linear(x, block.mlp.c_fc, norm=block.ln_2, activation=activation)  # (T, 4C)
        x = linear(hidden, block.mlp.c_proj, residual=x)  # (T, C)
        backend.keep(cache.features, i + 1, feed, x)
    return x
