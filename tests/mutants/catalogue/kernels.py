"""Wrong kernels: a row, a column or a residue that some loop forgets; wrong numbers in memory."""

from __future__ import annotations

from unittest import mock

import numpy as np

from minispec.engine.backends import _kernels, formats
from minispec.engine.backends.base import Backend
from minispec.engine.backends.panel import PanelBackend, attention, elements, products, stack
from minispec.engine.backends.panel.emit import PANEL
from minispec.engine.backends.panel.layout import Layout
from minispec.engine.model.cache import KVCache

from .tools import Patch, change, mutant, wraps

# ── panels ──────────────────────────────────────────────────────────────────────────────────────────────────────────

change(
    11, "products of panels", "the last column of an edge",
    "Of a panel that is wider than what is left, one column is lost.",
    products, "compute_columns", "range(num_outputs - column)", "range(num_outputs - column - 1)",
)  # fmt: skip
change(
    11, "products of panels", "blocks of equal rows", "Rows that do not divide evenly are left over.",
    products, "compute_columns", "(block + 1) * num_rows // num_blocks - start", "num_rows // num_blocks",
)  # fmt: skip
change(
    11, "products of threads", "the bias of the first panel", "Every piece adds the biases of the first columns.",
    products, "finish", "bias[first + n]", "bias[n]",
)  # fmt: skip
change(
    11, "products of threads", "the scales of the first panel",
    "Every piece of an int8 matrix is scaled as the first columns are.",
    products, "finish", "scale[first + n]", "scale[n]",
)  # fmt: skip
change(
    11, "products of panels", "the residual of the first row", "Every row has the first row's residual added.",
    products, "finish", "residual[row, first + n]", "residual[0, first + n]",
)  # fmt: skip
change(
    11, "products of panels", "activation comes first", "The bias is added behind the activation.",
    products, "finish", "    if scale.size:", "    activate(out, activation)\n    if scale.size:",
)  # fmt: skip
change(
    11, "pieces of work", "small pieces are one panel", "Pieces of several panels overlap.",
    products, "find_piece", "(number - threads) * together", "(number - threads)",
)  # fmt: skip
change(
    11, "pieces of work", "the large pieces leave a gap", "Small pieces begin one panel late.",
    products, "find_piece", "threads * large + (number", "threads * large + 1 + (number",
)  # fmt: skip


def _linear(wrong) -> Patch:
    """The panel backend's products, changed by ``wrong(y, x, matrix)`` where it returns another one."""

    def make(linear):
        def wrapped(self, x, matrix, **extras):
            y = linear(self, x, matrix, **extras)
            other = wrong(y, x, matrix)
            return y if other is None else other

        return wrapped

    return wraps(PanelBackend, "linear", make)


@mutant(11, "products of panels")
def a_tile_of_seven_rows():
    """Products of exactly seven rows lose a part of their last row."""
    return _linear(
        lambda y, x, matrix: y * np.where(np.arange(len(y)) == 6, 0.5, 1.0)[:, None] if len(x) == 7 else None
    )


@mutant(11, "products of panels")
def a_tile_of_thirteen_rows():
    """Products of one row more than an AVX-512 tile has use the row before it twice."""
    return _linear(lambda y, x, matrix: y[[*range(12), 11]] if len(x) == 13 else None)


@mutant(11, "products of panels")
def a_panel_of_one_column():
    """Where the last panel has a single column, it is zero."""

    def wrong(y, x, matrix):
        return y * (np.arange(y.shape[1]) < y.shape[1] - 1) if matrix.num_outputs % PANEL == 1 else None

    return _linear(wrong)


@mutant(11, "products of panels")
def a_rest_of_one_input():
    """Where the inputs are one more than a multiple of four, the last one is not added."""

    def make(linear):
        def wrapped(self, x, matrix, **extras):
            if x.shape[1] % 4 != 1 or extras.get("norm") is not None:
                return linear(self, x, matrix, **extras)
            return linear(self, np.ascontiguousarray(x * (np.arange(x.shape[1]) < x.shape[1] - 1)), matrix, **extras)

        return wrapped

    return wraps(PanelBackend, "linear", make)


@mutant(11, "rows alone and together")
def another_kernel_for_five_rows():
    """Five rows are multiplied by BLAS: right to rounding, and other bits than alone."""

    def wrong(y, x, matrix):
        weight = PanelBackend.unpack(panel_backend, matrix).astype(float)
        return (x.astype(float) @ weight + matrix.bias).astype(np.float32) if len(x) == 5 else None

    panel_backend = mock.Mock(columns=lambda matrix, indices: PanelBackend.columns(None, matrix, indices))
    return _linear(wrong)


