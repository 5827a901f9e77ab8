"""What must be compiled is compiled before the clock starts, once, and says so when it takes a while."""

from __future__ import annotations

import dataclasses
import multiprocessing
import time

import pytest

import minispec
from minispec.engine.backends.base import NumpyBackend
from minispec.engine.generation import ready
from tests.models import random_gpt2


class Compiling(NumpyBackend):
    """A backend whose kernels take their time to be ready."""

    def __init__(self, wait) -> None:
        self.wait, self.warmed = wait, []

    def warm_up(self, dtype: str = "float32", kv_dtype: str = "float32") -> None:
        self.warmed.append((dtype, kv_dtype))
        self.wait()


def test_compiling_counts_in_no_figure() -> None:
    now = [0.0]

    def compile_for_a_minute() -> None:
        now[0] += 60.0

    backend = Compiling(compile_for_a_minute)
    target, draft = (random_gpt2(backend, seed, n_positions=32, n_embd=8, n_layer=1) for seed in (1, 2))
    options = {"target": target, "draft": draft, "max_tokens": 8, "clock": lambda: now[0]}
    made = minispec.generate([1, 2, 3], **options)
    assert now[0] == 60.0
    assert (made.metrics.ttft_s, made.metrics.prefill_s, made.metrics.decode_s) == (0.0, 0.0, 0.0)
    minispec.generate([1, 2, 3], **options)
    assert backend.warmed == [("float32", "float32")]
    halves = {name: dataclasses.replace(options[name], kv_dtype="float16") for name in ("target", "draft")}
    minispec.generate([1, 2, 3], **options | halves)
    assert backend.warmed[1:] == [("float32", "float16")]


def test_a_line_says_so_when_something_compiles_for_longer_than_a_second(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not where kernels only load slowly, nor from a worker, whose output is another's."""
    from numba import njit

    ready.warm_up_sampling()  # which would take longer where nothing is compiled yet

    def compile_slowly() -> None:
        njit(lambda x: x + 1)(1)
        time.sleep(1.2)

    line = "minispec: compiling kernels (only the first run takes seconds)\n"
    for wait, process, told in (
        (lambda: time.sleep(1.2), "MainProcess", ""),
        (compile_slowly, "MainProcess", line),
        (compile_slowly, "LokyProcess-1", ""),
    ):
        monkeypatch.setattr(multiprocessing.current_process(), "_name", process)
        ready.make_ready([random_gpt2(Compiling(wait), n_embd=8, n_layer=1)])
        assert capfd.readouterr().err == told
