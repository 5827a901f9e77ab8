"""The checks of lesson 3: memory."""

from __future__ import annotations

from minispec.course.teaching import Mistake, Prediction, Reply, Step

PREDICTIONS = [
    Prediction(
        "one_row",
        0.5,
        "2 operations for each weight of 4 bytes.",
        [
            Reply(2, "That is per weight; a weight has 4 bytes."),
            Reply(0.25, "A multiplication *and* an addition."),
            Reply(8, "Upside down."),
        ],
    ),
    Prediction(
        "four_rows",
        1,
        "The weights are read once for all four rows, and reading is what takes the time.",
        [
            Reply(4, "It has four times as much to compute, but not more weights to read."),
            Reply(lambda a: a not in (1, 4), "Type 1 or 4, whichever is nearer."),
        ],
    ),
]


def intensity(rows: int, bytes_per_weight: float) -> float:
    return 2 * rows / bytes_per_weight


def weights_read(n_layer: int, n_embd: int, n_inner: int, vocab_size: int) -> int:
    return n_layer * (4 * n_embd * n_embd + 2 * n_embd * n_inner) + n_embd * vocab_size


def floor_seconds(num_weights: int, rows: int, bytes_per_weight: float, bandwidth: float, peak: float) -> float:
    return max(num_weights * bytes_per_weight / bandwidth, 2 * rows * num_weights / peak)


def ridge_rows(bytes_per_weight: float, bandwidth: float, peak: float) -> float:
    return bytes_per_weight * peak / (2 * bandwidth)


STEPS = [
    Step(
        "intensity",
        [(1, 4), (1, 1), (6, 4), (8, 2), (3, 0.5), (1, 16), (512, 2)],
        intensity,
        [
            Mistake("A multiplication and an addition: 2 operations per weight and row.", lambda m, b: m / b),
            Mistake("The weights are read once for all rows, not once per row.", lambda m, b: 2 / b),
            Mistake("Upside down: operations per byte, not bytes per operation.", lambda m, b: b / (2 * m)),
            Mistake("Larger weights mean *fewer* operations per byte: divide.", lambda m, b: 2 * m * b),
        ],
        ["Operations of one weight: 2 for each row. Bytes of one weight: bytes_per_weight."],
    ),
    Step(
        "weights_read",
        [(1, 2, 8, 10), (8, 384, 1408, 8192), (12, 768, 3072, 50257)],
        weights_read,
        [
            Mistake("A matrix of C × C has C² weights: multiply.", lambda n, c, i, v: n * (4 * c + 2 * i) + v),
            Mistake("The head has C · V weights, not V.", lambda n, c, i, v: n * (4 * c * c + 2 * c * i) + v),
            Mistake("Weights, not bytes.", lambda n, c, i, v: 4 * (n * (4 * c * c + 2 * c * i) + c * v)),
            Mistake("The MLP's matrices are C × I and I × C, not I × I.",
                    lambda n, c, i, v: n * (4 * c * c + i * i) + c * v),
            Mistake("The head is one matrix: C · V, once.", lambda n, c, i, v: n * (4 * c * c + 2 * c * i) + 2 * c * v),
            Mistake("The head is missing: C · V.", lambda n, c, i, v: n * (4 * c * c + 2 * c * i)),
            Mistake("The MLP has two matrices: C × I and I × C.", lambda n, c, i, v: n * (4 * c * c + c * i) + c * v),
            Mistake("c_attn makes queries, keys *and* values: C × 3C.",
                    lambda n, c, i, v: n * (2 * c * c + 2 * c * i) + c * v),
            Mistake("There is one attention output matrix of C × C besides c_attn.",
                    lambda n, c, i, v: n * (3 * c * c + 2 * c * i) + c * v),
            Mistake("There is one head, not one per layer.", lambda n, c, i, v: n * (4 * c * c + 2 * c * i + c * v)),
        ],
        ["Per layer: 3C² + C² + CI + IC. Once: CV."],
    ),
    Step(
        "floor_seconds",
        [(1000, 1, 4, 100.0, 1e6), (1000, 1, 4, 3000.0, 1e6), (1000, 1, 4, 1e9, 100.0), (1000, 8, 4, 1000.0, 5000.0), (10**6, 6, 1, 1e9, 2e9),
         (1000, 1, 4, 1e11, 1e13)],
        floor_seconds,
        [
            Mistake("They overlap: the larger of the two, not the sum.",
                    lambda n, m, b, w, p: n * b / w + 2 * m * n / p),
            Mistake("That is the time to read; with enough rows, computing takes longer.",
                    lambda n, m, b, w, p: n * b / w),
            Mistake("Bytes read: weights · bytes_per_weight. Operations: 2 · rows · weights, whatever the bytes.",
                    lambda n, m, b, w, p: max(n * b / w, 2 * m * n * b / p)),
            Mistake("Divide by the speed: bytes over bytes per second is seconds.",
                    lambda n, m, b, w, p: max(n * b * w, 2 * m * n * p)),
            Mistake("Seconds are bytes over bandwidth, not bandwidth over bytes.",
                    lambda n, m, b, w, p: max(w / (n * b), p / (2 * m * n))),
            Mistake("The slower of the two decides: max, not min.", lambda n, m, b, w, p: min(n * b / w, 2 * m * n / p)),
            Mistake("2 operations for each weight and row: a multiplication and an addition.",
                    lambda n, m, b, w, p: max(n * b / w, m * n / p)),
            Mistake("Every row computes: operations grow with the number of rows.",
                    lambda n, m, b, w, p: max(n * b / w, 2 * n / p)),
            Mistake("A weight takes bytes_per_weight bytes to read.",
                    lambda n, m, b, w, p: max(n / w, 2 * m * n / p)),
            Mistake("The weights are read once, whatever the number of rows.",
                    lambda n, m, b, w, p: max(m * n * b / w, 2 * m * n / p)),
        ],
        ["Bytes over bytes per second; operations over operations per second."],
    ),
    Step(
        "ridge_rows",
        [(4, 100.0, 1000.0), (1, 100.0, 1000.0), (2, 3.35e12, 9.9e14), (1, 1000.0, 100.0)],
        ridge_rows,
        [
            Mistake("2 operations per weight and row.", lambda b, w, p: b * p / w),
            Mistake("Upside down.", lambda b, w, p: 2 * w / (b * p)),
            Mistake("Divide by 2: a weight of b bytes is read in b/bandwidth, and used 2m times.",
                    lambda b, w, p: 2 * b * p / w),
            Mistake("Larger weights take longer to read, so there is *more* room for rows.",
                    lambda b, w, p: p / (2 * b * w)),
        ],
        ["Set b/bandwidth, the time to read a weight, equal to 2m/peak, the time to use it, and solve for m."],
    ),
]  # fmt: skip
