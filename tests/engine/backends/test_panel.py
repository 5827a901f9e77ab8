"""The panel backend equals its oracle, the plain rung, format by format, and its parts do what they say."""

from __future__ import annotations

import dataclasses
import itertools
import os

import llvmlite.binding
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba.core.errors import TypingError

from minispec.engine.backends import DTYPES, get_backend
from minispec.engine.backends.base import Backend
from minispec.engine.backends.formats import ITEM_BYTES, encode
from minispec.engine.backends.panel import PanelBackend
from minispec.engine.backends.panel.bits import narrow
from minispec.engine.backends.panel.isa import AVX2, AVX512, NEON, choose_isa
from minispec.engine.jit import jit
from minispec.engine.model.asks import Ask
from minispec.engine.model.forward import forward
from minispec.engine.model.together import answer_together
from minispec.errors import InvariantError
from tests.models import bits, random_gpt2

pytestmark = pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="without a compiler numba stands in")
PANEL, NUMBA = get_backend("panel"), get_backend("numba")


def normal(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("dtype", DTYPES)
def test_packing_keeps_the_format_and_gives_the_values_back(dtype):
    weight = normal(0, 70, 100)
    packed, plain = PANEL.pack(weight, None, dtype), NUMBA.pack(weight, None, dtype)
    assert packed.weight.dtype.itemsize == ITEM_BYTES[dtype]
    np.testing.assert_array_equal(PANEL.unpack(packed), NUMBA.unpack(plain))
    indices = np.array([99, 0, 31, 32, 31])
    np.testing.assert_array_equal(PANEL.columns(packed, indices), PANEL.unpack(packed)[:, indices].T)


def spelled_out(model):
    """Return the model on a backend that runs a layer operation by operation, on the same packed weights."""
    backend = get_backend("panel")
    backend._num_weights = model.backend._num_weights
    for name in ("embed", "fuses"):
        setattr(backend, name, getattr(Backend, name).__get__(backend))
    return dataclasses.replace(model, backend=backend)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("threads", [1, 2])
def test_one_call_for_all_layers_gives_the_bits_of_its_operations(dtype, threads, monkeypatch):
    monkeypatch.setattr(PanelBackend, "_num_threads", lambda self, rows: threads)
    whole = random_gpt2("panel", dtype=dtype, n_embd=48, n_head=3, n_layer=3, scale_attn_by_inverse_layer_idx=True)
    caches = [model.new_cache() for model in (whole, spelled_out(whole))]
    generator = np.random.default_rng(0)
    for fed, kwargs in [
        (1, {}),
        (20, {"num_logits": 2}),
        (9, {}),
        (4, {"num_layers": 2}),
        (2, {"visible": np.tri(2, 64, 30, dtype=bool)}),
    ]:
        tokens = generator.integers(0, 97, fed).tolist()
        both = []
        for model, cache in zip((whole, spelled_out(whole)), caches, strict=True):
            feed = cache.feed(tokens, **kwargs)
            both.append(forward(model.weights, model.config, model.backend, feed, cache))
        assert bits(both[0]) == bits(both[1])
        for cache in caches:
            cache.rollback(cache.length)
        assert caches[0].lengths == caches[1].lengths
        for part in ("keys", "values"):
            assert bits(getattr(caches[0], part)) == bits(getattr(caches[1], part))


@pytest.mark.parametrize("threads", [1, 2])
def test_texts_together_have_the_bits_of_the_operations_too(threads, monkeypatch):
    monkeypatch.setattr(PanelBackend, "_num_threads", lambda self, rows: threads)
    whole = random_gpt2("panel", n_embd=48, n_head=3, n_layer=3)
    generator, found = np.random.default_rng(0), []
    tokens = generator.integers(0, 97, (3, 5)).tolist()
    for model in (whole, spelled_out(whole)):
        paged = model.with_pages(12, 4)
        sessions = [paged.session() for _ in range(3)]
        asks = [Ask(session, text[: i + 3], i) for i, (session, text) in enumerate(zip(sessions, tokens, strict=True))]
        found.append([bits(logits) for logits in (*answer_together(asks), paged.pool.keys, paged.pool.values)])
    assert found[0] == found[1]


def test_a_cache_serves_one_stack_of_layers_after_another():
    one, other = random_gpt2("panel", seed=1), random_gpt2("panel", seed=2)
    shared, alone = one.new_cache(), other.new_cache()
    one.forward([1, 2], shared)
    shared.rollback(0)
    assert bits(other.forward([3, 4], shared)) == bits(other.forward([3, 4], alone))


def test_layers_of_two_formats_are_no_stack():
    model, rounded = random_gpt2("panel"), random_gpt2("panel", dtype="int8")
    mixed = dataclasses.replace(model.weights, h=(model.weights.h[0], rounded.weights.h[1]))
    cache = model.new_cache()
    with pytest.raises(InvariantError, match="different formats"):
        forward(mixed, model.config, model.backend, cache.feed([1]), cache)


@pytest.mark.parametrize(("token", "position"), [(-1, 0), (97, 0), (0, -1), (0, 64)])
def test_a_token_or_position_outside_its_table_is_refused(token, position):
    model = random_gpt2("panel")
    with pytest.raises(IndexError, match="outside its table"):
        model.backend.embed(model.weights.wte, model.weights.wpe, np.array([token]), np.array([position]))


@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize("num_texts", [1, 2, 40])
@pytest.mark.parametrize(("num_tokens", "size"), [(1, 16), (5, 24), (16, 16), (17, 16), (40, 24)])
def test_attention_has_the_bits_of_its_tokens_one_by_one(num_tokens, size, num_texts, threads, monkeypatch):
    """Of one text and of many, which may begin alike; threads share one token's heads where the shares fall so."""
    monkeypatch.setattr(PanelBackend, "_num_threads", lambda self, rows: threads)
    generator = np.random.default_rng(num_tokens)
    keys, values = (generator.standard_normal((42, 100, 3, size), np.float32) for _ in range(2))
    queries = generator.standard_normal((num_tokens, 3, size), np.float32)
    texts, ends = generator.integers(0, num_texts, num_tokens), generator.integers(1, 200, num_tokens)
    pages = np.stack([texts % 2, 2 + texts], axis=1)
    visible = generator.random((num_tokens, 200)) < 0.5
    visible[:, 0] = True
    backend = get_backend("panel")
    for mask in (None, visible):
        together = backend.attention(queries, keys, values, pages, ends, mask, 0.3)
        for t in range(num_tokens):
            of_t = None if mask is None else mask[t : t + 1]
            alone = backend.attention(queries[t : t + 1], keys, values, pages[t : t + 1], ends[t : t + 1], of_t, 0.3)
            assert bits(together[t : t + 1]) == bits(alone)
        np.testing.assert_allclose(
            together, Backend.attention(backend, queries, keys, values, pages, ends, mask, 0.3), rtol=2e-5, atol=2e-6
        )


@pytest.mark.parametrize("size", [5, 16, 24, 64, 100])
def test_attention_over_halves_has_the_bits_of_the_same_values_in_float32(size):
    """A format is a rule for values: what is read with half the bytes is added up as before."""
    queries, halves = normal(0, 9, 3, size), normal(1, 2, 3, 40, 3, size).astype(np.float16)
    pages, ends = np.array([[0, 2], [1, 2]])[np.arange(9) % 2], np.arange(30, 39)
    found, expected = (PANEL.attention(queries, *kept, pages, ends, None, 0.3)
                       for kept in (halves, halves.astype(np.float32)))  # fmt: skip
    assert bits(found) == bits(expected)


@jit(nogil=True)
def narrow_all(values, kept):
    for i in range(values.shape[0]):
        kept[i] = narrow(values[i], kept)


def test_what_is_kept_is_the_nearest_half():
    """Every half, every middle of two, the numbers beside these; too large and subnormal ones, and no number."""
    halves = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(np.float32)
    middles = (halves[:-1] + halves[1:]) / np.float32(2.0)
    beside = [np.nextafter(middles, np.float32(to)) for to in (0.0, np.inf)]
    ends = np.array([65519.0, 65520.0, 1e9, np.inf, np.nan, 1e-30, 0.0], np.float32)
    numbers = np.concatenate([halves, middles, *beside, ends])
    numbers = np.concatenate([numbers, -numbers])
    kept, expected = np.empty(len(numbers), np.int16), encode(numbers, "float16")[0]
    narrow_all(numbers, kept)
    assert np.isnan(kept.view(np.float16)).tolist() == np.isnan(numbers).tolist()
    there = ~np.isnan(numbers)
    assert bits(kept.view(np.float16)[there]) == bits(expected[there])
    assert np.isfinite(kept.view(np.float16)[there]).all()
    same = np.empty_like(numbers)
    narrow_all(numbers, same)
    assert bits(same) == bits(numbers)


def test_exp_is_accurate_and_keeps_the_ends():
    from minispec.engine.backends.panel.elements import exp

    x = np.linspace(-86.9, 87.9, 20001, dtype=np.float32)
    found = np.array([exp(v) for v in x], np.float64)
    assert np.max(np.abs(found / np.exp(x.astype(np.float64)) - 1.0)) < 2.5e-7  # two units in the last place
    ends = [exp(np.float32(v)) for v in (-np.inf, -1e4, np.inf, 1e4)]
    assert ends == [0.0, 0.0, np.inf, np.inf]
    assert np.isnan(exp(np.float32(np.nan)))


@pytest.mark.parametrize(
    ("features", "architecture", "expected"),
    [
        ({"avx512f": True, "avx512bw": True, "avx2": True, "fma": True, "f16c": True}, "x86_64", AVX512),
        ({"avx2": True, "fma": True, "f16c": True}, "x86_64", AVX2),
        ({"avx2": True, "fma": True}, "x86_64", None),
        ({}, "aarch64", NEON),
        ({}, "riscv64", None),
    ],
)
def test_the_widest_vectors_are_chosen(features, architecture, expected):
    assert choose_isa(features, architecture) is expected


@pytest.mark.parametrize("isa", [AVX512, AVX2, NEON], ids=lambda isa: isa.name)
def test_a_tile_fits_the_registers(isa):
    """The sums, one vector of weights each, and the broadcast input."""
    assert isa.max_rows * isa.vectors + isa.vectors + 1 <= isa.registers
    for rows, item_bytes in itertools.product(range(1, isa.max_rows + 1), (1, 2, 4)):
        assert isa.panels_at_once(rows, item_bytes) * isa.vectors * (rows + 1) + 1 <= isa.registers


@pytest.mark.parametrize(
    "residual", [np.zeros((2, 8), np.float32)[:, ::2], np.zeros((2, 4))], ids=["not contiguous", "float64"]
)
def test_an_array_that_is_not_what_kernels_expect_is_refused(residual):
    backend = get_backend("panel")
    matrix = backend.pack(normal(0, 3, 4), None)
    with pytest.raises(TypingError, match="must be array"):
        backend.linear(normal(1, 2, 3), matrix, residual=residual)


def test_a_read_only_array_is_as_good():
    backend = get_backend("panel")
    matrix, residual = backend.pack(normal(0, 3, 4), None), normal(2, 2, 4)
    expected = bits(backend.linear(normal(1, 2, 3), matrix, residual=residual))
    residual.flags.writeable = False
    assert bits(backend.linear(normal(1, 2, 3), matrix, residual=residual)) == expected


def panels_of_pieces(find_piece, num_panels, threads, together):
    """Return the panels of all pieces, in the order of their numbers; there are no more of these than that."""
    pieces = (find_piece(number, num_panels, threads, together) for number in range(threads + num_panels))
    return [panel for first, last in pieces for panel in range(first, last)]


@given(st.integers(1, 300), st.integers(1, 32), st.integers(1, 4))
def test_pieces_are_all_panels_and_each_once(num_panels, threads, together):
    from minispec.engine.backends.panel.products import find_piece

    threads = min(threads, num_panels)
    assert panels_of_pieces(find_piece, num_panels, threads, together) == list(range(num_panels))


def test_pieces_that_overlap_are_found():
    """The control: a large piece that is rounded up reaches into the small ones."""

    def wrong(number, num_panels, threads, together):
        first, last = _panel_piece(number, num_panels, threads, together)
        return (first, last + 1) if number < threads else (first, last)

    from minispec.engine.backends.panel.products import find_piece as _panel_piece

    assert panels_of_pieces(wrong, 48, 2, 1) != list(range(48))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("num_tokens", [1, 2, 13])
def test_who_computes_a_column_does_not_change_its_bits(num_tokens, dtype):
    """Threads race for the last panels; a hundred races must end alike, and as one thread does."""
    model = get_backend("panel")
    matrix = model.pack(normal(0, 64, 1000), normal(1, 1000), dtype)
    x, residual = normal(2, num_tokens, 64), normal(3, num_tokens, 1000)
    model._num_weights = 0
    alone = model.linear(x, matrix, activation="gelu_new", residual=residual)
    model._num_weights = 10**9
    assert all(
        bits(model.linear(x, matrix, activation="gelu_new", residual=residual)) == bits(alone) for _ in range(100)
    )


def test_an_unknown_cpu_gets_the_plain_rung_and_is_told(monkeypatch, caplog):
    monkeypatch.setattr("minispec.engine.backends.panel.isa.find_host_isa", lambda: None)
    assert get_backend("panel").name == "numba"
    assert "numba computes instead" in caplog.text


def test_this_machine_has_what_it_says():
    architecture = llvmlite.binding.get_process_triple().split("-")[0]
    assert get_backend("panel").isa is choose_isa(llvmlite.binding.get_host_cpu_features(), architecture)
