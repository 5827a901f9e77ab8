"""Ceilings, times and memory: on fake clocks and known figures, and against arrays that exist."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispec.engine.backends import BACKENDS, get_backend
from minispec.engine.backends.base import NumpyBackend
from minispec.engine.backends.formats import DTYPES
from minispec.engine.model.forward import layers
from minispec.errors import OptionError
from minispec.lab.roofline import machine as machine_module
from minispec.lab.roofline.counter import TimingBackend, part_names, storage_of
from minispec.lab.roofline.counts import (
    ACTIVATION_OPERATIONS,
    NORM_OPERATIONS,
    SCORE_OPERATIONS,
    Part,
    Storage,
    count_forward,
)
from minispec.lab.roofline.forwards import (
    PROBE,
    count_regions,
    empty_model,
    forward_timers,
    measure_forwards,
    random_model,
)
from minispec.lab.roofline.kernels import KINDS, MATRIX, kernel_timers, part_rates
from minispec.lab.roofline.machine import PROFILES, Machine, get_profile, measure_ladder
from minispec.lab.roofline.memory import cache_bytes, pair_memory, token_bytes, weights_bytes
from minispec.lab.roofline.predict import over_batches, predict, predict_forward
from minispec.lab.roofline.shapes import Shape, get_shape
from minispec.theory import ridge_tokens, roofline_verify_cost
from tests.models import random_gpt2

MACHINE = Machine("m", [(1 << 20, 200e9), (1 << 26, 50e9)], {"float32": 100e9}, 8 * 10**9)
FLAT = Machine("flat", [(1, 50e9)], {"float32": 100e9, "float16": 100e9})


# Ceilings


@given(st.floats(1.0, 1e12), st.floats(1.0, 1e12))
def test_bandwidth_lies_within_the_ladder_and_falls(a: float, b: float) -> None:
    small, large = sorted((a, b))
    assert 200e9 >= MACHINE.bandwidth(small) >= MACHINE.bandwidth(large) >= 50e9


def test_bandwidth_at_the_rungs_is_what_was_measured() -> None:
    assert [MACHINE.bandwidth(size) for size, _ in MACHINE.ladder] == [200e9, 50e9]


def test_the_ladder_leaves_out_what_finds_its_cache_cold() -> None:
    """A machine that reads a byte per nanosecond, and a hundred times slower where another footprint was read last."""
    last = [0]

    def probe(size: int):
        def read() -> float:
            cold, last[0] = last[0] != size, size
            return size * 1e-9 * (100 if cold else 1)

        return read

    sizes = [1 << 20, 1 << 24]
    assert measure_ladder(sizes, 5, probe=probe) == [(size, pytest.approx(1e9)) for size in sizes]


def test_a_read_probe_reads_what_it_says() -> None:
    from minispec.engine.backends.probe import ReadProbe

    read = ReadProbe(1 << 20)
    assert read.num_bytes == 1 << 20
    assert 0.0 < read() < 1.0
    read.words[0, 0] = 2
    with pytest.raises(AssertionError):
        read()  # it did look


def test_matmul_rate_is_operations_per_second(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter([1.0, 1.5])
    monkeypatch.setattr(machine_module.time, "perf_counter", lambda: next(ticks))
    assert machine_module.matmul_rate(8) == 2 * 8**3 / 0.5


def test_the_cpu_has_a_name(tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_text("processor: 0\nmodel name\t: Some CPU @ 1 GHz\n")
    assert machine_module._cpu_model(tmp_path / "cpuinfo") == "Some CPU @ 1 GHz"
    assert machine_module._cpu_model(tmp_path / "none")
    assert machine_module.describe_cpu()["threads"] >= 1


@pytest.mark.parametrize("name", PROFILES)
def test_profiles_name_their_source_and_are_plausible(name: str) -> None:
    profile = PROFILES[name]
    assert len(profile.source) > 10
    assert set(profile.peak_flops_per_s) == set(DTYPES)
    assert 1.0 < profile.ridge("float16", 1) < 1000.0
    assert 1e9 < profile.memory_bytes < 1e12


def test_known_ridges() -> None:
    assert round(get_profile("h100").ridge("float16", 1)) == 295
    assert round(get_profile("a100").ridge("float16", 1)) == 153


def test_bad_names() -> None:
    with pytest.raises(OptionError, match="Did you mean 'h100'"):
        get_profile("h10")
    with pytest.raises(OptionError, match=r"no peak for dtype 'int8'.*float32"):
        MACHINE.peak("int8")


# Times


def test_a_part_takes_the_longer_of_reading_and_arithmetic() -> None:
    parts = [Part("reads", flops=100, weight_bytes=50_000), Part("computes", flops=10**6, weight_bytes=100)]
    predicted = predict(parts, FLAT, "float32", rows=1)
    assert [part.bound for part in predicted.parts] == ["memory", "compute"]
    assert [part.seconds for part in predicted.parts] == pytest.approx([1e-6, 1e-5])
    assert predicted.seconds == pytest.approx(1.1e-5)
    assert predicted.bound == "compute"
    slower = predict(parts, FLAT, "float32", rows=1, rates={"computes": 50e9}, overhead_s=1e-6)
    assert slower.seconds == pytest.approx(2.2e-5)


def test_activations_are_read_from_as_near_as_their_size_allows() -> None:
    near = predict([Part("a", input_bytes=1 << 20)], MACHINE, "float32", rows=1, bandwidth=50e9)
    far = predict([Part("a", weight_bytes=1 << 20)], MACHINE, "float32", rows=1, bandwidth=50e9)
    assert 4 * near.seconds == pytest.approx(far.seconds)


def test_without_attention_the_verify_cost_is_the_theory_s() -> None:
    """Large matrices, no context: v(m) = max(1, B m / B0) / max(1, B / B0), as in docs/theory-extensions.md."""
    shape = dataclasses.replace(get_shape("7b"), vocab_size=2, n_layer=1)
    ridge = ridge_tokens(100e9, 50e9, 2)
    storage = Storage("float16")
    for batch in (1, 2, 8):
        expected = roofline_verify_cost(batch, ridge)
        one = predict_forward(shape, FLAT, 1, 0, batch=batch, storage=storage).seconds
        for rows in (1, 2, 5, 9):
            here = predict_forward(shape, FLAT, rows, 0, batch=batch, storage=storage).seconds
            assert here / one == pytest.approx(expected(rows), rel=0.02)


@given(st.integers(1, 8), st.integers(0, 50))
def test_more_rows_never_take_less_time(rows: int, context: int) -> None:
    shape = get_shape("gpt2")
    here = predict_forward(shape, MACHINE, rows, context)
    assert here.seconds <= predict_forward(shape, MACHINE, rows + 1, context).seconds
    assert here.seconds >= here.footprint_bytes / here.bandwidth_bytes_per_s * 0.999
    assert here.seconds >= here.whole.flops / here.peak_flops_per_s * 0.999


# What if


def test_a_70b_on_one_a100() -> None:
    """138 GB of weights do not fit 80 GB; if they did, reading them would allow 15 tokens per second."""
    (one,) = over_batches(
        get_shape("70b"),
        get_profile("a100"),
        [1],
        context=0,
        storage=Storage("float16"),
        kv_bytes=2,
        gamma=4,
        alpha=0.7,
    )
    assert one.fits is False
    assert one.weights_bytes / 1e9 == pytest.approx(138, abs=1)
    assert one.tokens_per_s == pytest.approx(2039e9 / (one.weights_bytes - 2 * 32000 * 8192), rel=0.01)
    assert one.speedup is None
    (small,) = over_batches(
        get_shape("70b"), get_profile("a100"), [1], context=0, storage=Storage("int8"), kv_bytes=2, gamma=4, alpha=0.7
    )
    assert small.fits is True


def test_speculation_pays_less_and_less_with_the_batch() -> None:
    points = over_batches(
        get_shape("7b"),
        get_profile("h100"),
        [1, 16, 64, 256],
        context=100,
        storage=Storage("float16"),
        kv_bytes=2,
        gamma=4,
        alpha=0.7,
        draft=get_shape("1b"),
    )
    speedups = [point.speedup for point in points]
    assert speedups == sorted(speedups, reverse=True)
    assert speedups[0] > 1.5
    assert speedups[-1] < 1.0
    assert (points[0].bound, points[-1].bound) == ("memory", "compute")
    assert [point.cache_bytes for point in points] == [point.batch * points[0].cache_bytes for point in points]


# Measured forwards, on a clock that is told what each takes


def test_measured_forwards_are_related_to_their_own_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that is twice as slow in every other round: ratios do not notice, medians of seconds do."""
    model = random_gpt2("numpy")
    from minispec.lab.roofline import forwards

    speeds = {PROBE: 1e-3, "rows 1": 2e-3, "rows 3": 3e-3}

    def figures(contenders, repeats):
        assert repeats == 4
        return {
            name: [1e-11] * 4
            if name.split()[0] in set(KINDS.values())
            else [speeds.get(name, 0.0) * factor for factor in (1, 2, 1, 2)]
            for name in contenders
        }

    monkeypatch.setattr(forwards, "interleave", figures)
    one, three = measure_forwards(model, MACHINE, (1, 3), 8, 4, probe=lambda size: lambda: 1.0)
    assert one.verify_cost == 1.0
    assert three.verify_cost == pytest.approx(1.5)
    assert three.spread == (3e-3, 6e-3)
    assert one.floor_ratio == pytest.approx(2.0, rel=0.05)  # twice the probe's time, whichever the round
    assert three.floor_ratio / one.floor_ratio == pytest.approx(1.5, rel=0.05)


