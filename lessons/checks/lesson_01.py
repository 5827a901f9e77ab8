"""The checks of lesson 1: the forward."""

from __future__ import annotations

import numpy as np

from minispec.course.teaching import Mistake, Prediction, Reply, Step

PREDICTIONS = [
    Prediction(
        "tables",
        0.75,
        "V · C + n_positions · C = 8192 · 128 + 1024 · 128: about 1.2 of 1.6 million. A small model is mostly its vocabulary.",
        [
            Reply(lambda a: a > 1, "A share is at most 1."),
            Reply(lambda a: a < 0.5, "More than half: a row of 128 numbers for each of 8192 tokens adds up."),
        ],
        tolerance=0.1,
    ),
    Prediction(
        "shape",
        (10, 128),
        "One row per token, one column per channel: [T, C].",
        [
            Reply((8192, 128), "That is the whole table; only the rows of our tokens are taken."),
            Reply((9, 128), "Count the tokens in the printed list, not the words: the full stop is a token, too."),
            Reply((128, 10), "Tokens are rows, channels are columns."),
            Reply((20, 128), "The embeddings are added, not put one after the other."),
            Reply((10, 256), "The embeddings are added, not put side by side."),
        ],
    ),
    Prediction(
        "visible",
        45,
        "Token t sees itself and t earlier ones: 1 + 2 + … + 9 = 45.",
        [
            Reply(36, "Almost: a token also sees itself."),
            Reply(81, "That would let every token look into the future."),
        ],
    ),
    Prediction(
        "order",
        "nothing",
        "Dividing by a positive number keeps the order; it only changes how far apart the probabilities are.",
        choices=("nothing", "reverses it", "shuffles it"),
    ),
]


def embed(wte: np.ndarray, wpe: np.ndarray, tokens: list[int], start: int = 0) -> np.ndarray:
    return wte[tokens] + wpe[start : start + len(tokens)]


def layer_norm(x: np.ndarray, weight: np.ndarray, bias: np.ndarray, epsilon: float = 1e-5) -> np.ndarray:
    mean = x.mean(axis=-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + epsilon) * weight + bias


def _norm_without_shift(x, weight, bias, epsilon=1e-5):
    return layer_norm(x, weight, np.zeros_like(bias), epsilon)


def _norm_over_everything(x, weight, bias, epsilon=1e-5):
    return (x - x.mean()) / np.sqrt(x.var() + epsilon) * weight + bias


def _norm_over_tokens(x, weight, bias, epsilon=1e-5):
    return (x - x.mean(0)) / np.sqrt(x.var(0) + epsilon) * weight + bias


def _norm_unbiased(x, weight, bias, epsilon=1e-5):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt(x.var(-1, ddof=1, keepdims=True) + epsilon) * weight + bias


def _norm_epsilon_outside(x, weight, bias, epsilon=1e-5):
    return (x - x.mean(-1, keepdims=True)) / (x.std(-1, keepdims=True) + epsilon) * weight + bias


def _attention(
    queries: np.ndarray, keys: np.ndarray, values: np.ndarray, *, scale: bool, diagonal: int | None
) -> np.ndarray:
    length, size = queries.shape
    scores = queries @ keys.T / (np.sqrt(size) if scale else 1.0)
    if diagonal is not None:
        scores = np.where(np.triu(np.ones((length, length), bool), k=diagonal), -np.inf, scores)
    largest = scores.max(axis=-1, keepdims=True)
    weights = np.exp(scores - np.where(np.isfinite(largest), largest, 0.0))
    total = weights.sum(axis=-1, keepdims=True)
    return weights / np.where(total > 0, total, 1.0) @ values


def attention(queries: np.ndarray, keys: np.ndarray, values: np.ndarray) -> np.ndarray:
    return _attention(queries, keys, values, scale=True, diagonal=1)


def _masked_with(queries, keys, values, score):
    length, size = queries.shape
    scores = np.where(np.triu(np.ones((length, length), bool), k=1), score, queries @ keys.T / np.sqrt(size))
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ values


def _masked_after_softmax(queries, keys, values):
    scores = queries @ keys.T / np.sqrt(queries.shape[1])
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.tril(weights / weights.sum(-1, keepdims=True)) @ values


def _naive_attention(queries, keys, values):
    length, size = queries.shape
    scores = np.where(np.triu(np.ones((length, length), bool), k=1), -np.inf, queries @ keys.T / np.sqrt(size))
    weights = np.exp(scores)
    return weights / weights.sum(-1, keepdims=True) @ values


def _softmax_over_queries(queries, keys, values):
    length, size = queries.shape
    scores = np.where(np.triu(np.ones((length, length), bool), k=1), -np.inf, queries @ keys.T / np.sqrt(size))
    weights = np.exp(scores - scores.max(0))
    return weights / weights.sum(0) @ values


def _weights_not_normalised(queries, keys, values):
    length, size = queries.shape
    scores = np.where(np.triu(np.ones((length, length), bool), k=1), -np.inf, queries @ keys.T / np.sqrt(size))
    return np.exp(scores - scores.max(-1, keepdims=True)) @ values


