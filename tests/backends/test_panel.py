"""The panel backend equals its oracle, the plain rung, format by format, and its parts do what they say."""

from __future__ import annotations

import os

import llvmlite.binding
import numpy as np
import pytest

from minispec.backends import DTYPES, Norm, get_backend
from minispec.backends.formats import ITEM_BYTES
from minispec.backends.isa import AVX2, AVX512, NEON, choose_isa
from tests.models import random_gpt2

pytestmark = pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="without a compiler numba stands in")
PANEL, NUMBA = get_backend("panel"), get_backend("numba")


def normal(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("num_inputs", "num_outputs"), [(1, 1), (5, 31), (70, 33), (64, 64), (131, 300)])
def test_linear_equals_the_plain_rung(dtype, num_inputs, num_outputs):
    """Both multiply the same decoded values: only the rounding of sums differs, some 1e-6, and none of the format's."""
    weight = normal(0, num_inputs, num_outputs) / np.float32(num_inputs**0.5)
    bias, norm = normal(1, num_outputs), Norm(normal(2, num_inputs), normal(3, num_inputs), 1e-5)
    for rows in (0, 1, 2, 7, 12, 13, 30):
        x, residual = normal(4, rows, num_inputs), normal(5, rows, num_outputs)
        found, expected = (
            b.linear(x, b.pack(weight, bias, dtype), norm=norm, activation="gelu_new", residual=residual)
            for b in (PANEL, NUMBA)
        )
        np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("dtype", DTYPES)
def test_packing_keeps_the_format_and_gives_the_values_back(dtype):
    weight = normal(0, 70, 100)
    packed, plain = PANEL.pack(weight, None, dtype), NUMBA.pack(weight, None, dtype)
    assert packed.weight.dtype.itemsize == ITEM_BYTES[dtype]
    np.testing.assert_array_equal(PANEL.unpack(packed), NUMBA.unpack(plain))
    indices = np.array([99, 0, 31, 32, 31])
    np.testing.assert_array_equal(PANEL.columns(packed, indices), PANEL.unpack(packed)[:, indices].T)


@pytest.mark.parametrize("dtype", DTYPES)
def test_logits_equal_the_reference_of_the_same_format(dtype):
    logits = [random_gpt2(name, dtype=dtype).logits(range(40)) for name in ("panel", "numba", "numpy")]
    for other in logits[1:]:
        np.testing.assert_allclose(logits[0], other, rtol=1e-4, atol=1e-4)
    if dtype != "float32":  # the control: another format's values are farther off than that
        assert np.abs(logits[0] - random_gpt2("numpy").logits(range(40))).max() > 1e-3


def test_exp_is_accurate_and_keeps_the_ends():
    from minispec.backends._panel import exp

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
    for rows in range(1, isa.max_rows + 1):
        assert isa.panels_at_once(rows) * isa.vectors * (rows + 1) + 1 <= isa.registers


def test_an_unknown_cpu_gets_the_plain_rung_and_is_told(monkeypatch, caplog):
    monkeypatch.setattr("minispec.backends.isa.host_isa", lambda: None)
    assert get_backend("panel").name == "numba"
    assert "numba computes instead" in caplog.text


def test_this_machine_has_what_it_says():
    architecture = llvmlite.binding.get_process_triple().split("-")[0]
    assert get_backend("panel").isa is choose_isa(llvmlite.binding.get_host_cpu_features(), architecture)
