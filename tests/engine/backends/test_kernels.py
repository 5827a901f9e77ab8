"""Each Numba kernel equals its NumPy reference body, on any shape, up to rounding."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minispec.engine.backends import Norm, _kernels, get_backend
from minispec.engine.model import config

NUMBA, NUMPY = get_backend("numba"), get_backend("numpy")
ACTIVATIONS = sorted(set(config.ACTIVATIONS.values()))

# float32 has a relative precision of 6e-8 and a sum of K terms of size 1 may lose sqrt(K) of it, K at most 70 here; the
# two bodies also use different exp and tanh, good to some 1e-7. 1e-5 is ten times that; a dropped term is some 1e-1.
CLOSE = {"rtol": 1e-5, "atol": 1e-5}

small = settings(max_examples=40 if os.environ.get("NUMBA_DISABLE_JIT") != "1" else 4)
seeds = st.integers(0, 2**32 - 1)
rows = st.integers(0, 35)  # 0, within a row block of 16, across one and two


def normal(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


@small
@given(seeds, rows, st.integers(1, 70), st.integers(1, 140), st.booleans(), st.booleans())
def test_linear(seed, num_rows, num_inputs, num_outputs, has_bias, has_residual):
    x = normal(seed, num_rows, num_inputs)
    weight = normal(seed + 1, num_inputs, num_outputs) / np.float32(num_inputs**0.5)
    bias = normal(seed + 2, num_outputs) if has_bias else None
    residual = normal(seed + 3, num_rows, num_outputs) if has_residual else None
    found, expected = (b.linear(x, b.pack(weight, bias), residual=residual) for b in (NUMBA, NUMPY))
    assert found.dtype == expected.dtype == np.float32
    np.testing.assert_allclose(found, expected, **CLOSE)


@pytest.mark.parametrize("num_inputs", [4, 5, 6, 7])  # the loop takes inputs by fours, then one by one
@pytest.mark.parametrize("num_outputs", [63, 64, 65])  # panels of 64
def test_linear_counts_every_input_and_output_once(num_inputs, num_outputs):
    """Powers of two add exactly in float32, so each input must show up once and nowhere else."""
    x = np.float32(2.0) ** np.arange(num_inputs, dtype=np.float32)[None]
    for k in range(num_inputs):
        weight = np.zeros((num_inputs, num_outputs), np.float32)
        weight[k] = np.arange(1, num_outputs + 1)
        found = NUMBA.linear(x, NUMBA.pack(weight, None))
        assert found.tolist() == [(2.0**k * np.arange(1, num_outputs + 1)).tolist()]


@small
@given(seeds, rows, st.integers(1, 70), st.sampled_from([1e-5, 1e-3, 0.5]), st.floats(1e-3, 100), st.floats(-5, 5))
def test_layer_norm(seed, num_rows, width, epsilon, spread, centre):
    x = normal(seed, num_rows, width) * np.float32(spread) + np.float32(centre)
    weight, bias = normal(seed + 1, width), normal(seed + 2, width)
    found, expected = (b.layer_norm(x, Norm(weight, bias, epsilon)) for b in (NUMBA, NUMPY))
    # a mean far from 0 costs digits of x - mean: as many as it exceeds the spread by, and so may 1/sqrt(variance)
    lost = 1.0 + abs(centre) / np.sqrt(spread**2 + epsilon)
    np.testing.assert_allclose(found, expected, rtol=1e-5 * lost, atol=1e-5 * lost)


@small
@given(seeds, rows, st.integers(1, 140), st.sampled_from(ACTIVATIONS), st.sampled_from([0.1, 1, 4]))
def test_activation(seed, num_rows, width, name, spread):
    x = np.clip(normal(seed, num_rows, width) * np.float32(spread), -20, 20)
    with np.errstate(over="ignore"):  # exp may be infinite in float32, and 1 / (1 + exp) is then 0, as it should
        found, expected = (b.activation(x, name) for b in (NUMBA, NUMPY))
    assert found.dtype == expected.dtype == np.float32
    np.testing.assert_allclose(found, expected, **CLOSE)


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="Python's exp raises where float32 is infinite")
@pytest.mark.parametrize("name", ["gelu_new", "gelu", "relu", "silu"])
def test_activation_at_the_ends(name):
    """Large inputs stay themselves, large negative ones become 0, and 0 stays 0; nothing overflows to NaN."""
    x = np.array([[0.0, 50.0, 1e4, 1e30, -50.0, -1e4, -1e30]], np.float32)
    found = NUMBA.activation(x, name)
    np.testing.assert_array_equal(found, np.maximum(x, 0))


@st.composite
def attentions(draw):
    """Inputs of ``attention``: T tokens, each with M of B pages of S slots; a mask, if any, shows each at least one."""
    generator = np.random.default_rng(draw(seeds))
    T, M, S = draw(st.integers(0, 9)), draw(st.integers(1, 4)), draw(st.integers(1, 20))
    B = M + draw(st.integers(0, 3))
    H, D = draw(st.integers(1, 4)), draw(st.integers(1, 20))
    pages = np.array([generator.permutation(B)[:M] for _ in range(T)], np.int64).reshape(T, M)
    ends = generator.integers(1, M * S + 1, T)
    visible = None
    if draw(st.booleans()):
        visible = generator.random((T, M * S)) < 0.5
        visible[np.arange(T), ends - 1] = True
    kept = draw(st.sampled_from([np.float32, np.float16]))
    queries = generator.normal(size=(T, H, D)).astype(np.float32)
    keys, values = generator.normal(size=(2, B, S, H, D)).astype(kept)
    return queries, keys, values, pages, ends, visible, draw(st.sampled_from([1.0, D**-0.5]))


@small
@given(attentions())
def test_attention(inputs):
    found, expected = (b.attention(*inputs) for b in (NUMBA, NUMPY))
    assert found.shape == expected.shape == inputs[0].shape
    np.testing.assert_allclose(found, expected, **CLOSE)


@small
@given(attentions())
def test_attention_never_reads_what_it_must_not_see(inputs):
    """Slots past ``ends``, other rows' slots and masked slots may hold anything, even NaN: the bits do not change."""
    queries, keys, values, pages, ends, visible, scale = inputs
    clean = NUMBA.attention(*inputs)
    for t in range(len(queries)):
        shown = np.arange(pages.shape[1] * keys.shape[1]) < ends[t]
        seen = np.zeros(keys.shape[:2], bool)
        seen[pages[t]] = (shown if visible is None else shown & visible[t]).reshape(-1, keys.shape[1])
        dirty_keys, dirty_values = keys.copy(), values.copy()
        dirty_keys[~seen], dirty_values[~seen] = np.nan, np.nan
        one = slice(t, t + 1)
        mask = None if visible is None else visible[one]
        found = NUMBA.attention(queries[one], dirty_keys, dirty_values, pages[one], ends[one], mask, scale)
        assert found.tobytes() == clean[one].tobytes()