def softmax(logits: np.ndarray, temperature: float = 1.0) -> np.ndarray:
    weights = np.exp((logits - logits.max()) / temperature)
    return weights / weights.sum()


def _softmax_times(logits, temperature=1.0):
    return softmax(logits * temperature)


def _softmax_naive(logits, temperature=1.0):
    with np.errstate(all="ignore"):
        weights = np.exp(logits / temperature)
        return weights / weights.sum()


def _softmax_half_divided(logits, temperature=1.0):
    weights = np.exp(logits / temperature - logits.max())
    return weights / weights.sum()


def _embeddings() -> list[tuple]:
    wte = np.array([[1.0, 2.0], [3.0, 0.0], [5.0, 1.0], [0.0, 7.0], [2.0, 2.0], [9.0, 4.0]])
    wpe = np.array([[10.0, 0.0], [20.0, 0.0], [30.0, 0.0], [40.0, 10.0], [50.0, 10.0], [60.0, 20.0], [70.0, 0.0]])
    return [(wte, wpe, [2]), (wte, wpe, [5, 0, 5, 1]), (wte, wpe, [4, 4], 3), (wte / 7, -wpe / 7, [1, 3], 1)]


def _norms() -> list[tuple]:
    rng = np.random.default_rng(2)
    weight, bias = np.array([1.0, 2.0, 1.0, -1.0]), np.array([0.0, 1.0, 2.0, 3.0])
    x = 3 + 2 * rng.standard_normal((3, 4))
    return [
        (np.array([[1.0, 1.0, 5.0, 5.0]]), np.ones(4), np.zeros(4)),
        (np.array([[1.0, 1.0, 5.0, 5.0], [0.0, 8.0, 0.0, 0.0]]), weight, bias),
        (x, weight, bias),
        (1e-3 * x, weight, bias),
        (x, weight, bias, 0.5),
    ]


def _heads() -> list[tuple]:
    rng = np.random.default_rng(3)
    small = (np.array([[1.0], [1.0]]), np.array([[0.0], [1.0]]), np.array([[1.0], [2.0]]))
    return [
        small,
        (np.array([[0.0], [0.0], [0.0]]), np.array([[1.0], [2.0], [3.0]]), np.array([[6.0], [12.0], [0.0]])),
        (np.array([[-20.0], [0.0]]), np.array([[20.0], [0.0]]), np.array([[1.0], [2.0]])),  # scores of -400, weight 1
        *(tuple(rng.integers(-2, 3, (3, length, 4)).astype(float)) for length in (1, 3, 6)),
        tuple(40 * rng.standard_normal((3, 3, 4))),
    ]


