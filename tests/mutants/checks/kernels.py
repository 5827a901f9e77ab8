"""Each operation of each backend against float64, for every number of rows and every odd width; number formats too."""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np

from minispec.engine.backends import Norm, formats, get_backend
from minispec.engine.backends.panel.emit import MAX_ROWS, PANEL
from minispec.engine.model.paged import PagedCache
from minispec.engine.model.pages import PagePool
from tests.engine.backends import test_panel
from tests.models import random_gpt2

from .base import check, suite

_BACKENDS = ("panel", "numba", "numpy")
_TOLERANCE = 2e-5
"""Of sums of up to a few hundred float32 terms, relative to max(1, |value|)."""


def _normal(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def _off(found: np.ndarray, wanted: np.ndarray) -> int:
    """How many numbers are off by more than rounding."""
    if found.shape != wanted.shape:
        return wanted.size
    return int(np.sum(~(np.abs(found - wanted) <= _TOLERANCE * np.maximum(1.0, np.abs(wanted)))))


def _normed(x: np.ndarray, norm: Norm) -> np.ndarray:
    x = x.astype(float)
    centred = x - x.mean(axis=1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + norm.epsilon) * norm.weight + norm.bias


def _activated(x: np.ndarray, name: str | None) -> np.ndarray:
    if name == "relu":
        return np.maximum(x, 0.0)
    if name == "gelu":
        return x * 0.5 * (1.0 + np.vectorize(math.erf)(x / math.sqrt(2.0)))
    if name == "gelu_new":
        return x * 0.5 * (1.0 + np.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)))
    return x


# ── products ────────────────────────────────────────────────────────────────────────────────────────────────────────

_SIZES = [(5, 1), (8, PANEL), (7, PANEL + 1), (16, 2 * PANEL - 1), (33, 3 * PANEL + 2), (9, 64), (4, 65)]
_KINDS = list(itertools.product(formats.DTYPES, (False, True), ("gelu_new", None), (False, True)))


@functools.cache
def _products():
    """For each number of rows up to two full tiles and one, each size once, with formats and extras in turn."""
    cases = []
    kinds = itertools.cycle(_KINDS[::-3] + _KINDS[::5])
    for rows, (num_inputs, num_outputs) in itertools.product(range(1, 2 * MAX_ROWS + 2), _SIZES):
        dtype, normed, activation, added = next(kinds)
        seed = 1000 * rows + num_outputs
        x, weight = (
            _normal(seed, rows, num_inputs),
            _normal(seed + 1, num_inputs, num_outputs) / np.float32(num_inputs**0.5),
        )
        bias, residual = _normal(seed + 2, num_outputs), _normal(seed + 3, rows, num_outputs) if added else None
        norm = Norm(_normal(seed + 4, num_inputs), _normal(seed + 5, num_inputs), 1e-5) if normed else None
        y = (x if norm is None else _normed(x, norm)) @ formats.round_weights(weight, dtype).astype(float) + bias
        wanted = _activated(y, activation) + (0.0 if residual is None else residual)
        cases.append((x, weight, bias, dtype, {"norm": norm, "activation": activation, "residual": residual}, wanted))
    return cases


def _products_off(name: str) -> float:
    backend = get_backend(name)
    off = (
        _off(backend.linear(x, backend.pack(weight, bias, dtype), **extras), wanted)
        for x, weight, bias, dtype, extras, wanted in _products()
    )
    return float(sum(off))


@check("value", "act(norm(x) W + b) + r of the panel backend: each number of rows to two tiles and one, seven sizes")
def products_of_panels() -> float:
    return _products_off("panel")


@check("value", "the same of the plain loops, for the rows of a block and one more, and each residue of eight inputs")
def products_of_loops() -> float:
    backend, off = get_backend("numba"), 0
    for rows, (num_inputs, num_outputs) in itertools.product((1, 2, 15, 16, 17), ((7, 3), (8, 64), (9, 65))):
        x, weight, bias = _normal(rows, rows, num_inputs), _normal(1, num_inputs, num_outputs), _normal(2, num_outputs)
        off += _off(backend.matmul(x, backend.pack(weight, bias)), x.astype(float) @ weight.astype(float) + bias)
    return float(off)


