"""Dot-product formats: the arithmetic of the instructions, emulated in NumPy bit by bit, and where they are offered."""

from __future__ import annotations

import os

import numpy as np
import pytest

from minispec.backends import DOT_DTYPES, Norm, get_backend
from minispec.backends.formats import encode, round_weights
from minispec.backends.panel.isa import dot_dtypes
from minispec.errors import OptionError
from minispec.loading import load_model
from tests.backends.test_batch_invariance import check_logits, normal, row_dependent_operations
from tests.cli.conftest import Run, run_here  # noqa: F401  # a fixture
from tests.models import random_gpt2

pytestmark = pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="there is no compiler")
PANEL = get_backend("panel")
AVX512 = {"avx512f": True, "avx512bw": True}


@pytest.fixture(params=DOT_DTYPES)
def dtype(request):
    if request.param not in PANEL.dtypes:
        pytest.skip(f"this CPU has no instruction for {request.param}")
    return request.param


def bfloat16_dot(x, weight, second_first=True):
    """Return the sums of ``vdpbf16ps``: per pair the second product, then the first, each added with one rounding.

    A product of two bfloat16 is exact in float64; so is its sum with a float32, but for far apart magnitudes.
    """
    x, weight = (round_weights(a, "bfloat16").astype(np.float64) for a in (x, weight))
    x, weight = np.pad(x, ((0, 0), (0, x.shape[1] % 2))), np.pad(weight, ((0, x.shape[1] % 2), (0, 0)))
    sums = np.zeros((len(x), weight.shape[1]), np.float32)
    for pair in range(0, x.shape[1], 2):
        for k in (pair + 1, pair) if second_first else (pair, pair + 1):
            sums = (sums + x[:, k, None] * weight[k]).astype(np.float32)
    return sums


def int8_dot(x, weight, rounded=np.rint):
    """Return the sums of ``vpdpbusd``, exact, times both scales."""
    largest = np.abs(x).max(axis=1, keepdims=True)
    inverse = np.divide(np.float32(127.0), largest, out=np.zeros_like(largest), where=largest > 0)
    numbers, scale = encode(weight, "int8")
    sums = rounded(x * inverse).astype(np.int64) @ numbers.astype(np.int64)
    return sums.astype(np.float32) * (largest / np.float32(127.0)) * scale


EMULATED = {"bfloat16-dot": bfloat16_dot, "int8-dot": int8_dot}


@pytest.mark.parametrize(("num_inputs", "num_outputs"), [(1, 1), (5, 31), (70, 33), (64, 64), (131, 300), (1408, 40)])
def test_sums_have_the_bits_of_the_emulation(dtype, num_inputs, num_outputs):
    weight, bias = normal(0, num_inputs, num_outputs), normal(1, num_outputs)
    matrix = PANEL.pack(weight, bias, dtype)
    for rows in (0, 1, 2, 7, 12, 13, 30):
        x = normal(2, rows, num_inputs)
        np.testing.assert_array_equal(PANEL.linear(x, matrix), EMULATED[dtype](x, weight) + bias)


def test_everything_fused_equals_the_parts(dtype):
    weight, bias, x, residual = normal(0, 96, 200), normal(1, 200), normal(2, 7, 96), normal(3, 7, 200)
    norm = Norm(normal(4, 96), normal(5, 96), 1e-5)
    found = PANEL.linear(x, PANEL.pack(weight, bias, dtype), norm=norm, activation="gelu_new", residual=residual)
    sums = EMULATED[dtype](PANEL.layer_norm(x, norm), weight) + bias
    np.testing.assert_array_equal(found, PANEL.activation(sums, "gelu_new") + residual)


def test_the_emulation_tells_another_order_and_another_rounding_apart():
    x, weight = normal(0, 4, 256), normal(1, 256, 64)
    assert (bfloat16_dot(x, weight, second_first=False) != bfloat16_dot(x, weight)).any()
    assert (int8_dot(x, weight, rounded=np.trunc) != int8_dot(x, weight)).any()


