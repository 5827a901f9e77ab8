"""The exponential race on Philox noise, compiled: only the noise of tokens that can win is computed.

Philox4x64-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011) turns a key of two
words and a counter of four into four words. Block b of an address has b + 1 in the counter's first word, and token x
reads lane x % 4 of block x // 4: the stream of ``numpy.random.Philox``, which the tests compare with, read in any
order.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from minispec.engine.jit import can_compile, jit

_ROUNDS = 10
_BUMP0, _BUMP1 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBB67AE8584CAA73B)
_MULTIPLIER0, _MULTIPLIER1 = np.uint64(0xD2E7470EE14C6C93), np.uint64(0xCA5A826395121157)
_DROPPED = np.uint64(11)  # 64 - 53 bits
_SLACK = 1.0 - 2.0**-50
_BLOCK = 64  # probabilities: a few vector instructions


def _multiply(a, b):
    """Return the upper and the lower word of a * b."""
    product = int(a) * int(b)
    return np.uint64(product >> 64), np.uint64(product & 0xFFFFFFFFFFFFFFFF)


def _let_numba_multiply() -> None:
    """Give compiled code the processor's own product, of which neither Numba nor NumPy has the upper word."""
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic, overload

    @intrinsic
    def one_instruction(typing, a, b):
        def codegen(context, builder, signature, args):
            wide, word = ir.IntType(128), ir.IntType(64)
            product = builder.mul(*(builder.zext(factor, wide) for factor in args))
            words = builder.trunc(builder.lshr(product, wide(64)), word), builder.trunc(product, word)
            return context.make_tuple(builder, signature.return_type, words)

        return types.UniTuple(types.uint64, 2)(types.uint64, types.uint64), codegen

    @overload(_multiply)
    def multiply(a, b):
        return lambda a, b: one_instruction(a, b)


if can_compile():
    _let_numba_multiply()


@jit(nogil=True)
def _philox(words, block):
    """Return the four words of a block."""
    a, b, c, d = np.uint64(block + 1), words[2], words[3], words[4]
    key0, key1 = words[0], words[1]
    for _ in range(_ROUNDS):
        high0, low0 = _multiply(_MULTIPLIER0, a)
        high1, low1 = _multiply(_MULTIPLIER1, c)
        a, b, c, d = high1 ^ b ^ key0, low1, high0 ^ d ^ key1, low0
        key0, key1 = key0 + _BUMP0, key1 + _BUMP1  # around 2**64
    return a, b, c, d


@jit(nogil=True)
def _unit(word):
    """Return a uniform on [0, 1) from the upper 53 bits."""
    return np.float64(word >> _DROPPED) * 2.0**-53


@jit(nogil=True)
def uniform(words: NDArray[np.uint64], token: int) -> float:
    """Return the uniform of one token at an address.

    Parameters
    ----------
    words : ndarray of shape (5,), uint64
        The key's two words, then the counter's second to fourth.
    token : int
    """
    a, b, c, d = _philox(words, token // 4)
    lane = token % 4
    return _unit(a if lane == 0 else b if lane == 1 else c if lane == 2 else d)


@jit(nogil=True)
def _find_support(probs):
    """Return the tokens of positive probability, in front of an array, and how many they are.

    Nearly always they are few, so a block without any is passed over at once.
    """
    support = np.empty(probs.shape[0] + 1, np.int64)
    bits = probs.view(np.int64)
    size, whole = 0, probs.shape[0] - probs.shape[0] % _BLOCK
    for start in range(0, whole, _BLOCK):
        some = np.int64(0)
        for i in range(_BLOCK):
            some |= bits[start + i]
        if some != 0:
            size = _note_support(probs, start, start + _BLOCK, support, size)
    return support, _note_support(probs, whole, probs.shape[0], support, size)


@jit(nogil=True)
def _note_support(probs, first, last, support, size):
    """Note those from ``first`` to before ``last``; a branch on each would be mispredicted at every other one."""
    for token in range(first, last):
        support[size] = token
        size += 1 if probs[token] > 0.0 else 0
    return size


@jit(nogil=True, error_model="numpy")
def find_winner(probs: NDArray[np.float64], words: NDArray[np.uint64]) -> int:
    """Return the token x with the smallest -log(1 - u_x) / p_x, or -1 if no p_x is positive.

    Parameters
    ----------
    probs : ndarray of shape (V,), float64
    words : ndarray of shape (5,), uint64
        As for :func:`uniform`.
    """
    support, size = _find_support(probs)
    first, earliest = -1, np.inf
    current = -1  # the block whose lanes we hold
    lanes = _philox(words, 0)
    for i in range(size):
        token = support[i]
        if token // 4 != current:
            current = token // 4
            lanes = _philox(words, current)
        u = _unit(lanes[token % 4])
        prob = probs[token]
        # -log(1 - u) >= u: most tokens lose without a logarithm. The slack is for its rounding.
        if first < 0 or u * _SLACK < earliest * prob:
            time = -math.log1p(-u) / prob
            if first < 0 or time < earliest:
                first, earliest = token, time
    return first