@functools.cache
def _shared_products():
    cases = []
    for seed, (dtype, rows) in enumerate((("float32", 30), ("int8", 5), ("int8", 1))):
        x, weight, bias = (
            _normal(seed, rows, 150),
            _normal(seed + 9, 150, 9 * PANEL * 2 + 5),
            _normal(seed, 9 * PANEL * 2 + 5),
        )
        cases.append((x, weight, bias, dtype, x @ formats.round_weights(weight, dtype).astype(float) + bias))
    return cases


@check("value", "products of the panel backend that three threads share")
def products_of_threads() -> float:
    backend, off = get_backend("panel"), 0
    backend._num_threads = lambda rows: 3
    for x, weight, bias, dtype, wanted in _shared_products():
        off += _off(0.05 * backend.linear(x, backend.pack(weight, bias, dtype)), 0.05 * wanted)
    return float(off)


@check("trace", "a row's product has the same bits alone and among any number of others")
def rows_alone_and_together() -> float:
    differing = 0
    for name, dtype in itertools.product(("panel", "numba"), ("float32", "int8")):
        backend = get_backend(name)
        matrix, x = backend.pack(_normal(1, 37, 70), _normal(2, 70), dtype), _normal(3, 2 * MAX_ROWS + 2, 37)
        alone = np.concatenate([backend.linear(x[i : i + 1], matrix) for i in range(len(x))])
        for rows in range(2, len(x) + 1):
            differing += not np.array_equal(backend.linear(x[:rows], matrix), alone[:rows])
    return float(differing)


suite(
    "pieces of work", "counter",
    "the pieces that threads claim cover each panel once, for any number of panels and threads",
    test_panel.test_pieces_are_all_panels_and_each_once,
)  # fmt: skip


@check("value", "norms and activations of every backend, of flat, large and tiny rows, each width to 40")
def elementwise() -> float:
    off = 0
    for name in _BACKENDS:
        backend = get_backend(name)
        for width in (1, 2, 3, 15, 16, 17, 40):
            norm = Norm(_normal(width, width), _normal(width + 1, width), 1e-3)
            x = np.stack([_normal(2, width), 30.0 + _normal(3, width), 1e-3 * _normal(4, width), np.full(width, 2.5)])
            off += _off(backend.layer_norm(x.astype(np.float32), norm), _normed(x.astype(np.float32), norm))
        x = np.concatenate([np.linspace(-8.0, 8.0, 201), [-100.0, -30.0, 0.0, 30.0, 100.0]]).astype(np.float32)[None]
        for activation in ("gelu_new", "gelu", "relu"):
            off += _off(backend.activation(x, activation), _activated(x.astype(float), activation))
    return float(off)


@check("value", "embeddings of every token at two positions, in every format, of every backend")
def embeddings() -> float:
    wte, wpe, off = _normal(1, 12, 2 * PANEL + 3), _normal(2, 5, 12), 0
    tokens = np.arange(2 * PANEL + 3)
    for name, dtype in itertools.product(_BACKENDS, formats.DTYPES):
        backend = get_backend(name)
        for positions in (np.full(len(tokens), 4), tokens % 3):
            found = backend.embed(backend.pack(wte, None, dtype), wpe, tokens, positions)
            off += _off(found, formats.round_weights(wte, dtype).T.astype(float) + wpe[positions])
    return float(off)


# ── attention ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _attended(queries, keys, values, sees, scale) -> np.ndarray:
    """Softmax attention in float64; ``sees`` lists for each token the slots that it sees."""
    out = np.zeros(queries.shape)
    for t, h in itertools.product(range(queries.shape[0]), range(queries.shape[1])):
        scores = keys[sees[t], h].astype(float) @ queries[t, h].astype(float) * scale
        weights = np.exp(scores - scores.max())
        out[t, h] = weights / weights.sum() @ values[sees[t], h]
    return out