def test_timers_leave_the_cache_as_it_was_and_skip_the_first_forward() -> None:
    model = random_gpt2("numpy")
    ticks = itertools.count()
    timers = forward_timers(model, [1, 4], 5, clock=lambda: float(next(ticks)) ** 2)
    # Forward i reads the clock at 2i and 2i + 1: it takes 4i + 1. The median of forwards 1 to 3 is 9.
    assert timers[4]() == 9.0
    with pytest.raises(OptionError, match="64"):
        forward_timers(model, [1, 9], 60)
    with pytest.raises(OptionError, match="1 must be among"):
        measure_forwards(model, MACHINE, (2, 3), 5, 1)


def test_an_empty_model_makes_as_many_calls() -> None:
    model = random_gpt2("numpy")
    empty = empty_model(model)
    assert empty.config.n_layer == model.config.n_layer
    assert empty.num_parameters < model.num_parameters / 10
    assert np.isfinite(empty.logits([1, 2])).all()


class Slow(NumpyBackend):
    """Takes a microsecond per call, and a nanosecond per byte of the matrix, the norm, or the keys that are seen."""

    def __init__(self) -> None:
        self.now, self.seen = 0.0, set[int]()

    def linear(self, x, matrix, *, norm=None, activation=None, residual=None):
        self.seen.add(id(matrix))
        self.now += 1e-6 + 1e-9 * (matrix.weight.nbytes + (0 if norm is None else norm.weight.nbytes))
        self.now += 0 if activation is None else 1e-9 * matrix.num_outputs
        return x

    def attention(self, queries, keys, values, pages, ends, visible, scale):
        self.now += 1e-6 + 1e-9 * int(ends.sum()) * keys[0, 0].nbytes
        return queries


