"""The compiled loops against the processors in NumPy, and the claim that their bits are the same on every machine."""

from __future__ import annotations

import math
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispec.engine.sampling import SamplingParams, _kernels, distribution, processors

ULPS = 2.0


def rows(count, size, spread):
    """Rows of a vocabulary's size, from nearly flat to peaked."""
    return np.random.default_rng(size).normal(0.0, spread, (count, size)).astype(np.float32)


@given(st.lists(st.floats(-760.0, 0.0) | st.floats(-1e-6, 0.0) | st.just(-np.inf), min_size=1, max_size=20))
def test_the_exponential_is_within_two_units_in_the_last_place(values):
    found = np.array(values)
    _kernels.exponential(found)
    for value, result in zip(values, found, strict=True):
        wanted = math.exp(value)
        assert abs(result - wanted) <= ULPS * math.ulp(wanted)


def test_the_exponential_of_the_ends():
    found = np.array([0.0, -0.0, -745.2, -1e300, -np.inf, -745.1, -708.5])
    _kernels.exponential(found)
    assert found[:5].tolist() == [1.0, 1.0, 0.0, 0.0, 0.0]
    assert found[5] == 5e-324, "the smallest number there is"
    assert found[6] == math.exp(-708.5), "a subnormal result, rounded once"


KINDS = [
    SamplingParams(1.0, 0, 0.95, 0.0),
    SamplingParams(0.8, 0, 0.95, 0.0),
    SamplingParams(1.0, 0, 1.0, 0.0),
    SamplingParams(1.0, 50, 1.0, 0.0),
    SamplingParams(1.3, 200, 0.9, 0.0),
    SamplingParams(1.0, 0, 0.999999, 0.0),
    SamplingParams(1.0, 0, 1e-9, 0.0),
    SamplingParams(1.0, 0, 1.0, 0.07),
    SamplingParams(0.7, 1000, 0.8, 0.001),
]


@pytest.mark.parametrize("spread", [0.0, 0.01, 0.5, 1.0, 2.0, 4.0, 20.0])
@pytest.mark.parametrize("size", [100, 8192])
def test_large_rows_are_those_of_the_oracle(size, spread):
    """The same tokens stay (no cumulated mass here comes within 1e-12 of p), and their values agree to roundings."""
    logits = rows(3, size, spread)
    logits[1] = np.round(logits[1])  # thousands of ties
    for kind in KINDS:
        found, wanted = distribution(logits, kind), processors.distribution(logits, kind)
        assert np.array_equal(found > 0.0, wanted > 0.0), kind
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=0.0)


@pytest.mark.parametrize("impossible", [-np.inf, -1e30, -800.0])
@pytest.mark.parametrize("share", [0.3, 0.499, 0.501, 0.9, 1.0])
def test_tokens_that_are_left_out_are_as_if_they_were_not_there(share, impossible):
    """On both sides of the half from which the rest is gathered first; ``share`` 1 leaves one token."""
    logits, rng = rows(4, 1000, 2.0).astype(np.float32), np.random.default_rng(1)
    logits[1] = np.round(logits[1])
    for row in logits:
        row[rng.permutation(1000)[: min(999, round(1000 * share))]] = impossible
    for kind in KINDS:
        found, wanted = distribution(logits, kind), processors.distribution(logits, kind)
        assert np.array_equal(found > 0.0, wanted > 0.0), kind
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=0.0)


@pytest.mark.parametrize("temperature", [1e-300, 1e-17, 1e-5, 0.01])
def test_a_low_temperature_leaves_few_tokens(temperature):
    logits = rows(3, 1000, 4.0)
    logits[1, ::7] = logits[1].max()  # ties for the largest
    kind = SamplingParams(temperature, 0, 1.0, 0.0)
    found, wanted = distribution(logits, kind), processors.distribution(logits, kind)
    assert np.array_equal(found > 0.0, wanted > 0.0)
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=0.0)


@given(st.integers(0, 2**32), st.floats(0.01, 0.99), st.integers(0, 30))
def test_ties_at_the_cut_go_to_the_lower_id(seed, p, k):
    """Few distinct values, so that the cut falls among equals; weights of a power of two make every sum exact."""
    rng = np.random.default_rng(seed)
    logits = rng.integers(0, 3, (1, 64)).astype(np.float32)
    kept = np.flatnonzero(distribution(logits, SamplingParams(1.0, k, p, 0.0))[0])
    least = logits[0, kept].min()
    assert set(np.flatnonzero(logits[0] > least)) <= set(kept)
    tied = np.flatnonzero(logits[0] == least)
    assert np.isin(tied, kept).tolist() == sorted(np.isin(tied, kept).tolist(), reverse=True)


def test_a_cut_among_ties_worked_by_hand():
    weights = np.array([1.0, 0.5, 0.5, 0.5])
    assert _kernels._find_cut(weights, 0.0, 2.0, True) == (0.5, 1)
    assert _kernels._find_cut(weights, 0.0, 2.0, False) == (0.5, 2)
    _kernels._keep(weights, 0.5, 1)
    assert weights.tolist() == [1.0, 0.5, 0.0, 0.0]


def test_mass_that_rounding_puts_out_of_reach_keeps_everything():
    weights = np.array([1.0, 0.25, 0.125])
    assert _kernels._find_cut(weights, 0.1, 2.0, False) == (0.125, 2)


DIGEST = """
import hashlib
import numpy as np
from minispec.engine.sampling import SamplingParams, distribution
logits = ((np.arange(3 * 200) * 7919 % 2003).reshape(3, 200) / 128.0).astype(np.float32)
digest = hashlib.sha256()
for params in (SamplingParams(0.7, 0, 0.95, 0.0), SamplingParams(1.0, 40, 0.9, 0.01), SamplingParams(1.9, 0, 1.0, 0.0)):
    digest.update(distribution(logits, params).astype("<f8").tobytes())
print(digest.hexdigest())
"""

EVERYWHERE = "a51d66aa07a75e0f5701286a487c7fcfcafb08acd1f10dedaffacd27c7c6342f"


def digest(code=DIGEST, **environment):
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return result.stdout.strip()


@pytest.mark.parametrize("disabled", ["0", "1"])
def test_the_bits_are_the_same_on_every_machine(disabled):
    """Compiled for whatever vectors this CPU has, and interpreted by Python one number after the other."""
    assert digest(NUMBA_DISABLE_JIT=disabled) == EVERYWHERE


def test_other_roundings_would_change_the_digest():
    """Negative control: NumPy's own exponential and sums give other bits on the same rows."""
    oracle = "from minispec.engine.sampling.processors import distribution\nlogits ="
    other = DIGEST.replace("logits =", oracle, 1)
    assert digest(other) != EVERYWHERE


def test_whole_numbers_need_no_kernel_of_their_own():
    """It would be compiled while a step is timed and others wait."""
    logits = np.zeros((1, 8), np.float32)
    kernel = _kernels.distribution
    expected = distribution(logits, SamplingParams(temperature=1.0, top_p=1.0, min_p=0.0))
    known = len(getattr(kernel, "signatures", ()))
    for params in ({"temperature": 1}, {"temperature": 1, "top_p": 1}, {"temperature": 1.0, "min_p": 0}):
        found = distribution(logits, SamplingParams(**{"top_p": 1.0, "min_p": 0.0, **params}))
        assert np.array_equal(found, expected)
    assert len(getattr(kernel, "signatures", ())) == known
