"""The GPU backends without a GPU: their own code and the kernels' own source, on a stand-in for CuPy.

What this shows: indices, layouts, arguments, order of sums, barriers, bookkeeping, and that nothing is recorded that
CuPy would refuse to record. What it cannot show is in docs/gpu.md; tests/engine/backends/test_gpu.py shows it on a
card.
"""

from __future__ import annotations

import json
import sys
import types

import numpy as np
import pytest

from minispec.engine.backends import NumpyBackend
from minispec.engine.backends.cuda import CupyBackend, CupyBlasBackend
from minispec.engine.backends.cuda.fused import ACTIVATIONS
from minispec.engine.backends.cuda.source import source
from minispec.engine.generation import stream
from minispec.engine.laws.backend import check_batch_invariance, check_reference
from minispec.engine.loading.memory import check_memory, needed_bytes
from minispec.engine.model import GPT2Config
from minispec.engine.model.asks import Ask
from minispec.engine.model.forward import forward
from minispec.engine.model.quantize import round_model
from minispec.engine.model.together import answer_together
from minispec.errors import MinispecError, OptionError
from tests.benchmarks import gpu, lease
from tests.engine.backends import emulator, fake_cupy, wrong_kernels
from tests.engine.backends.fake_cupy import FakeCupy
from tests.models import bits, random_gpt2

pytestmark = pytest.mark.skipif(emulator.COMPILER is None, reason="g++ compiles the emulated card; there is none")

ODD = {"n_embd": 40, "n_head": 5, "n_inner": 70, "vocab_size": 83, "activation_function": "gelu"}
"""No size but the heads' a multiple of 16."""

TOKENS = list(range(3, 13))


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    return fake_cupy.builder(tmp_path_factory.mktemp("card"))


@pytest.fixture(autouse=True)
def cupyx():
    with fake_cupy.cupyx():
        yield


@pytest.fixture(params=[CupyBlasBackend, CupyBackend], ids=lambda backend: backend.name)
def backend(request, build):
    return request.param(FakeCupy(build))


def chunked(model, tokens, sizes, cache=None):
    """Return all logits, fed in chunks of the given sizes."""
    cache, start, rows = model.new_cache() if cache is None else cache, 0, []
    for size in sizes:
        rows.append(model.forward(tokens[start : start + size], cache))
        start += size
    assert start == len(tokens)
    return np.concatenate(rows)


class TestTheContract:
    def test_each_operation_agrees_with_the_reference(self, backend):
        check_reference(backend)

    def test_rows_of_each_operation_have_the_same_bits_in_any_company(self, build):
        check_batch_invariance(CupyBackend(FakeCupy(build)), 9)

    @pytest.mark.parametrize("name", [name for name in ACTIVATIONS if name])
    def test_activations_are_the_reference_s(self, build, name):
        generator = np.random.default_rng(0)
        x, weight = (generator.normal(size=shape).astype(np.float32) for shape in ((3, 32), (32, 20)))
        found, expected = (
            backend.linear(x, backend.pack(weight, None), activation=name)
            for backend in (CupyBackend(FakeCupy(build)).from_host(), NumpyBackend())
        )
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)

    def test_who_promises_what(self):
        assert CupyBackend.batch_invariant
        assert not CupyBlasBackend.batch_invariant


