"""The checks of lesson 10: kernels."""

from __future__ import annotations

import numpy as np

from minispec.course.teaching import Mistake, Prediction, Reply, Step

PREDICTIONS = [
    Prediction(
        "order",
        "k outside",
        "Then memory is read in the order in which it lies there.",
        [Reply("n outside", "It walks down columns: each step jumps over a whole row.")],
        choices=("k outside", "n outside"),
    ),
    Prediction(
        "associative",
        False,
        "0.6000000000000001 against 0.6.",
        [Reply(True, "On paper, yes.")],
    ),
]


def pack(weight: np.ndarray, width: int) -> np.ndarray:
    num_inputs, num_outputs = weight.shape
    panels = np.zeros((-(-num_outputs // width), num_inputs, width), weight.dtype)
    for i in range(len(panels)):
        columns = weight[:, i * width : (i + 1) * width]
        panels[i, :, : columns.shape[1]] = columns
    return panels


def _as_a_view(weight, width):
    num_inputs, num_outputs = weight.shape
    return np.pad(weight, ((0, 0), (0, -num_outputs % width))).reshape(num_inputs, -1, width).transpose(1, 0, 2)


def _seeing_whether_it_moved(function):
    def seen(weight, width):
        found = function(weight, width)
        is_view = isinstance(found, np.ndarray) and not found.flags.c_contiguous
        return "a view of the matrix" if is_view and np.array_equal(found, pack(weight, width)) else found

    return seen


def _only_reshaped(weight, width):
    num_inputs, num_outputs = weight.shape
    padded = np.zeros((num_inputs, -(-num_outputs // width) * width), weight.dtype)
    padded[:, :num_outputs] = weight
    return padded.reshape(-1, num_inputs, width)


def _drops_the_rest(weight, width):
    count = weight.shape[1] // width
    return pack(weight[:, : count * width], width)


def _strided(weight, width):
    panels = pack(weight, width)
    count = len(panels)
    found = np.zeros_like(panels)
    for n in range(weight.shape[1]):
        found[n % count, :, n // count] = weight[:, n]
    return found


def panel_product(x: np.ndarray, panels: np.ndarray, num_outputs: int) -> np.ndarray:
    num_panels, num_inputs, width = panels.shape
    y = np.empty((len(x), num_panels * width), x.dtype)
    for i in range(num_panels):
        sums = np.zeros((len(x), width), x.dtype)
        for k in range(num_inputs):
            sums = sums + x[:, k : k + 1] * panels[i, k]
        y[:, i * width : (i + 1) * width] = sums
    return y[:, :num_outputs]


def _padded(x, panels, num_outputs):
    return panel_product(x, panels, len(panels) * panels.shape[2])


def _first_row_only(x, panels, num_outputs):
    return np.repeat(panel_product(x[:1], panels, num_outputs), len(x), axis=0)


def _sums_not_reset(x, panels, num_outputs):
    parts = [panel_product(x, panels[i : i + 1], panels.shape[2]) for i in range(len(panels))]
    return np.concatenate(list(np.cumsum(parts, axis=0)), axis=1)[:, :num_outputs]


def batch_invariant(product, x: np.ndarray) -> bool:
    together = product(x)
    return all(np.array_equal(together[i : i + 1], product(x[i : i + 1])) for i in range(len(x)))


def _with_tolerance(product, x):
    together = product(x)
    return all(np.allclose(together[i], product(x[i : i + 1])[0]) for i in range(len(x)))


def _first_row(product, x):
    return bool(np.array_equal(product(x)[:1], product(x[:1])))


def _twice(product, x):
    return bool(np.array_equal(product(x), product(x)))


WEIGHT = np.random.default_rng(1).standard_normal((64, 3)).astype(np.float32)


def in_one_order(x):
    """Adds up over k = 0, 1, 2, … for every row alike."""
    y = np.zeros((len(x), 3), np.float32)
    for k in range(64):
        y = y + x[:, k : k + 1] * WEIGHT[k]
    return y


def by_number_of_rows(x):
    """Adds up backwards if there are several rows."""
    order = range(64) if len(x) == 1 else range(63, -1, -1)
    y = np.zeros((len(x), 3), np.float32)
    for k in order:
        y = y + x[:, k : k + 1] * WEIGHT[k]
    return y


def last_row_differs(x):
    """Treats the last of several rows in another way, as a vector loop does with its remainder."""
    y = in_one_order(x)
    if len(x) > 1:
        y[-1] = by_number_of_rows(x)[-1]
    return y


def middle_row_differs(x):
    """Treats a row in the middle in another way."""
    y = in_one_order(x)
    if len(x) > 2:
        y[1] = by_number_of_rows(x)[1]
    return y


def first_row_differs(x):
    """Treats the first of several rows in another way."""
    y = in_one_order(x)
    if len(x) > 1:
        y[0] = by_number_of_rows(x)[0]
    return y


def mixes_rows(x):
    """A bug, plainly: what comes out depends on the other rows."""
    return in_one_order(x) + in_one_order(x[::-1]) * (len(x) > 1)


def quantise(weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    scale = np.abs(weight).max(axis=0) / 127
    scale = np.where(scale > 0, scale, 1).astype(np.float32)
    return np.rint(weight / scale).astype(np.int8), scale


def _one_scale(weight):
    scale = np.full(weight.shape[1], np.abs(weight).max() / 127, np.float32)
    return np.rint(weight / scale).astype(np.int8), scale


def _per_row(weight):
    scale = np.abs(weight).max(axis=1) / 127
    scale = np.where(scale > 0, scale, 1).astype(np.float32)
    return np.rint(weight / scale[:, None]).astype(np.int8), scale


def _truncates(weight):
    scale = quantise(weight)[1]
    return (weight / scale).astype(np.int8), scale


def _signed_maximum(weight):
    scale = weight.max(axis=0) / 127
    scale = np.where(scale > 0, scale, 1).astype(np.float32)
    return np.clip(np.rint(weight / scale), -128, 127).astype(np.int8), scale


def _packings() -> list[tuple[np.ndarray, int]]:
    rng = np.random.default_rng(2)
    return [
        (np.arange(8.0).reshape(2, 4), 2),
        (np.arange(15.0).reshape(3, 5), 2),
        (rng.integers(-9, 10, (4, 9)).astype(np.float32), 4),
        (rng.standard_normal((2, 3), np.float32), 8),
    ]


def _products() -> list[tuple[np.ndarray, np.ndarray, int]]:
    rng = np.random.default_rng(3)
    cases = []
    for rows, inputs, outputs, width in ((1, 2, 2, 2), (2, 3, 5, 2), (3, 6, 9, 4)):
        cases.append(
            (
                rng.integers(-3, 4, (rows, inputs)).astype(float),
                pack(rng.integers(-3, 4, (inputs, outputs)).astype(float), width),
                outputs,
            )
        )
    return [*cases, (rng.standard_normal((2, 3)), pack(rng.standard_normal((3, 5)), 2), 5)]


def _matrices() -> list[tuple[np.ndarray]]:
    rng = np.random.default_rng(4)
    weight = (2 * rng.integers(-10, 10, (6, 4)) + 1).astype(np.float32)  # odd: none lies half-way between two values
    weight[:, 2] *= 100
    zeros = weight.copy()
    zeros[:, 0] = 0
    return [
        (np.array([[254.0], [-100.0]], np.float32),),
        (np.array([[1.0], [-0.25]], np.float32),),
        (weight,),
        (zeros,),
        (-np.abs(weight),),
        (weight[:, :2] + 4,),
    ]


ROWS = np.random.default_rng(5).standard_normal((4, 64)).astype(np.float32)

STEPS = [
    Step(
        "pack",
        _packings,
        pack,
        [
            Mistake("`reshape` alone does not move anything: a panel's rows are apart in the matrix.", _only_reshaped),
            Mistake("The right numbers, but in a view: in memory nothing has moved. Copy them into new zeros.", _as_a_view),
            Mistake("The columns left over at the end need a panel, too, filled up with zeros.", _drops_the_rest),
            Mistake("A panel holds *neighbouring* columns.", _strided),
            Mistake("Shape [panels, K, width]: K is in the middle.", lambda w, n: pack(w, n).transpose(0, 2, 1)),
        ],
        ["Start with zeros of the right shape, and of weight.dtype.",
         "Panel i is `weight[:, i * width : (i + 1) * width]`."],
        same_dtype=True,
        observe=_seeing_whether_it_moved,
    ),
    Step(
        "panel_product",
        _products,
        panel_product,
        [
            Mistake("Cut off the columns that were only padding.", _padded),
            Mistake("Each row of x has sums of its own.", _first_row_only),
            Mistake("Each panel starts with sums of zero.", _sums_not_reset),
        ],
        ["`x[:, k : k + 1] * panels[i, k]` has shape [M, width].", "Collect the panels side by side, then cut at N."],
    ),
    Step(
        "batch_invariant",
        [(in_one_order, ROWS), (by_number_of_rows, ROWS), (last_row_differs, ROWS), (first_row_differs, ROWS), (middle_row_differs, ROWS), (mixes_rows, ROWS), (in_one_order, ROWS[:1]), (by_number_of_rows, ROWS * np.float32(1e-3))],
        batch_invariant,
        [
            Mistake("Nearly equal is not equal: the bits decide.", _with_tolerance),
            Mistake("Look at every row: it may be the last one that differs.", _first_row),
            Mistake("Look at every row: it may be the first one that differs.",
                    lambda f, x: bool(np.array_equal(f(x)[-1:], f(x[-1:])))),
            Mistake("Look at every row, not only at the ends.",
                    lambda f, x: all(np.array_equal(f(x)[i:][:1], f(x[i:][:1])) for i in (0, len(x) - 1))),
            Mistake("One answer for all rows: all(...).",
                    lambda f, x: [bool(np.array_equal(f(x)[i : i + 1], f(x[i : i + 1]))) for i in range(len(x))]),
            Mistake("The same call twice always agrees; compare with each row *alone*.", _twice),
        ],
        ["`product(x[i : i + 1])` is row i alone, with shape [1, N]."],
    ),
    Step(
        "quantise",
        _matrices,
        quantise,
        [
            Mistake("One scale per column: a column of large weights would spoil all the others.", _one_scale),
            Mistake("Per *output* column, axis 0; the inputs of one output share a scale.", _per_row),
            Mistake("Round to nearest; a cast cuts off.", _truncates),
            Mistake("Round to nearest, not down.",
                    lambda w: (np.floor(w / quantise(w)[1]).astype(np.int8), quantise(w)[1])),
            Mistake("Weights may be negative: int8, not uint8.",
                    lambda w: (quantise(w)[0].astype(np.uint8), quantise(w)[1])),
            Mistake("Return the values and the scales.", lambda w: quantise(w)[0]),
            Mistake("The largest *magnitude*: a weight may be negative.", _signed_maximum),
            Mistake("The values must be stored as int8 (`.astype(np.int8)`), or no byte is saved.",
                    lambda w: (np.rint(w / quantise(w)[1]), quantise(w)[1])),
            Mistake("The values must be stored as int8, one byte each.",
                    lambda w: (quantise(w)[0].astype(int), quantise(w)[1])),
            Mistake("The values must be stored as int8, one byte each.",
                    lambda w: (quantise(w)[0].astype(np.int32), quantise(w)[1])),
            Mistake("The scales are float32: `.astype(np.float32)`.",
                    lambda w: (quantise(w)[0], quantise(w)[1].astype(np.float64))),
            Mistake("127, not 128: the largest int8 is 127.",
                    lambda w: (np.rint(w / (quantise(w)[1] * np.float32(127 / 128))).clip(-128, 127).astype(np.int8),
                               np.where(np.abs(w).max(0) > 0, quantise(w)[1] * np.float32(127 / 128),
                                        np.float32(1)).astype(np.float32))),
            Mistake("A column of zeros would divide by zero: give it the scale 1.",
                    lambda w: (quantise(w)[0], (np.abs(w).max(axis=0) / 127).astype(np.float32))),
        ],
        ["`np.abs(weight).max(axis=0) / 127`", "Zeros: `np.where(scale > 0, scale, 1)`."],
        same_dtype=True,
    ),
]  # fmt: skip
