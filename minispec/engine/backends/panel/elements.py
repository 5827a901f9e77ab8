"""What is done element by element: exponentials, activations, norms.

Plain IEEE operations: no ``fastmath`` here, so a loop's vector body and its scalar tail round alike.
"""

from __future__ import annotations

import math

import numpy as np

from minispec.engine.backends.panel.bits import bits_of, from_bits
from minispec.engine.backends.panel.sums import dot
from minispec.engine.jit import jit

ACTIVATIONS = {None: 0, "gelu_new": 1, "gelu": 2, "relu": 3, "silu": 4, "tanh": 5}
"""Codes of the activations, for :func:`activate`."""

_ONE, _HALF, _ZERO = np.float32(1.0), np.float32(0.5), np.float32(0.0)
_LOG2_E = np.float32(1.4426950408889634)
_LN2_HIGH, _LN2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)  # their sum is ln 2, the first has few bits
_ROUND = np.float32(12582912.0)  # 1.5 * 2**23: adding it to a small number rounds that to an integer, in the low bits
_EXP_5, _EXP_4, _EXP_3 = np.float32(1.9875691500e-4), np.float32(1.3981999507e-3), np.float32(8.3334519073e-3)
_EXP_2, _EXP_1, _EXP_0 = np.float32(4.1665795894e-2), np.float32(1.6666665459e-1), np.float32(5.0000001201e-1)
_EXP_MIN, _EXP_MAX = np.float32(-87.0), np.float32(88.0)
_INFINITY = np.float32(np.inf)
_GELU_A, _GELU_B = np.float32(2.0 * math.sqrt(2.0 / math.pi)), np.float32(0.044715)
_SQRT_HALF = np.float32(math.sqrt(0.5))


@jit(nogil=True)
def exp(x):
    """Return e**x in float32, to 2 units in the last place; 0 below -87, infinite above 88, NaN for NaN.

    x = n ln 2 + r with abs(r) <= ln 2 / 2: e**r by the Cephes library's polynomial, 2**n by writing n into the
    exponent.
    """
    shifted = x * _LOG2_E + _ROUND
    n = shifted - _ROUND
    r = x - n * _LN2_HIGH - n * _LN2_LOW
    p = ((((_EXP_5 * r + _EXP_4) * r + _EXP_3) * r + _EXP_2) * r + _EXP_1) * r + _EXP_0
    power = from_bits(np.int32((bits_of(shifted) << np.int32(23)) + np.int32(0x3F800000)))
    y = (p * r * r + r + _ONE) * power
    y = _ZERO if x < _EXP_MIN else y
    return _INFINITY if x > _EXP_MAX else y


@jit(nogil=True)
def activate(x, activation):
    """Apply an activation to each element of a 1-D array, in place. Oracle: Backend.activation."""
    if activation == 1:
        for i in range(x.shape[0]):
            v = x[i]
            x[i] = v / (_ONE + exp(-_GELU_A * (v + _GELU_B * v * v * v)))
    elif activation == 2:
        for i in range(x.shape[0]):
            x[i] = x[i] * _HALF * (_ONE + np.float32(math.erf(x[i] * _SQRT_HALF)))
    elif activation == 3:
        for i in range(x.shape[0]):
            x[i] = max(x[i], _ZERO)
    elif activation == 4:
        for i in range(x.shape[0]):
            x[i] = x[i] / (_ONE + exp(-x[i]))
    elif activation == 5:
        for i in range(x.shape[0]):
            x[i] = np.float32(math.tanh(x[i]))


@jit(nogil=True)
def normalise(x, weight, bias, epsilon, y):
    """Write the layer norm of each row of x, (T, C), into y. Oracle: Backend.layer_norm."""
    num_rows, width = x.shape
    ones = np.ones(width, np.float32)
    for t in range(num_rows):
        first = t * width
        mean = dot(x, first, ones, 0, width) / np.float32(width)
        for c in range(width):
            y[t, c] = x[t, c] - mean
        scale = _ONE / np.sqrt(dot(y, first, y, first, width) / np.float32(width) + epsilon)
        for c in range(width):
            y[t, c] = y[t, c] * scale * weight[c] + bias[c]