class TestAModel:
    @pytest.mark.parametrize("shape", [{}, ODD], ids=["even", "odd"])
    def test_logits_are_the_reference_s(self, backend, shape):
        expected = random_gpt2("numpy", **shape).logits(TOKENS)
        model = random_gpt2(backend, **shape)
        np.testing.assert_allclose(model.logits(TOKENS), expected, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(chunked(model, TOKENS, [1] * 4 + [2, 4]), expected, rtol=1e-5, atol=1e-5)

    def test_in_half_precision_both_agree_and_weights_and_caches_are_halves(self, build):
        """Both round the weights, the inputs of products and the cache; only the order of sums differs."""
        blas, own = (
            random_gpt2(kind(FakeCupy(build)), dtype="float16", **ODD) for kind in (CupyBlasBackend, CupyBackend)
        )
        exact = random_gpt2("numpy", **ODD).logits(TOKENS)
        found, expected = own.logits(TOKENS), blas.logits(TOKENS)
        np.testing.assert_allclose(found, expected, rtol=2e-3, atol=2e-3)  # a tie may round the other way
        assert 1e-5 < np.abs(found - exact).max() < 2e-2
        assert own.new_cache().keys.dtype == own.weights.h[0].attn.c_attn.weight.dtype == np.float16

    def test_bits_do_not_depend_on_the_chunks_nor_on_the_order_of_threads(self, build):
        for dtype in ("float32", "float16"):
            alone = chunked(random_gpt2(CupyBackend(FakeCupy(build)), dtype=dtype), TOKENS, [1] * 10)
            for seed, sizes in ((1, [10]), (2, [2, 2, 2, 4])):
                model = random_gpt2(CupyBackend(FakeCupy(build, seed)), dtype=dtype)
                assert bits(chunked(model, TOKENS, sizes)) == bits(alone)

    def test_more_than_one_split_of_the_cache(self, build):
        """70 positions are two splits of 64: blocks join what they found."""
        tokens = np.random.default_rng(0).integers(0, 97, 70).tolist()
        fields = {"n_positions": 80, "n_layer": 1}
        model = random_gpt2(CupyBackend(FakeCupy(build, 4)), **fields)
        found = chunked(model, tokens, [60, 1, 1, 5, 3])
        np.testing.assert_allclose(found, random_gpt2("numpy", **fields).logits(tokens), rtol=1e-5, atol=1e-5)
        assert bits(random_gpt2(CupyBackend(FakeCupy(build)), **fields).logits(tokens)) == bits(found)

    def test_trees_texts_together_and_first_layers(self, backend):
        """What a chain does not use: a mask, positions that repeat, pages of several texts, fewer layers."""
        visible = np.tril(np.ones((5, 5), bool))
        visible[4, 3] = False  # siblings

        def found(backend):
            model = random_gpt2(backend)
            tree, many = model.new_cache(), [model.with_pages(4, 2).session()]
            many.append(many[0].model.session())
            yield model.forward([1, 2, 3, 4, 5], tree, positions=[0, 1, 2, 3, 3], visible=visible)
            tree.keep([0, 1, 2, 4])
            yield model.forward([6], tree)
            yield from answer_together([Ask(many[0], [8], 1), Ask(many[1], [7, 9, 3], 3)])
            first_layer = many[1].cache.feed([10], num_layers=1)
            yield forward(model.weights, model.config, model.backend, first_layer, many[1].cache)
            assert [session.cache.lengths for session in many] == [[1, 1], [4, 3]]

        for mine, reference in zip(found(backend), found("numpy"), strict=True):
            np.testing.assert_allclose(mine, reference, rtol=1e-5, atol=1e-5)

    def test_packing_again_in_another_format(self, backend):
        """What a self-draft does: unpack, round, pack."""
        weight = np.random.default_rng(0).normal(size=(20, 35)).astype(np.float32)
        packed = backend.pack(weight, None)
        assert bits(backend.unpack(packed)) == bits(weight)
        halves = backend.pack(backend.unpack(packed), None, "float16")
        assert bits(backend.unpack(halves)) == bits(weight.astype(np.float16).astype(np.float32))
        assert bits(backend.fetch(backend.columns(packed, np.array([30, 2])))) == bits(weight[:, [30, 2]].T)

    def test_formats_that_the_card_lacks_are_refused(self, backend):
        with pytest.raises(OptionError, match=r"int8.* has float32, float16"):
            round_model(random_gpt2(backend), "int8")
        rounded = round_model(random_gpt2(backend), "float16")
        assert bits(rounded.logits([1, 2])) != bits(random_gpt2(backend).logits([1, 2]))


class TestRecordings:
    def test_a_forward_is_one_launch_and_its_table_is_made_once(self, build, monkeypatch):
        card = FakeCupy(build)
        model = random_gpt2(CupyBackend(card))
        expected, before = chunked(model, TOKENS, [1, 2, 7]), card.num_launches
        assert before == 3
        cache, made = model.new_cache(), []
        record = CupyBackend._record
        monkeypatch.setattr(CupyBackend, "_record", lambda *a: made.append(1) or record(*a))
        found = chunked(model, TOKENS, [1] * 10, cache)
        assert (card.num_launches - before, len(made)) == (10, 1)
        assert bits(found) == bits(expected)

    def test_a_token_asks_little_of_python(self, build):
        """Between two launches the card waits for the host: calls are counted, as a clock would follow the machine."""
        model, calls = random_gpt2(CupyBackend(FakeCupy(build))), []
        cache = model.new_cache()
        model.forward([1], cache)
        sys.setprofile(lambda frame, event, _: calls.append(frame.f_code.co_name) if "call" in event else None)
        try:
            model.forward([2], cache)
        finally:
            sys.setprofile(None)
        assert len(calls) < 80, calls

    def test_caches_do_not_share_recordings(self, build):
        model = random_gpt2(CupyBackend(FakeCupy(build)))
        expected = chunked(model, TOKENS, [1] * 10)
        caches = [model.new_cache(), model.new_cache()]
        found = [[model.forward([t], cache)[0] for cache in caches] for t in TOKENS]
        assert bits(np.array(found)[:, 0]) == bits(np.array(found)[:, 1]) == bits(expected)

    def test_going_back_between_replays(self, build):
        """What a replay reads and writes follows the step, not what was true when it was recorded."""
        model = random_gpt2(CupyBackend(FakeCupy(build)))
        cache = model.new_cache()
        for length in (0, 2, 1, 3, 4, 3):
            cache.rollback(length)
            found = model.forward(TOKENS[length : length + 2], cache)
            assert bits(found) == bits(model.logits(TOKENS[: length + 2])[-2:])

    def test_an_error_while_a_table_is_made_leaves_none(self, build):
        model = random_gpt2(CupyBackend(FakeCupy(build)))
        cache = model.new_cache()
        healthy, model.backend.attention = model.backend.attention, None
        with pytest.raises(TypeError):
            model.forward([1], cache)
        model.backend.attention = healthy
        assert (cache.length, cache.recordings) == (0, {})
        assert bits(chunked(model, [1, 2], [1, 1], cache)) == bits(model.logits([1, 2]))

    def test_blocks_that_wait_for_ever_are_one_line(self, build):
        """What a card says when a kernel traps, and goes on saying."""

        def hanging(options):
            return types.SimpleNamespace(size_of=build(options).size_of, emulate=lambda *_: 1)

        model = random_gpt2(CupyBackend(FakeCupy(hanging)))
        cache = model.new_cache()
        for _ in range(2):
            with pytest.raises(MinispecError, match=r"^the GPU gave up \(.*launch failure\).*Start again[^\n]*$"):
                model.forward([1], cache)
            assert cache.length == 0

    @pytest.mark.parametrize("when", ["fill", "launch", "copy"])
    def test_ctrl_c_leaves_a_process_that_goes_on(self, build, when, monkeypatch):
        """Wherever it comes: the card is waited for, and the same forward afterwards is right."""
        card = FakeCupy(build)
        model = random_gpt2(CupyBackend(card))
        cache, waited = model.new_cache(), []
        model.forward([1], cache)

        def interrupt(*_, **__):
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            if when == "launch":
                patch.setattr(card, "_launch", interrupt)
            else:
                original, kind = card.cuda.runtime.memcpyAsync, 1 if when == "fill" else 2
                patch.setattr(
                    card.cuda.runtime, "memcpyAsync", lambda *a: interrupt() if a[3] == kind else original(*a)
                )
            patch.setattr(type(model.backend.stream), "synchronize", lambda self: waited.append(1))
            with pytest.raises(KeyboardInterrupt):
                model.forward([2], cache)
        assert waited
        assert cache.length == 1
        assert bits(model.forward([2], cache)) == bits(model.logits([1, 2])[1:])


@pytest.mark.parametrize("verify", ["rejection", pytest.param("match", marks=pytest.mark.slow)])
def test_greedy_speculative_text_is_plain_greedy_text(build, verify):
    """The whole loop over the fast backend: the guarantee it prints is kept."""
    target = random_gpt2(CupyBackend(FakeCupy(build)), n_layer=1)
    draft = random_gpt2(CupyBackend(FakeCupy(build)), n_layer=1, seed=1)
    options = {"max_tokens": 12, "temperature": 0.0}
    plain = stream([1, 2, 3], target=target, draft=None, **options).run()
    speculative = stream([1, 2, 3], target=target, draft=draft, gamma=3, verify=verify, **options).run()
    assert speculative.guarantee == "bit-exact"
    assert speculative.token_ids == plain.token_ids


class TestMemory:
    def test_what_is_asked_for_is_what_is_taken(self, build):
        """The estimate is not below what a model and its cache take, padding aside."""
        card = FakeCupy(build)
        model = random_gpt2(CupyBlasBackend(card), n_embd=64)
        model.new_cache()
        assert card.used == pytest.approx(needed_bytes(model.config, item_bytes=4, kv_bytes=4), rel=0.02)

    def test_a_model_that_does_not_fit_is_refused_in_one_line(self, build):
        config = random_gpt2("numpy").config
        with pytest.raises(OptionError, match=r"GB left\. Try a smaller --dtype") as refused:
            check_memory(config, CupyBackend(FakeCupy(build, memory=100_000)), "float32", "float32", "gpt2-xl")
        assert "\n" not in str(refused.value)
        check_memory(config, CupyBackend(FakeCupy(build)), "float32", "float32", "gpt2-xl")
        check_memory(config, NumpyBackend(), "float32", "float32", "gpt2-xl")

    def test_keys_and_values_have_the_format_of_the_weights(self, build):
        models = {dtype: random_gpt2(CupyBackend(FakeCupy(build)), dtype=dtype) for dtype in ("float32", "float16")}
        for dtype, model in models.items():
            assert model.kv_dtype == dtype == model.new_cache().keys.dtype
        assert round_model(models["float32"], "float16").kv_dtype == "float32"  # what the model that it copies has

    def test_keys_and_values_of_another_format_than_the_weights(self, build):
        for dtype, kv_dtype in (("float32", "float16"), ("float16", "float32")):
            model = random_gpt2(CupyBackend(FakeCupy(build)), dtype=dtype, kv_dtype=kv_dtype)
            expected = random_gpt2("numpy", dtype=dtype, kv_dtype=kv_dtype).logits(TOKENS)
            assert model.new_cache().keys.dtype == kv_dtype
            np.testing.assert_allclose(model.logits(TOKENS), expected, rtol=5e-3, atol=5e-3)
            assert bits(chunked(model, TOKENS, [1, 9])) == bits(model.logits(TOKENS))

    def test_hidden_states_are_kept_on_the_card(self, backend):
        """Those of the reference, also of a layer that is asked for later, and through a table that was made before."""
        reference, model = random_gpt2("numpy"), random_gpt2(backend)
        caches = reference.new_cache(), model.new_cache()
        for each, cache in zip((reference, model), caches, strict=True):
            cache.keep_features([2])
            each.forward(TOKENS[:4], cache)
            cache.keep_features([1])
            each.forward(TOKENS[4:8], cache)
        wanted, found = (cache.read_features([1, 2], 4, 8) for cache in caches)
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
        wanted, found = (cache.read_features([2], 0, 8) for cache in caches)
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)

    def test_memory_that_runs_out_later_is_said_too(self, build):
        model = random_gpt2(CupyBackend(FakeCupy(build, memory=300_000)))
        with pytest.raises(OptionError, match="GB left, too little"):
            model.new_cache(capacity=6_400)


