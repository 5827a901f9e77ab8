"""One row of logits to probabilities, as plain Numba loops. Oracle: ``processors.distribution``.

All filters keep a beginning of one and the same order, the likeliest first and ties by id. So each comes down to a
*cut*: the weight of the last token it keeps and that token's id. No row is sorted: a histogram over the bits of the
weights says in which bucket the cut falls, a histogram of that bucket says where in it, and so on.

The bits are the same everywhere: each row is computed by itself, each sum has one written-down order, and the
exponential is our own, made of additions and multiplications that every machine rounds alike. Nothing here may be
compiled with fast-math.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from minispec.engine.jit import jit

_BUCKETS = 512
_VANISHES = -746.0  # exp of it, and of anything below, is 0
_ROUND = 1.5 * 2.0**52  # adding it rounds a float64 of modest size to an integer, which then is in its low bits
_LOG2_E = 1.0 / math.log(2.0)
_LN2_HIGH = float.fromhex("0x1.62e42fee00000p-1")  # 33 bits of ln 2, so that its product with an exponent is exact
_LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")  # and the rest
_C2, _C3, _C4, _C5, _C6, _C7 = (1.0 / math.factorial(k) for k in range(2, 8))
_C8, _C9, _C10, _C11, _C12, _C13 = (1.0 / math.factorial(k) for k in range(8, 14))


@jit(nogil=True, error_model="numpy")
def exponential(x):
    """Replace each ``x <= 0`` of shape (V,) by exp(x), to within two units in the last place.

    exp(x) = 2**n exp(r) with n the integer next to x / ln 2 and ``|r| <= ln(2) / 2``, where thirteen terms of the
    Taylor series leave less than 2**-57.
    """
    for i in range(x.shape[0]):
        t = -800.0 if x[i] < -800.0 else x[i]  # beyond -745.2 the result is 0 anyway; this also takes care of -inf
        shifted = t * _LOG2_E + _ROUND
        n = shifted - _ROUND
        r = (t - n * _LN2_HIGH) - n * _LN2_LOW
        s = _C8 + r * (_C9 + r * (_C10 + r * (_C11 + r * (_C12 + r * _C13))))
        s = _C2 + r * (_C3 + r * (_C4 + r * (_C5 + r * (_C6 + r * (_C7 + r * s)))))
        power = np.float64(shifted).view(np.int64) - np.float64(_ROUND).view(np.int64)
        half = power >> 1  # 2**n in two factors: a result below 2**-1022 is rounded once, by the last one
        first = np.int64((half + 1023) << 52).view(np.float64)
        second = np.int64((power - half + 1023) << 52).view(np.float64)
        x[i] = (1.0 + (r + r * r * s)) * first * second


@jit(nogil=True)
def _find_largest(x):
    """Return the largest value; a NaN if there is one."""
    best = x[0]
    for i in range(x.shape[0]):
        if not x[i] <= best:  # also true of a NaN
            best = x[i]
            if best != best:
                break
    return best


@jit(nogil=True)
def _add_up(x):
    """Add up in one order: eight partial sums, then those."""
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
    whole = x.shape[0] - x.shape[0] % 8
    for i in range(0, whole, 8):
        s0 += x[i]
        s1 += x[i + 1]
        s2 += x[i + 2]
        s3 += x[i + 3]
        s4 += x[i + 4]
        s5 += x[i + 5]
        s6 += x[i + 6]
        s7 += x[i + 7]
    for i in range(whole, x.shape[0]):
        s0 += x[i]
    return ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))


@jit(nogil=True)
def _keep(weights, cut, last):
    """Set to 0 what comes after the cut: smaller weights, and equal ones of a higher id than ``last``."""
    for i in range(weights.shape[0]):
        if weights[i] < cut or (weights[i] == cut and i > last):
            weights[i] = 0.0


@jit(nogil=True)
def _find_cut(weights, floor, target, by_count):
    """Return weight and id of the token with which the likeliest tokens, one after the other, reach ``target``.

    ``target`` is a mass, or a number of tokens if ``by_count``. The search looks only at tokens of weight ``floor`` or
    more; these must be enough to reach the target, up to rounding.
    """
    members = np.empty(weights.shape[0] + 1, np.int64)
    sums = np.empty(_BUCKETS, np.float64)
    count = 0
    for i in range(weights.shape[0]):
        members[count] = i
        count += 1 if weights[i] >= floor else 0
    # The bits of positive floats, read as integers, are in the order of the floats.
    low, high = int(np.float64(floor).view(np.int64)), int(np.float64(1.0).view(np.int64))
    reached = 0.0
    while low < high:
        shift = 0
        while (high - low) >> shift >= _BUCKETS:
            shift += 1
        for j in range(_BUCKETS):
            sums[j] = 0.0
        last = 0
        for j in range(count):
            weight = weights[members[j]]
            bucket = (high - int(np.float64(weight).view(np.int64))) >> shift
            sums[bucket] += 1.0 if by_count else weight
            last = bucket if bucket > last else last
        bucket = 0
        while bucket < last and reached + sums[bucket] < target:
            reached += sums[bucket]
            bucket += 1
        high -= bucket << shift
        count, low, high = _narrow(weights, members, count, high - (1 << shift) + 1, high)
    # One weight is left, shared by ``count`` tokens.
    weight = weights[members[0]]
    each = 1.0 if by_count else weight
    taken = 1
    while taken < count and reached + taken * each < target:
        taken += 1
    return weight, members[taken - 1]


@jit(nogil=True)
def _narrow(weights, members, count, low, high):
    """Keep the members whose weight's bits are from ``low`` to ``high``; return their number, smallest and largest."""
    smallest, largest = high, low
    kept = 0
    for j in range(count):
        bits = int(np.float64(weights[members[j]]).view(np.int64))
        members[kept] = members[j]
        if low <= bits <= high:
            kept += 1
            smallest = bits if bits < smallest else smallest
            largest = bits if bits > largest else largest
    return kept, smallest, largest