change(
    11, "elementwise", "a sample's variance", "The sum of squares is divided by one fewer.",
    elements, "normalise", "dot(y, first, y, first, width) / np.float32(width)",
    "dot(y, first, y, first, width) / np.float32(max(1, width - 1))",
)  # fmt: skip
change(
    11, "elementwise", "epsilon outside the root", "It is added to the deviation, not to the variance.",
    elements, "normalise", "_ONE / np.sqrt(dot(y, first, y, first, width) / np.float32(width) + epsilon)",
    "_ONE / (np.sqrt(dot(y, first, y, first, width) / np.float32(width)) + epsilon)",
)  # fmt: skip
change(
    11, "elementwise", "a cube too few", "The tanh form's cubic term is a square.",
    elements, "activate", "_GELU_B * v * v * v", "_GELU_B * v * v",
)  # fmt: skip
change(
    11, "elementwise", "the sigmoid form passes for exact", "x * sigmoid(1.702 x) where gelu is asked for.",
    elements, "activate", "x[i] * _HALF * (_ONE + np.float32(math.erf(x[i] * _SQRT_HALF)))",
    "x[i] / (_ONE + exp(np.float32(-1.702) * x[i]))",
)  # fmt: skip
change(
    11, "elementwise", "exp has no upper end", "Above 88 its bits run over.",
    elements, "exp", "return _INFINITY if x > _EXP_MAX else y", "return y",
)  # fmt: skip
change(
    11, "embeddings", "embeddings have no scale", "Rows of an int8 table are taken as they are stored.",
    stack, "embed", "scale[token] if scale.size else _ONE", "_ONE",
)  # fmt: skip
change(
    11, "embeddings", "positions are counted", "The i-th token of a forward has position i.",
    stack, "embed", "wpe[position, c]", "wpe[t % wpe.shape[0], c]",
)  # fmt: skip
change(
    11, "embeddings", "every token is in the first panel", "Ids are taken modulo the panel's width.",
    stack, "embed", "panels[token // PANEL, c, token % PANEL]", "panels[0, c, token % PANEL]",
)  # fmt: skip
change(
    11, "projections", "heads of five numbers", "Of heads of exactly five numbers the last value is the first.",
    attention, "split", "2 * num_heads * size + c]", "2 * num_heads * size + (c if size != 5 or d < 4 else c - 4)]",
)  # fmt: skip
change(
    11, "projections", "all keys go to the first text", "A cache of several texts keeps one.",
    attention, "split", "keys[page, slot, h, d]", "keys[0, slot, h, d]",
)  # fmt: skip
change(
    11, "attention", "a mask of the first token", "Every token sees what the first one sees.",
    attention, "_list_slots", "visible[t, s]", "visible[0, s]",
)  # fmt: skip
change(
    11, "attention", "the largest of all but the last",
    "A softmax subtracts the largest score of every four: the rest may overflow.",
    attention, "_find_largest", "range(whole, count)", "range(whole, whole)",
)  # fmt: skip
change(
    11, "attention", "scores are scaled once more", "The softmax of scale * (score - largest), both scaled before.",
    attention, "_exponentiate", "exp(weights[i] - largest)", "exp(scale * (weights[i] - largest))",
)  # fmt: skip


@mutant(11, "attention")
def the_first_token_of_a_second_group():
    """The seventeenth token of a forward attends as the sixteenth does."""

    def make(attention):
        def wrapped(self, queries, *args):
            out = attention(self, queries, *args)
            return out[[*range(16), 15, *range(17, len(out))]] if len(out) > 16 else out

        return wrapped

    return wraps(PanelBackend, "attention", make)


@mutant(11, "attention")
def a_fifth_vector_of_a_head():
    """Of heads of more than 64 numbers, only 64 are multiplied."""

    def make(attention):
        def wrapped(self, queries, *args):
            return attention(self, np.ascontiguousarray(queries * (np.arange(queries.shape[2]) < 64)), *args)

        return wrapped

    return wraps(PanelBackend, "attention", make)


change(
    11, "stacks of layers", "every layer scales as the first",
    "Scores of deeper layers are not divided by their number.",
    Layout, "__init__", "scale(layer) for layer", "scale(0) for layer",
)  # fmt: skip
change(
    11, "stacks of layers", "a stack is one layer short", "The call for all layers leaves out the last.",
    PanelBackend, "layers", "feed.num_layers,", "feed.num_layers - 1,",
)  # fmt: skip
change(
    11, "stacks of layers", "a stack has no scales", "int8 matrices of a stack are multiplied as they are stored.",
    Layout, "__init__", "matrix.scale is not None and matrix.scale.size > 0", "False",
)  # fmt: skip