def test_extremes(dtype):
    """Largest magnitudes, of both signs, over many inputs; rows of zeros; one sick row among healthy ones."""
    signs = np.where(np.arange(6000) % 3, np.float32(1.0), np.float32(-1.0))
    for weight in (signs[:, None] * np.ones((1, 33), np.float32), np.ones((6000, 33), np.float32)):
        x = np.stack([signs, -signs, np.ones(6000, np.float32), np.zeros(6000, np.float32)])
        matrix = PANEL.pack(weight, None, dtype)
        np.testing.assert_allclose(PANEL.linear(x, matrix), x @ weight, rtol=1e-6)
        sick = np.concatenate([x, np.full((1, 6000), np.nan, np.float32)])
        found = PANEL.linear(sick, matrix)
        np.testing.assert_array_equal(found[:4], PANEL.linear(x, matrix))
        assert np.isnan(found[4]).all()


def test_packing_keeps_the_values_of_the_plain_format(dtype):
    for num_inputs in (1, 70, 128):
        weight = normal(0, num_inputs, 100)
        packed, plain = PANEL.pack(weight, None, dtype), PANEL.pack(weight, None, dtype.removesuffix("-dot"))
        np.testing.assert_array_equal(PANEL.unpack(packed), PANEL.unpack(plain))
        indices = np.array([99, 0, 31, 32, 31])
        np.testing.assert_array_equal(PANEL.columns(packed, indices), PANEL.unpack(plain)[:, indices].T)


def test_rows_together_have_the_bits_of_rows_alone(dtype):
    for num_rows in (*range(1, 21), 33, 64):
        assert row_dependent_operations(PANEL, num_rows, dtype=dtype) == [], num_rows


def test_a_command_can_warm_up_and_run(dtype: str, run_here: Run) -> None:  # noqa: F811
    """`generate` warms its kernels up before it loads weights; other commands do the same."""
    done = run_here(
        "generate", "Once", "--backend", "panel", "--dtype", dtype, "--max-tokens", "3", "--temperature", "0"
    )
    assert done.returncode == 0, done.stderr
    assert "bit-exact" in done.stderr


def test_logits_do_not_depend_on_the_chunks(dtype):
    check_logits(random_gpt2("panel", n_positions=200, n_embd=128, n_head=4, vocab_size=1000, dtype=dtype), (5, 16, 64))


def test_one_scale_for_all_rows_would_be_found(dtype):
    """The control: inputs rounded to a grid that the largest number of the whole batch decides."""

    class SharedScale(type(PANEL)):
        def linear(self, x, matrix, **options):
            step = np.abs(x).max() / np.float32(1024.0)
            return super().linear(np.rint(x / step) * step, matrix, **options)

    found = row_dependent_operations(SharedScale(PANEL.isa, DOT_DTYPES), 8, dtype=dtype)
    assert found == ["linear", "linear + residual", "linear + all"]


def test_logits_are_near_the_plain_format_and_no_farther(dtype):
    tokens = range(40)
    plain, dot = (random_gpt2("panel", dtype=d).logits(tokens) for d in (dtype.removesuffix("-dot"), dtype))
    spread = np.abs(plain).max()
    assert 0.0 < np.abs(dot - plain).max() < (0.1 if dtype == "int8-dot" else 0.02) * spread


@pytest.mark.parametrize(
    ("features", "architecture", "expected"),
    [
        ({**AVX512, "avx512bf16": True, "avx512vnni": True}, "x86_64", DOT_DTYPES),
        ({**AVX512, "avx512vnni": True}, "x86_64", ("int8-dot",)),
        (AVX512, "x86_64", ()),
        ({"avx512vnni": True, "avx2": True, "fma": True, "f16c": True}, "x86_64", ()),
        ({}, "aarch64", ()),
    ],
)
def test_formats_are_offered_where_the_instruction_is(features, architecture, expected):
    assert dot_dtypes(features, architecture) == expected


@pytest.mark.parametrize("dtype", DOT_DTYPES)
def test_elsewhere_they_are_refused_in_one_line(dtype, monkeypatch):
    monkeypatch.setattr("minispec.backends.panel.isa.list_host_dot_dtypes", lambda: ())
    for backend in ("panel", "numba", "numpy"):
        with pytest.raises(OptionError, match=f"{dtype} needs a CPU with avx512.* Try --dtype float32") as refused:
            load_model("any", backend, dtype)
        assert "\n" not in str(refused.value)