@pytest.mark.parametrize("footprint", [1 << 20, 1 << 23])
def test_kernels_are_timed_on_operands_taken_in_turn(footprint: int) -> None:
    backend = Slow()
    model = random_gpt2(backend, n_embd=32, n_head=2)
    timers = kernel_timers(model, (1, 3), 40, footprint, clock=lambda: backend.now)
    weights, one = 4 * MATRIX[0] * MATRIX[1], 4  # bytes of a matrix, and of the one that stands for the call alone
    backend.seen.clear()
    assert timers["matrix", 3]() == pytest.approx(1e-9 * (weights - one) / (2 * 3 * MATRIX[0] * MATRIX[1]))
    assert len(backend.seen) == max(1, footprint // weights) + 1
    assert timers["norm", 1]() == pytest.approx(1e-9 * 4 * MATRIX[0] / (NORM_OPERATIONS * MATRIX[0]))
    assert timers["activation", 1]() == pytest.approx(1e-9 / ACTIVATION_OPERATIONS["gelu_new"])
    scores = 2 * (40 + 41 + 42)  # heads and slots, less the one slot each that stands for the call
    assert timers["attention", 3]() == pytest.approx(1e-9 * 4 * 16 * scores / (scores * (4 * 16 + SCORE_OPERATIONS)))


def test_rates_by_part_are_capped() -> None:
    rates = part_rates({"matrix": 1e-11, "norm": -1e-9, "activation": 1e-9, "attention": 1e-10}, peak=100e9)
    assert rates["lm_head"] == pytest.approx(100e9)
    assert rates["ln_1"] == pytest.approx(200e9)  # a difference of two times that came out negative
    assert rates["attn.values"] == pytest.approx(10e9)


@pytest.mark.skipif("panel" not in BACKENDS, reason="no such backend here")
@pytest.mark.parametrize(("threads", "rows", "regions"), [(1, 1, 0), (2, 1, 1), (2, 40, 16)])
def test_parallel_regions_are_counted(threads: int, rows: int, regions: int, monkeypatch) -> None:
    # One row of the largest matrix of a layer is 64 x 256 multiply-adds, of the head 64 x 1000: only that is shared.
    # Of 40 rows the smallest is 64 x 64 x 40, and attention over 5 to 44 slots 2 x 64 x 980: five per layer.
    model = random_gpt2("panel", n_embd=64, n_layer=3, vocab_size=1000, n_positions=128)
    monkeypatch.setattr(type(model.backend), "_num_threads", lambda self, rows: threads)
    assert count_regions(model, rows, 4) == regions


class HasADoor(NumpyBackend):
    """All layers in one call, behind a ``run`` of its own, as with a backend whose memory is elsewhere."""

    inside = False

    def fuses(self, blocks):
        return True

    def layers(self, *args):
        assert self.inside
        return layers(self, *args)

    def attention(self, *args):
        assert self.inside
        return super().attention(*args)

    def run(self, compute, cache, feed):
        self.inside = True
        logits = compute(cache, feed)
        self.inside = False
        return logits


class Inner(TimingBackend):
    """A watched backend whose layers are the inner one's."""

    def fuses(self, blocks):
        return self.inner.fuses(blocks)

    def layers(self, *args):
        return self.inner.layers(*args)


@pytest.mark.parametrize("watch", [Inner, TimingBackend])
def test_a_watched_forward_sees_the_context_and_gives_the_same_logits(watch) -> None:
    model = random_gpt2(HasADoor())
    watched = dataclasses.replace(model, backend=watch(model.backend, part_names(model.weights)))
    sessions = [model.session(), watched.session()]
    for session in sessions:
        session.prefill([1, 2, 3, 4])
        assert session.cache.length == 4
    one, other = (session.score([5]) for session in sessions)
    assert one.tobytes() == other.tobytes()


def test_a_backend_that_does_not_tell_has_no_count() -> None:
    assert count_regions(random_gpt2("numpy"), 1, 4) is None


# Memory


def array_bytes(thing: Any) -> int:
    """The bytes of all arrays in a tree of dataclasses and tuples, an array that occurs twice counted once."""
    return sum(array.nbytes for array in {id(array): array for array in _arrays(thing)}.values())


def _arrays(thing: Any) -> Iterator[np.ndarray[Any, Any]]:
    if isinstance(thing, np.ndarray):
        yield thing
    elif isinstance(thing, tuple):
        for item in thing:
            yield from _arrays(item)
    elif dataclasses.is_dataclass(thing):
        for field in dataclasses.fields(thing):
            yield from _arrays(getattr(thing, field.name))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("tied", [True, False])
def test_memory_is_that_of_the_arrays(backend: str, dtype: str, tied: bool) -> None:
    model = random_model(random_gpt2("numpy", tie_word_embeddings=tied).config, get_backend(backend), dtype)
    shape, storage = Shape.from_config(model.config, "tiny"), storage_of(model.backend, dtype)
    assert weights_bytes(shape, storage) == array_bytes(model.weights)
    cache = model.new_cache(capacity=10)
    assert cache_bytes(shape, 10, batch=2) == 2 * (cache.keys.nbytes + cache.values.nbytes)
    assert token_bytes(shape) == (cache.keys.nbytes + cache.values.nbytes) // 10


def test_a_forgotten_array_is_noticed() -> None:
    model = random_gpt2("numpy")
    shape = Shape.from_config(model.config, "tiny")
    storage = storage_of(model.backend)
    for wrong in (dataclasses.replace(storage, always_biased=False), dataclasses.replace(storage, panel=64)):
        assert weights_bytes(shape, wrong) != array_bytes(model.weights)
    assert weights_bytes(dataclasses.replace(shape, tied=False), storage) != array_bytes(model.weights)


def test_a_pair_is_the_sum_of_its_parts() -> None:
    target, draft = get_shape("gpt2"), get_shape("gpt2-medium")
    pair = pair_memory(target, draft, Storage("float16"), Storage("int8"))
    assert pair.resident_bytes(0) == weights_bytes(target, Storage("float16")) + weights_bytes(draft, Storage("int8"))
    assert pair.target_cache_bytes + pair.draft_cache_bytes == cache_bytes(target, 1024) + cache_bytes(draft, 1024)
    assert pair.resident_bytes(1024) - pair.resident_bytes(0) == pair.target_cache_bytes + pair.draft_cache_bytes
    assert count_forward(target, 1, 1023)[4].cache_bytes * 2 == cache_bytes(
        target, 1024
    )  # what a full cache's step reads
