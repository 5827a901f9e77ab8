"""The GPU backends on a card: ``pytest -m gpu``. Skipped, with the reason, where there is none.

The contract of each operation is tested in tests/engine/contracts/test_backend.py, for all backends alike.
"""

from __future__ import annotations

import numpy as np
import pytest

from minispec.engine.backends import GPU_BACKENDS
from minispec.engine.backends.cuda import CupyBackend, CupyBlasBackend, open_cupy
from minispec.engine.batching.api import generate_many
from minispec.engine.generation import stream
from minispec.errors import InputError, OptionError
from tests.models import bits, random_gpt2

pytestmark = pytest.mark.gpu

GPT2_LIKE = {"n_embd": 768, "n_head": 12, "n_layer": 3, "vocab_size": 5003, "n_positions": 256}
TOKENS = np.random.default_rng(0).integers(0, 5003, 200).tolist()


@pytest.fixture(scope="module")
def cupy():
    try:
        return open_cupy()
    except InputError as error:
        pytest.skip(str(error))


@pytest.fixture(params=[CupyBlasBackend, CupyBackend], ids=GPU_BACKENDS[::-1])
def backend(request, cupy):
    return request.param(cupy)


def chunked(model, size):
    cache = model.new_cache()
    return np.concatenate([model.forward(TOKENS[i : i + size], cache) for i in range(0, len(TOKENS), size)])


def test_logits_are_numpy_s(backend):
    expected = random_gpt2("numpy", **GPT2_LIKE).logits(TOKENS)
    found = random_gpt2(backend, **GPT2_LIKE).logits(TOKENS)
    assert np.abs(found - expected).max() <= 1e-3 * np.abs(expected).max()


def test_half_precision_agrees_between_the_two_and_is_near_float32(cupy):
    blas, own = (random_gpt2(kind(cupy), dtype="float16", **GPT2_LIKE) for kind in (CupyBlasBackend, CupyBackend))
    exact = random_gpt2("numpy", **GPT2_LIKE).logits(TOKENS)
    scale = np.abs(exact).max()
    assert np.abs(own.logits(TOKENS) - blas.logits(TOKENS)).max() <= 5e-3 * scale
    assert np.abs(own.logits(TOKENS) - exact).max() <= 2e-2 * scale


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_bits_do_not_depend_on_the_chunks(cupy, dtype):
    """200 positions fed one by one, in chunks (tables that are kept), and at once (a table of its own)."""
    model = random_gpt2(CupyBackend(cupy), dtype=dtype, **GPT2_LIKE)
    one_by_one = chunked(model, 1)
    assert np.isfinite(one_by_one).all()
    for size in (*range(2, 10), 16, 17, 64, 200):
        assert bits(chunked(model, size)) == bits(one_by_one), f"chunks of {size}"


@pytest.mark.parametrize("sizes", [{"n_embd": 132, "n_head": 12, "n_inner": 303}, {"n_embd": 1088, "n_head": 17}])
@pytest.mark.parametrize(("dtype", "kv_dtype"), [("float32", "float16"), ("float16", "float32")])
def test_odd_sizes_and_a_cache_of_another_format(cupy, sizes, dtype, kv_dtype):
    fields = {"n_layer": 2, "vocab_size": 5003, "n_positions": 256, "dtype": dtype, "kv_dtype": kv_dtype, **sizes}
    model = random_gpt2(CupyBackend(cupy), **fields)
    found, expected = chunked(model, 7), random_gpt2("numpy", **fields).logits(TOKENS)
    assert np.abs(found - expected).max() <= 2e-2 * np.abs(expected).max()
    assert bits(found) == bits(chunked(model, 200))


def test_hidden_states_are_those_of_numpy(cupy):
    kept = []
    for backend in (CupyBackend(cupy), "numpy"):
        cache = random_gpt2(backend, **GPT2_LIKE).new_cache()
        cache.keep_features([1, 3])
        random_gpt2(backend, **GPT2_LIKE).forward(TOKENS[:40], cache)
        kept.append(cache.read_features([1, 3], 0, 40))
    assert np.abs(kept[0] - kept[1]).max() <= 1e-3 * np.abs(kept[1]).max()


def test_a_table_gives_the_same_bits_a_hundred_times(cupy):
    model = random_gpt2(CupyBackend(cupy), **GPT2_LIKE)
    expected = chunked(model, 5)
    for _ in range(100):
        assert bits(chunked(model, 5)) == bits(expected)


def test_other_work_on_the_card_does_not_disturb_a_table(cupy):
    """Memory freed after a table was made must not be given to others: here others take and fill what they can get."""
    model = random_gpt2(CupyBackend(cupy), **GPT2_LIKE)
    expected, cache, others = chunked(model, 1), model.new_cache(), []
    for i, token in enumerate(TOKENS):
        others.append(cupy.full((1 + i % 7) * 50_000, np.nan, np.float32))
        assert bits(model.forward([token], cache)[0]) == bits(expected[i])
        del others[:-3]


def test_greedy_speculative_text_is_plain_greedy_text(cupy):
    target, draft = (random_gpt2(CupyBackend(cupy), seed=seed, **GPT2_LIKE) for seed in (0, 1))
    plain = stream(TOKENS[:9], target=target, draft=None, max_tokens=100, temperature=0.0).run()
    for gamma in (1, 4, 7):
        fast = stream(TOKENS[:9], target=target, draft=draft, gamma=gamma, max_tokens=100, temperature=0.0).run()
        assert fast.guarantee == "bit-exact"
        assert fast.token_ids == plain.token_ids


def test_memory_that_runs_out_is_said_in_one_line(cupy):
    model = random_gpt2(CupyBackend(cupy), **GPT2_LIKE)
    with pytest.raises(OptionError, match="GB left, too little"):
        model.new_cache(capacity=10_000_000_000)


def test_a_text_in_a_batch_is_what_it_is_alone(cupy):
    """Paged keys and values, rows of several texts in one forward, and drafts in some of them."""
    target, draft = (random_gpt2(CupyBackend(cupy), seed=seed, **GPT2_LIKE) for seed in (0, 1))
    prompts = [TOKENS[:9], TOKENS[:70], TOKENS[20:21], TOKENS[30:130]]
    for chosen in (None, draft):
        options = {"target": target, "draft": chosen, "max_tokens": 60, "temperature": 0.7}
        together = generate_many(prompts, concurrency=4, seed=3, **options)
        for number, (prompt, text) in enumerate(zip(prompts, together, strict=True)):
            alone = generate_many([prompt], seed=3 + number, **options)[0]
            assert text.token_ids == alone.token_ids