def _second_text(layers: int, heads: int, size: int, capacity: int, kv_dtype: str) -> PagedCache:
    """A cache whose text lies in the second page of its memory."""
    sizes = layers, heads, size, 2, capacity
    pool = PagePool(*sizes, backend=get_backend("numpy"), kv_dtype=kv_dtype)
    pool.take()
    return PagedCache(pool, capacity)


@functools.cache
def _attentions():
    """Few and many tokens, short and long texts, heads of every residue, with and without a mask, modest and huge."""
    cases = []
    sizes = [(1, 1, 3), (1, 37, 16), (3, 3, 5), (17, 20, 16), (18, 41, 7), (2, 50, 64), (5, 33, 80), (4, 30, 96)]
    for number, ((count, end, size), masked) in enumerate(itertools.product(sizes, (False, True))):
        heads, generator = 1 + number % 3, np.random.default_rng(number)
        cache = _second_text(1, heads, size, 56, formats.KV_DTYPES[number % 3 == 2])
        cache.keys[:], cache.values[:] = generator.normal(size=(2, *cache.keys.shape))
        cache.lengths = [end - count]
        visible = None
        if masked:
            visible = generator.random((count, end)) < 0.5
            visible[np.arange(count), np.arange(end - count, end)] = True  # each sees itself
        feed = cache.feed([0] * count, visible=visible)
        sees = [np.arange(t + 1 + end - count) if visible is None else np.flatnonzero(visible[t]) for t in range(count)]
        queries = (generator.normal(size=(count, heads, size)) * (30.0 if number % 5 == 4 else 1.0)).astype(np.float32)
        wanted = _attended(queries, cache.keys[0, 1], cache.values[0, 1], sees, 0.5)
        cases.append((queries, cache, feed, wanted))
    return cases


@check("value", "attention of every backend: 1 to 18 tokens, texts of 1 to 50, heads of 3 to 96, masks, huge scores")
def attention() -> float:
    off = 0
    for name, (queries, cache, feed, wanted) in itertools.product(_BACKENDS, _attentions()):
        seen = cache.keys[0], cache.values[0], feed.pages, feed.ends, feed.visible
        off += _off(0.1 * get_backend(name).attention(queries, *seen, 0.5), 0.1 * wanted)
    return float(off)


@check("value", "queries, keys and values of a product, and their slots in the second text of a cache, in both formats")
def projections() -> float:
    off = 0
    for name, kv_dtype, (heads, size) in itertools.product(_BACKENDS, formats.KV_DTYPES, ((1, 4), (3, 5), (2, 16))):
        backend, width = get_backend(name), heads * size
        weight, bias, x = _normal(1, width, 3 * width), _normal(2, 3 * width), _normal(3, 4, width)
        norm, cache = Norm(_normal(4, width), _normal(5, width), 1e-5), _second_text(2, heads, size, 9, kv_dtype)
        cache.lengths = [3, 3]
        queries = backend.project(x, backend.pack(weight, bias), norm, cache, 1, cache.feed([0] * 4))
        wanted = (_normed(x, norm) @ weight + bias).reshape(4, 3, heads, size)
        kept = np.zeros((2, *cache.keys.shape))
        for i, part in enumerate(kept):
            part[1, 1, 3:7] = wanted[:, 1 + i]
        far = 1.0 if kv_dtype == "float32" else 0.002  # halves have three digits
        off += _off(queries, wanted[:, 0]) + _off(far * cache.keys.astype(float), far * kept[0])
        off += _off(far * cache.values.astype(float), far * kept[1])
    return float(off)


