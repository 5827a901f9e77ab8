"""Number formats at their edges: subnormals, ties, and the most negative byte."""

from __future__ import annotations

import numpy as np
import pytest

from minispec.engine.backends import get_backend
from minispec.engine.backends.formats import decode, encode


@pytest.mark.parametrize("backend", ["numpy", "numba", "panel"])
def test_float16_subnormals_are_kept(backend: str) -> None:
    """2**-24 is float16's smallest number; flushed to zero it would be another weight."""
    tiny = np.array([2.0**-24, 3 * 2.0**-24, 2.0**-15, -(2.0**-20)], np.float32)
    weight = np.repeat(tiny[:, None], 3, axis=1)
    runner = get_backend(backend)
    packed = runner.pack(weight, None, "float16")
    assert np.array_equal(runner.unpack(packed), weight)
    products = runner.linear(np.eye(4, dtype=np.float32), packed)
    assert np.array_equal(products, weight)


def test_int8_never_reaches_minus_128() -> None:
    """The scale comes from the largest magnitude, so -127 is the least: clipping at -128 instead changes nothing.

    A weight over its scale is at most 127 (1 + 2**-23) in magnitude, which rounds to 127. So the mutant that clips at
    -128 is equivalent, and this holds the premise.
    """
    generator = np.random.default_rng(0)
    for _ in range(200):
        weight = generator.standard_normal((50, 7)).astype(np.float32) * np.float32(10.0 ** generator.integers(-30, 30))
        values, scale = encode(weight, "int8")
        assert scale is not None
        assert np.abs(np.rint(weight / scale)).max() <= 127
        assert values.min() >= -127
        assert np.all(np.abs(decode(values, scale) - weight) <= 0.5001 * scale)