@jit(nogil=True, error_model="numpy")
def _process_row(x, temperature, top_k, top_p, min_p):
    """Turn one row of logits, shape (V,), into probabilities, in place. Return whether the largest is finite."""
    size = x.shape[0]
    best = _find_largest(x)
    if not -np.inf < best < np.inf:
        return False
    # Where most tokens get no weight (a constraint, few words, a low temperature), only the others are filtered.
    lowest = best + _VANISHES * temperature
    count = 0
    for i in range(size):
        count += 1 if x[i] >= lowest else 0
    if 2 * count > size:
        _filter(x, best, temperature, top_k, top_p, min_p)
        return True
    members, weights = np.empty(count + 1, np.int64), np.empty(count + 1, np.float64)
    count = 0
    for i in range(size):
        members[count], weights[count] = i, x[i]
        count += 1 if x[i] >= lowest else 0
    _filter(weights[:count], best, temperature, top_k, top_p, min_p)
    x[:] = 0.0
    for j in range(count):
        x[members[j]] = weights[j]
    return True


@jit(nogil=True, error_model="numpy")
def _filter(x, best, temperature, top_k, top_p, min_p):
    """Turn logits, shape (V,), the largest of which is ``best``, into probabilities, in place."""
    size = x.shape[0]
    for i in range(size):
        x[i] -= best  # before dividing: a tiny temperature cannot overflow
    if temperature != 1.0:
        for i in range(size):
            x[i] /= temperature
    exponential(x)
    if 0 < top_k < size:
        cut, last = _find_cut(x, 0.0, float(top_k), True)
        _keep(x, cut, last)
    if top_p < 1.0:
        total = _add_up(x)
        # Tokens below (1-p)/V together weigh less than 1-p, so the set never needs them; half leaves room for rounding.
        floor = 0.5 * (1.0 - top_p) * total / size
        cut, last = _find_cut(x, floor if floor < 1.0 else 1.0, top_p * total, False)
        _keep(x, cut, last)
    if min_p > 0.0:
        _keep(x, min_p, size)  # the largest weight is 1
    total = _add_up(x)
    for i in range(size):
        x[i] /= total


@jit(nogil=True)
def distribution(rows: NDArray[np.float64], temperature: float, top_k: int, top_p: float, min_p: float) -> int:
    """Turn rows of logits, shape (T, V), into probabilities, in place; return the first row that cannot be, or -1."""
    for t in range(rows.shape[0]):
        if not _process_row(rows[t], temperature, top_k, top_p, min_p):
            return t
    return -1