@check("value", "keys and values beyond the largest half, which they become; of every backend")
def huge_keys() -> float:
    off = 0
    for name in _BACKENDS:
        backend, cache = get_backend(name), _second_text(1, 1, 4, 3, "float16")
        weight, bias = np.zeros((4, 12), np.float32), np.repeat(np.float32([1.0, 1e6, -1e6]), 4)
        norm = Norm(np.ones(4, np.float32), np.zeros(4, np.float32), 1e-5)
        backend.project(_normal(1, 1, 4), backend.pack(weight, bias), norm, cache, 0, cache.feed([0]))
        for kept, largest in ((cache.keys, 65504.0), (cache.values, -65504.0)):
            off += _off(kept[0, 1, 0].astype(float), np.full((1, 4), largest))
    return float(off)


# ── whole models ────────────────────────────────────────────────────────────────────────────────────────────────────


@functools.cache
def _whole_models():
    sizes = {"n_positions": 40, "n_embd": 24, "n_head": 3, "n_layer": 3, "scale_attn_by_inverse_layer_idx": True}
    return [(dtype, random_gpt2("numpy", 3, dtype, **sizes).logits(range(30))) for dtype in formats.DTYPES]


@check("value", "logits of a model of three layers in every format, all layers in one call, against the reference")
def stacks_of_layers() -> float:
    off = 0
    for dtype, wanted in _whole_models():
        sizes = {"n_positions": 40, "n_embd": 24, "n_head": 3, "n_layer": 3, "scale_attn_by_inverse_layer_idx": True}
        model = random_gpt2("panel", 3, dtype, **sizes)
        session = model.session()
        found = np.concatenate(
            [session.score(list(range(20))), session.score([20]), session.score(list(range(21, 30)))]
        )
        off += _off(0.1 * found, 0.1 * wanted)
    return float(off)


# ── formats ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@functools.cache
def _rounded() -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Numbers next to and between those of each format, and the nearest of the format, ties to an even last bit."""
    cases = []
    bits = np.arange(2**15, dtype=np.uint32)
    for dtype, values in (
        ("float16", bits.astype(np.uint16).view(np.float16)),
        ("bfloat16", (bits << np.uint32(16)).view(np.float32)),
    ):
        grid = values[np.isfinite(values)].astype(float)
        middle = ((grid[:-1] + grid[1:]) / 2.0).astype(np.float32)
        beside = [np.nextafter(middle, np.float32(to)) for to in (0.0, np.inf)]
        numbers = np.concatenate([grid.astype(np.float32), middle, *beside])
        numbers = numbers[np.isfinite(numbers) & (numbers <= grid[-1])]
        above = np.clip(np.searchsorted(grid, numbers), 1, len(grid) - 1)
        low, high = numbers - grid[above - 1], grid[above] - numbers
        nearest = np.where((low < high) | ((low == high) & ((above - 1) % 2 == 0)), grid[above - 1], grid[above])
        cases.append((dtype, np.concatenate([numbers, -numbers])[None], np.concatenate([nearest, -nearest])[None]))
    cases.append(("float16", np.array([[65520.0, 1e9, -1e9]], np.float32), np.array([[65504.0, 65504.0, -65504.0]])))
    columns = np.array([[127.0, -127.0, 0.0, 2.54], [63.5, 1.0, 0.0, -0.01], [-64.5, 0.4, 0.0, 0.03]], np.float32)
    cases.append(
        ("int8", columns, np.array([[127.0, -127.0, 0.0, 2.54], [64.0, 1.0, 0.0, 0.0], [-64.0, 0.0, 0.0, 0.04]]))
    )
    return cases


@check("value", "every number of float16 and bfloat16, every middle of two and its neighbours; int8 by hand")
def rounding_to_a_format() -> float:
    off = 0
    for dtype, numbers, wanted in _rounded():
        found = formats.decode(*formats.encode(numbers, dtype)).astype(float)
        off += int(np.sum(np.abs(found - wanted) > (1e-6 if dtype == "int8" else 0.0)))
    return float(off)
