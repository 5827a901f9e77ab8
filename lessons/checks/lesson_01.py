"""The checks of lesson 1: the forward."""

from __future__ import annotations

import numpy as np

from minispec.teaching import Mistake, Prediction, Reply, Step

PREDICTIONS = [
    Prediction(
        "shape",
        (10, 128),
        "One row per token, one column per channel: [T, C].",
        [
            Reply((8192, 128), "That is the whole table; only the rows of our tokens are taken."),
            Reply((9, 128), 'Count the tokens in the printed list, not the words: "Once" is two tokens.'),
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


def _masked_with_zero(queries, keys, values):
    length, size = queries.shape
    scores = np.where(np.triu(np.ones((length, length), bool), k=1), 0.0, queries @ keys.T / np.sqrt(size))
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ values


def softmax(logits: np.ndarray, temperature: float = 1.0) -> np.ndarray:
    weights = np.exp((logits - logits.max()) / temperature)
    return weights / weights.sum()


def _softmax_times(logits, temperature=1.0):
    return softmax(logits * temperature)


def _softmax_naive(logits, temperature=1.0):
    with np.errstate(all="ignore"):
        weights = np.exp(logits / temperature)
        return weights / weights.sum()


def _embeddings() -> list[tuple]:
    rng = np.random.default_rng(1)
    wte, wpe = rng.standard_normal((6, 3)), rng.standard_normal((8, 3))
    return [(wte, wpe, [2]), (wte, wpe, [5, 0, 5, 1]), (wte, wpe, [4, 4], 3)]


def _norms() -> list[tuple]:
    rng = np.random.default_rng(2)
    weight, bias = rng.standard_normal(4), rng.standard_normal(4)
    x = 3 + 2 * rng.standard_normal((3, 4))
    return [
        (np.array([[1.0, 2.0, 3.0, 4.0]]), np.ones(4), np.zeros(4)),
        (x, weight, bias),
        (1e-3 * x, weight, bias),
        (x, weight, bias, 0.5),
    ]


def _heads() -> list[tuple]:
    rng = np.random.default_rng(3)
    small = (np.array([[1.0], [1.0]]), np.array([[0.0], [1.0]]), np.array([[1.0], [2.0]]))
    return [
        small,
        *(tuple(rng.standard_normal((3, length, 4))) for length in (1, 3, 6)),
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
            Mistake("A score of 0 is not invisible: exp(0) is 1. Use −inf.", _masked_with_zero),
            Mistake("You swapped queries and keys.",
                    lambda q, k, v: _attention(k, q, v, scale=True, diagonal=1)),
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
        ],
        softmax,
        [
            Mistake("You multiply by the temperature; divide.", _softmax_times),
            Mistake("A large logit overflows: subtract the largest before `exp`.", _softmax_naive),
            Mistake("You ignore the temperature.", lambda logits, temperature=1.0: softmax(logits)),
            Mistake("The probabilities do not sum to 1.",
                    lambda logits, temperature=1.0: np.exp((logits - logits.max()) / temperature)),
        ],
        ["Subtract the maximum, divide by the temperature, exp, divide by the sum."],
    ),
]  # fmt: skip