def test_every_half_is_read_as_what_it_is():
    """Subnormal ones, both zeros and what is no number too; no infinity is ever kept."""
    bits = np.arange(1 << 16, dtype=np.uint16)
    values = bits.view(np.float16).astype(np.float32)
    read = np.array([_kernels._widen(number) for number in bits.view(np.int16)])
    kept = ~np.isinf(values)
    assert np.isnan(read).tolist() == (np.isnan(values) | ~kept).tolist()
    numbers = kept & ~np.isnan(values)
    assert read[numbers].astype(np.float32).tobytes() == values[numbers].tobytes()


def test_attention_with_equal_scores_is_the_mean():
    """A case one can compute by hand, so that both bodies cannot be wrong alike."""
    values = np.array([1.0, 2.0, 6.0, 99.0], np.float32).reshape(1, 4, 1, 1)
    keys, queries = np.zeros_like(values), np.ones((1, 1, 1), np.float32)
    pages, end = np.array([[0]]), np.array([3])
    mask = np.array([[True, False, True, True]])
    for backend in (NUMBA, NUMPY):
        assert backend.attention(queries, keys, values, pages, end, None, 1.0).item() == pytest.approx(3.0, rel=1e-6)
        assert backend.attention(queries, keys, values, pages, end, mask, 1.0).item() == pytest.approx(3.5, rel=1e-6)


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="this is that run")
def test_the_kernels_as_plain_python():
    """Every test of this file again with the compiler off: the source says what the machine code does."""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", __file__]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, run.stdout[-3000:]
    assert "passed" in run.stdout