def test_the_right_kernels_pass_the_check_of_wrong_ones(build):
    wrong_kernels.check(build, seeds=(7,))


def test_each_mistake_stands_in_the_source_once():
    code = source(emulator.HEADER.read_text())
    assert {mistake: code.count(right) for mistake, (right, _) in wrong_kernels.WRONG.items()} == dict.fromkeys(
        wrong_kernels.WRONG, 1
    )


@pytest.mark.parametrize(
    "mistake",
    [
        pytest.param(mistake, marks=() if mistake in wrong_kernels.QUICK else pytest.mark.exhaustive)
        for mistake in wrong_kernels.WRONG
    ],
)
def test_wrong_kernels_are_told_apart(mistake):
    """Negative controls: each mistake in the source is found by the check that the right source passes."""
    assert wrong_kernels.tell_apart(mistake)


@pytest.mark.slow
def test_the_benchmark_runs_to_its_end(capsys):
    """A script that first runs on a lent card must not stumble."""
    gpu.main(["--stand-in", "--no-transformers"])
    printed = capsys.readouterr().out
    assert "no figure means anything" in printed
    assert "us of Python a token" in printed
    assert "| cupy, 5 rows, on the card |" in printed


@pytest.mark.slow
def test_a_lease_is_spent_to_its_end_and_can_be_cut_off_anywhere(capsys, monkeypatch, tmp_path):
    file, whole = tmp_path / "figures.json", []
    note = lease.Page.note

    def watch(page, name, value):
        note(page, name, value)
        whole.append(json.loads(file.read_text())[name])

    monkeypatch.setattr(lease.Page, "note", watch)
    files = "tests/engine/backends/test_device_packing.py"  # no test of a card, so that pytest ends at once
    monkeypatch.setattr(lease, "RINGS", lease.RINGS[1:3])  # each is compiled
    monkeypatch.setattr(lease.os, "cpu_count", lambda: 0)  # `bench` has tests of its own
    gpu.main(f"--stand-in --lease --no-transformers --json {file} --tests {files} --seconds 600".split())
    figures, page = json.loads(file.read_text()), file.with_suffix(".md").read_text()
    assert len(whole) == len(figures) > 20
    assert figures["float16: same bits in any chunks"]
    for name in ("barrier alone, us", "fastest", "tiny, rows / one row", "pytest -m gpu"):
        assert f"| {name} | " in page
    assert not any("failed" in name for name in figures)


def test_bytes_of_a_token_at_the_shape_of_gpt2_xl():
    """By hand: 48 layers of 12 x 1600^2, a head of 50257 x 1600, halves; and 512 keys and values of 48 layers."""
    config = GPT2Config.from_dict(gpu.SHAPES["xl"])
    weights = 48 * 12 * 1600**2 + 50257 * 1600
    assert gpu.bytes_per_token(config, "float16", 512) == 2 * (weights + 2 * 48 * 512 * 1600)