# ── plain loops, and the reference ──────────────────────────────────────────────────────────────────────────────────

change(
    11, "products of loops", "a rest of inputs", "Behind the last eight inputs one is left out.",
    _kernels, "matmul", "range(whole, num_inputs)", "range(whole + 1, num_inputs)",
)  # fmt: skip
change(
    11, "products of loops", "a second block goes on", "Sums of the rows before are not set back to 0.",
    _kernels, "matmul", "total[:count] = 0.0", "total[: count * (start == 0)] = 0.0",
)  # fmt: skip
change(
    11, "products of loops", "a row of the first block", "The second block stores its rows over the first's.",
    _kernels, "matmul", "y[start + m, first + n]", "y[m, first + n]",
)  # fmt: skip
change(
    11, "elementwise", "plain norms forget the mean", "The variance is the mean of squares.",
    _kernels, "layer_norm", "(x[t, c] - mean) * (x[t, c] - mean)", "x[t, c] * x[t, c]",
)  # fmt: skip
change(
    11, "elementwise", "plain gelu without its half", "erf of x, not of x / sqrt(2).",
    _kernels, "gelu", "math.erf(v * np.float32(0.7071067811865476))", "math.erf(v)",
)  # fmt: skip
change(
    11, "attention", "plain masks are shifted", "A token sees the slots behind those it should.",
    _kernels, "attention", "not visible[t, s]", "not visible[t, s - 1]",
)  # fmt: skip
change(
    11, "attention", "plain attention reads the first text", "Values come from the cache's first page.",
    _kernels, "attention", "values[page, slot, h, d]", "values[0, slot, h, d]",
)  # fmt: skip
change(
    11, "attention", "plain halves without a sign", "Every number of a cache in float16 is read as positive.",
    _kernels, "_widen", "(bits & 0x8000) << 16 | ", "",
)  # fmt: skip
change(
    11, "attention", "plain halves at half their size", "The exponent of a float16 counts from 16.",
    _kernels, "_widen", "2.0**112", "2.0**111",
)  # fmt: skip
change(
    11, "huge keys", "a cache beyond its range", "What is too large for a cache in float16 becomes infinite there.",
    KVCache, "store", "kept[layer, pages, slots], _ = encode(computed, kept.dtype.name)",
    "kept[layer, pages, slots] = computed",
)  # fmt: skip
change(
    11, "attention", "the reference weighs what is hidden", "Invisible slots have score 0.",
    Backend, "attention", "np.float32(-np.inf))", "np.float32(0.0))",
)  # fmt: skip

# ── formats ─────────────────────────────────────────────────────────────────────────────────────────────────────────

change(
    11, "rounding to a format", "large numbers are infinite", "float16 does not saturate.",
    formats, "encode", "np.clip(weight, -largest, largest).astype(np.float16)", "weight.astype(np.float16)",
)  # fmt: skip
change(
    11, "rounding to a format", "ties go up", "A bfloat16's tie is rounded away from zero.",
    formats, "encode", "np.uint32(0x7FFF) + even", "np.uint32(0x8000)",
)  # fmt: skip
change(
    11, "rounding to a format", "bfloat16 is cut", "The lower half is dropped.",
    formats, "encode", "(bits + np.uint32(0x7FFF) + even) >>", "bits >>",
)  # fmt: skip
change(
    11, "rounding to a format", "subnormal numbers are zero", "float16 below its normal range becomes 0.",
    formats, "encode", "np.clip(weight, -largest, largest).astype(np.float16)",
    "np.where(np.abs(weight) < 6.1e-5, 0.0, np.clip(weight, -largest, largest)).astype(np.float16)",
)  # fmt: skip
change(
    11, "rounding to a format", "the scale of the positive", "A column's scale is its largest number, not magnitude.",
    formats, "encode", "np.maximum(weight.max(axis=0), -weight.min(axis=0))", "np.abs(weight.max(axis=0))",
)  # fmt: skip
change(
    11, "rounding to a format", "int8 is cut", "Numbers are rounded towards zero.",
    formats, "encode", "np.rint(weight / scale)", "np.trunc(weight / scale)",
)  # fmt: skip
change(
    11, "products of panels", "int8 panels share a scale",
    "Columns of the last panel are scaled by the first panel's factors.",
    PanelBackend, "pack", "scale[columns] = factors",
    "scale[columns] = factors if panel == 0 else scale[: len(factors)]",
)  # fmt: skip