STEPS = [
    Step(
        "embed",
        _embeddings,
        embed,
        [
            Mistake("You forgot the positions: without them the model cannot tell the order of the words.",
                    lambda wte, wpe, tokens, start=0: wte[tokens]),
            Mistake("You look up the position table with token ids. Positions count 0, 1, 2, …",
                    lambda wte, wpe, tokens, start=0: wte[tokens] + wpe[tokens]),
            Mistake("You ignore `start`: a continuation's first token does not stand at position 0.",
                    lambda wte, wpe, tokens, start=0: wte[tokens] + wpe[: len(tokens)]),
            Mistake("Add the two embeddings; do not multiply them.",
                    lambda wte, wpe, tokens, start=0: wte[tokens] * wpe[start : start + len(tokens)]),
            Mistake("Every token gets the same position.",
                    lambda wte, wpe, tokens, start=0: wte[tokens] + wpe[start]),
        ],
        ["Indexing an array with a list picks rows: `wte[tokens]`.", "The positions are start, start + 1, …: a slice."],
    ),
    Step(
        "layer_norm",
        _norms,
        layer_norm,
        [
            Mistake("You normalise over everything at once. Each row on its own: axis=-1, keepdims=True.",
                    _norm_over_everything),
            Mistake("You normalise over tokens. Each token on its own: axis=-1.", _norm_over_tokens),
            Mistake("The variance divides by C, not by C − 1.", _norm_unbiased),
            Mistake("Divide by the square root of the variance, not by the variance.",
                    lambda x, w, b, epsilon=1e-5: (x - x.mean(-1, keepdims=True))
                    / (x.var(-1, keepdims=True) + epsilon) * w + b),
            Mistake("The mean is not subtracted: x − mean, then divide.",
                    lambda x, w, b, epsilon=1e-5: x / np.sqrt(x.var(-1, keepdims=True) + epsilon) * w + b),
            Mistake("Epsilon is an argument, not always 1e-5.",
                    lambda x, w, b, epsilon=1e-5: layer_norm(x, w, b)),
            Mistake("Epsilon is missing: sqrt(variance + epsilon).",
                    lambda x, w, b, epsilon=1e-5: layer_norm(x, w, b, 0.0)),
            Mistake("Scale first, then shift: … * weight + bias.",
                    lambda x, w, b, epsilon=1e-5: (layer_norm(x, np.ones_like(w), np.zeros_like(b), epsilon) + b) * w),
            Mistake("Epsilon belongs under the root: sqrt(variance + epsilon).", _norm_epsilon_outside),
            Mistake("The shift is missing: add `bias`.", _norm_without_shift),
        ],
        ["Mean and variance over the last axis, kept as a column.", "`x.mean(axis=-1, keepdims=True)`, and so on."],
        rtol=1e-5,
    ),
    Step(
        "attention",
        _heads,
        attention,
        [
            Mistake("Every token sees the future. Set those scores to −inf before the softmax.",
                    lambda q, k, v: _attention(q, k, v, scale=True, diagonal=None)),
            Mistake("The scores are not divided by sqrt(D).",
                    lambda q, k, v: _attention(q, k, v, scale=False, diagonal=1)),
            Mistake("A token must see itself too: the mask begins one *above* the diagonal, k=1.",
                    lambda q, k, v: _attention(q, k, v, scale=True, diagonal=0)),
            Mistake("A score of 0 is not invisible: exp(0) is 1. Use −inf.",
                    lambda q, k, v: _masked_with(q, k, v, 0.0)),
            Mistake("A large negative number is not −inf: a visible score may be smaller. Mask with −np.inf.",
                    lambda q, k, v: _masked_with(q, k, v, -100.0)),
            Mistake("A large negative number is not −inf: a visible score may be smaller. Mask with −np.inf.",
                    lambda q, k, v: _masked_with(q, k, v, -100.0 / np.sqrt(q.shape[1]))),
            Mistake("You swapped queries and keys.",
                    lambda q, k, v: _attention(k, q, v, scale=True, diagonal=1)),
            Mistake("Divide by sqrt(D), not by D.",
                    lambda q, k, v: attention(q / np.sqrt(q.shape[1]), k, v)),
            Mistake("Divide by the *square root* of the size of a head, D, not of the number of tokens.",
                    lambda q, k, v: attention(q * np.sqrt(q.shape[1] / len(q)), k, v)),
            Mistake("The mask is the wrong way round: each token sees only the future.",
                    lambda q, k, v: attention(q[::-1], k[::-1], v[::-1])[::-1]),
            Mistake("A large score overflows: subtract the largest of the row before `exp`.", _naive_attention),
            Mistake("The weights of a row sum to 1, not those of a column: the softmax runs along the keys, axis=-1.",
                    _softmax_over_queries),
            Mistake("Mask before the softmax: after it the weights of a row no longer sum to 1.",
                    _masked_after_softmax),
            Mistake("The weights of a row do not sum to 1: divide by their sum, row by row (axis=-1).",
                    _weights_not_normalised),
        ],
        [
            "Scores first: `queries @ keys.T / np.sqrt(D)`, shape [T, T].",
            "`np.triu(np.ones((T, T), bool), k=1)` is True in the future.",
            "A row's weights: exp(score − largest), divided by their sum; then `weights @ values`.",
        ],
    ),
    Step(
        "softmax",
        [
            (np.array([0.0, 1.0]),),
            (np.array([0.0, 1.0, 2.0]), 0.5),
            (np.array([3.0, 1.0, -2.0, 1.0]), 2.0),
            (np.array([1000.0, 999.0, 0.0]),),
            (np.array([1000.0, 999.0, 0.0]), 0.5),
            (np.array([-1000.0, -1000.0]), 0.5),
            (np.array([1000.0, 0.0, 0.0, 0.0]), 0.5),
            (np.array([0.25, -7.5, 2.625, 1.75, -3.125]), 0.3),
            (np.array([0.25, -7.5, 2.625, 1.75, -3.125]), 1.3),
            (np.array([0.25, -7.5, 2.625, 1.75, -3.125]), 3.0),
        ],
        softmax,
        [
            Mistake("You multiply by the temperature; divide.", _softmax_times),
            Mistake("A large logit overflows: subtract the largest before `exp`.", _softmax_naive),
            Mistake("Divide by the temperature *after* subtracting the largest logit, or divide both.",
                    _softmax_half_divided),
            Mistake("You ignore the temperature.", lambda logits, temperature=1.0: softmax(logits)),
            Mistake("Do not round the scores: they are no whole numbers.",
                    lambda logits, temperature=1.0: softmax(np.round(logits), temperature)),
            Mistake("You cut the digits of the scores off: they are no whole numbers.",
                    lambda logits, temperature=1.0: softmax(np.trunc(logits), temperature)),
            Mistake("A small probability is not 0: leave it as it is.",
                    lambda logits, temperature=1.0: np.where(softmax(logits, temperature) < 1e-3, 0.0,
                                                             softmax(logits, temperature))),
            Mistake("The probabilities do not sum to 1.",
                    lambda logits, temperature=1.0: np.exp((logits - logits.max()) / temperature)),
        ],
        ["Subtract the maximum, divide by the temperature, exp, divide by the sum."],
    ),
]  # fmt: skip
