"""Beside the course: the operations of stop 10 as plain Numba loops.

Batch-invariant by construction: whatever the number of rows, each output element is computed by the same machine
code in the same order. So a matrix product sums over k = 0, 1, 2, ... for every row alike, rows are only ever an
*outer* loop, and no loop runs over elements of several rows at once (its vector body and its scalar tail could round
differently). ``contract`` lets a multiply and an add become one fused instruction; it never reorders a sum.
``reassoc`` reorders the sum of a dot product over D, once, at compile time: every call takes the same order.

A default run multiplies with the next rung of the ladder, ``panel``.
"""

from __future__ import annotations

import math

import numpy as np
from numba import prange

from minispec.engine.jit import jit

PANEL = 64
"""Columns per weight panel: 64 float32 are four cache lines, read one after the other down the panel."""

ROW_BLOCK = 16
"""Rows that share one pass over a panel; prefill goes block by block."""


@jit(parallel=True, fastmath={"contract"}, nogil=True)
def matmul(x, panels, bias, num_outputs):
    """Return x @ W + bias, (T, N), for ``panels`` of shape (N/64, K, 64). Oracle: Backend.matmul."""
    num_rows, num_inputs = x.shape
    y = np.empty((num_rows, num_outputs), np.float32)
    for panel in prange(panels.shape[0]):
        first = panel * PANEL
        width = min(PANEL, num_outputs - first)
        total = np.empty((ROW_BLOCK, PANEL), np.float32)
        for start in range(0, num_rows, ROW_BLOCK):
            count = min(ROW_BLOCK, num_rows - start)
            total[:count] = 0.0
            whole = num_inputs - num_inputs % 8
            for k in range(0, whole, 8):  # eight at a time only to load and store ``total`` once; the order is 0, 1, 2
                for m in range(count):
                    x0, x1, x2, x3 = x[start + m, k], x[start + m, k + 1], x[start + m, k + 2], x[start + m, k + 3]
                    x4, x5, x6, x7 = x[start + m, k + 4], x[start + m, k + 5], x[start + m, k + 6], x[start + m, k + 7]
                    for n in range(PANEL):
                        s = total[m, n] + x0 * panels[panel, k, n]
                        s = s + x1 * panels[panel, k + 1, n]
                        s = s + x2 * panels[panel, k + 2, n]
                        s = s + x3 * panels[panel, k + 3, n]
                        s = s + x4 * panels[panel, k + 4, n]
                        s = s + x5 * panels[panel, k + 5, n]
                        s = s + x6 * panels[panel, k + 6, n]
                        total[m, n] = s + x7 * panels[panel, k + 7, n]
            for k in range(whole, num_inputs):
                for m in range(count):
                    for n in range(PANEL):
                        total[m, n] = total[m, n] + x[start + m, k] * panels[panel, k, n]
            for m in range(count):
                for n in range(width):
                    y[start + m, first + n] = total[m, n] + bias[first + n]
    return y


@jit(fastmath={"contract"}, nogil=True)
def layer_norm(x, weight, bias, epsilon):
    """Normalise each row of x, (T, C). Oracle: Backend.layer_norm."""
    num_rows, width = x.shape
    y = np.empty_like(x)
    for t in range(num_rows):
        total = np.float32(0.0)
        for c in range(width):
            total += x[t, c]
        mean = total / np.float32(width)
        squares = np.float32(0.0)
        for c in range(width):
            squares += (x[t, c] - mean) * (x[t, c] - mean)
        scale = np.float32(1.0) / np.sqrt(squares / np.float32(width) + epsilon)
        for c in range(width):
            y[t, c] = (x[t, c] - mean) * scale * weight[c] + bias[c]
    return y


@jit(fastmath={"contract"}, nogil=True)
def gelu_new(x):
    """GELU in its tanh form, as x * sigmoid(2u): one exponential instead of a tanh. Oracle: Backend.activation."""
    y = np.empty_like(x)
    for t in range(x.shape[0]):
        for c in range(x.shape[1]):
            v = x[t, c]
            u = np.float32(2.0 * 0.7978845608028654) * (v + np.float32(0.044715) * v * v * v)
            y[t, c] = v / (np.float32(1.0) + np.float32(math.exp(-u)))
    return y


@jit(nogil=True)
def gelu(x):
    """Exact GELU, x * Phi(x). Oracle: Backend.activation."""
    y = np.empty_like(x)
    for t in range(x.shape[0]):
        for c in range(x.shape[1]):
            v = x[t, c]
            y[t, c] = v * np.float32(0.5) * (np.float32(1.0) + np.float32(math.erf(v * np.float32(0.7071067811865476))))
    return y


@jit(nogil=True)
def _widen(number):
    """Return a number of the cache as float32: what it is, or what the bits of a float16, an int16, stand for.

    Sign, exponent and fraction go to their places in a float32, whose exponent counts from 127, not from 15.
    """
    if isinstance(number, np.float32):
        return number
    bits = np.int64(number)
    value = np.uint32((bits & 0x8000) << 16 | (bits & 0x7FFF) << 13).view(np.float32) * np.float32(2.0**112)
    return value if bits & 0x7FFF < 0x7C00 else np.float32(np.nan)  # no infinity is ever kept


@jit(fastmath={"contract", "reassoc"}, nogil=True)
def _dot(a, b):
    """Sum of products over D in one fixed, vectorised order."""
    total = np.float32(0.0)
    for d in range(a.shape[0]):
        total += a[d] * _widen(b[d])
    return total


@jit(parallel=True, fastmath={"contract"}, nogil=True)
def attention(queries, keys, values, pages, ends, visible, has_mask, scale):
    """Attend from each (token, head) to its text's slots, in slot order. Oracle: Backend.attention."""
    num_tokens, num_heads, head_size = queries.shape
    size = keys.shape[1]
    out = np.empty_like(queries)
    for task in prange(num_tokens * num_heads):
        t, h = task // num_heads, task % num_heads
        end = ends[t]
        scores = np.empty(end, np.float32)
        largest = np.float32(-np.inf)
        for s in range(end):
            if has_mask and not visible[t, s]:
                scores[s] = -np.inf
            else:
                scores[s] = _dot(queries[t, h], keys[pages[t, s // size], s % size, h]) * scale
                largest = max(largest, scores[s])
        total = np.float32(0.0)
        sums = np.zeros(head_size, np.float32)
        for s in range(end):
            if scores[s] > -np.inf:  # an invisible slot may hold anything, so it is skipped, not weighted by 0
                weight = np.float32(math.exp(scores[s] - largest))
                total += weight
                page, slot = pages[t, s // size], s % size
                for d in range(head_size):
                    sums[d] += weight * _widen(values[page, slot, h, d])
        for d in range(head_size):
            out[t, h, d] = sums[d] / total
    return out
