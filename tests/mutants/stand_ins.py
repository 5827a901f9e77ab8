"""Plain functions in place of those that only compiled code can call: the instructions of the panel kernels."""

from __future__ import annotations

import math
from collections import defaultdict
from types import SimpleNamespace
from typing import Any

import numpy as np

from minispec.engine.backends import _kernels, formats
from minispec.engine.backends.panel import attention, elements, products, stack


def widened(weights):
    """The float32 values that the numbers of a panel stand for."""
    weights = np.asarray(weights)
    return formats.decode(weights.view(np.float16) if weights.dtype == np.int16 else weights, None)


def multiply(x, row, rows, panels, panel, count, following, out, out_row, out_column):
    width = panels.shape[2]
    for p in range(count):
        columns = slice(out_column + p * width, out_column + (p + 1) * width)
        out[out_row : out_row + rows, columns] = x[row : row + rows] @ widened(panels[panel + p])


def dot(a, a_first, b, b_first, size):
    return np.float32(a.reshape(-1)[a_first : a_first + size] @ widened(b.reshape(-1)[b_first : b_first + size]))


def scores(queries, query_first, keys, firsts, offset, start, stop, size, out):
    for i in range(start, stop):
        out[i] = dot(queries, query_first, keys, firsts[i] + offset, size)


def weighted_sum(weights, vectors, firsts, offset, start, stop, out, out_first, size):
    sums = out.reshape(-1)[out_first : out_first + size]
    for i in range(start, stop):
        sums += weights[i] * widened(vectors.reshape(-1)[firsts[i] + offset : firsts[i] + offset + size])


def narrow(value, array):
    kept, _ = formats.encode(np.array([value]), "float16" if array.dtype == np.int16 else "float32")
    return formats.view_bits(kept)[0]


def claim(counter):
    counter[0] += 1
    return counter[0] - 1


INSTRUCTIONS = {
    "multiply": multiply,
    "dot": dot,
    "scores": scores,
    "weighted_sum": weighted_sum,
    "claim": claim,
    "widen": widened,
    "narrow": narrow,
    "bits_of": lambda value: np.float32(value).view(np.int32),
    "from_bits": lambda bits: np.int32(bits).view(np.float32),
    "call_columns": lambda address, arguments: products.compute_columns(*arguments),
    "call_attend": lambda address, arguments: attention._attend(*arguments),
}
PANEL_MODULES = (elements, products, attention, stack)
TOGETHER: dict[Any, tuple[Any, ...]] = dict.fromkeys(PANEL_MODULES, PANEL_MODULES)
"""Modules that import one another's functions: all of them run as Python, or none."""

STAND_INS: dict[Any, dict[str, Any]] = defaultdict(dict)
for _module in PANEL_MODULES:
    STAND_INS[_module] = {name: function for name, function in INSTRUCTIONS.items() if hasattr(_module, name)}
STAND_INS[_kernels] = {"math": SimpleNamespace(exp=np.exp, erf=math.erf)}  # Python's own exp raises at infinity
