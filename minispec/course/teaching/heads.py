"""What lessons 14 and 15 need to train heads by hand: the formulas, examples from texts of the target, and Adam."""

from __future__ import annotations

import importlib
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minispec.engine.batching import generate_many
from minispec.engine.drafters.heads import HeadConfig, compute_fingerprint
from minispec.engine.model import GPT2

Floats = Any
"""An array of numbers in float32 or float64."""

NUM_POSITIONS = 3
"""So many positions after a token does an example know."""

LOW = 2
"""The layer whose states are kept beside the last layer's, for comparison."""


def layer_norm(x: Floats, weight: Floats | float = 1.0, bias: Floats | float = 0.0, epsilon: float = 1e-5) -> Floats:
    """Norm the last axis, as in lesson 1."""
    x = x - x.mean(axis=-1, keepdims=True)
    return x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + epsilon) * weight + bias


def softmax(logits: Floats) -> Floats:
    """Return the distributions of rows of logits."""
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def gelu(x: Floats) -> Floats:
    """Return GPT-2's gelu."""
    return 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x**3)))


def gelu_slope(x: Floats) -> Floats:
    """Return the derivative of :func:`gelu`."""
    t = np.tanh(0.7978845608 * (x + 0.044715 * x**3))
    return 0.5 * (1 + t) + 0.3989422804 * x * (1 - t * t) * (1 + 0.134145 * x**2)


def guess_logits(state: Floats, seen: Floats, w: Floats, b: Floats, output: Floats) -> Floats:
    """Return a head's logits, shape (R, V): ``state`` + gelu(``seen`` w + b) under the output matrix.

    Parameters
    ----------
    state : ndarray of shape (R, C)
    seen : ndarray of shape (R, D)
    w, b : ndarray of shape (D, C) and (C,)
    output : ndarray of shape (V, C)
    """
    return (state + gelu(seen @ w + b)) @ output.T


def gradient(state: Floats, seen: Floats, w: Floats, b: Floats, output: Floats, p: Floats) -> tuple[Floats, Floats]:
    """Return the slopes, in w and in b, of the mean over the rows of −Σ p log q; p has shape (R, V)."""
    a = seen @ w + b
    q = softmax((state + gelu(a)) @ output.T)
    da = (q - p) @ output * gelu_slope(a) / len(p)
    return seen.T @ da, da.sum(axis=0)


class Adam:
    """Steps downhill: each slope is divided by its usual size, and the steps get smaller towards the end.

    Parameters
    ----------
    num_steps : int
    rate : float
        Size of the first step.
    """

    def __init__(self, num_steps: int, rate: float = 0.005) -> None:
        self._num_steps, self._rate, self._step = num_steps, rate, 0
        self._mean, self._square = [0.0, 0.0], [0.0, 0.0]

    def step(self, weights: Sequence[Any], slopes: Sequence[Any]) -> list[Any]:
        """Return the two weights after one step."""
        self._step += 1
        t, fall, moved = self._step, self._rate * (1 - self._step / (self._num_steps + 1)), []
        for i, (weight, slope) in enumerate(zip(weights, slopes, strict=True)):
            self._mean[i] = 0.9 * self._mean[i] + 0.1 * slope
            self._square[i] = 0.99 * self._square[i] + 0.01 * slope**2
            size = np.sqrt(self._square[i] / (1 - 0.99**t)) + 1e-8
            moved.append(weight - fall * self._mean[i] / (1 - 0.9**t) / size)
        return moved


def shuffle(num_rows: int, passes: int = 3, size: int = 64) -> list[NDArray[np.int64]]:
    """Return batches of row numbers: each row ``passes`` times, in an order drawn anew for each pass."""
    rng = np.random.default_rng(14)
    order = np.concatenate([rng.permutation(num_rows) for _ in range(passes)])
    return [order[i : i + size] for i in range(0, len(order), size)]


def train(
    state: Floats,
    seen: Floats,
    p: Floats,
    output: Floats,
    start: tuple[Floats, Floats] | None = None,
    *,
    passes: int = 3,
    rate: float = 0.005,
) -> tuple[Floats, Floats]:
    """Train a head's w and b on rows, as lesson 14 does.

    Parameters
    ----------
    state, seen, p, output : ndarray
        As in :func:`gradient`.
    start : (ndarray, ndarray), optional
        Where to begin; zeros if left out.
    passes : int
    rate : float
    """
    width = state.shape[1]
    w, b = start or (np.zeros((seen.shape[1], width), np.float32), np.zeros(width, np.float32))
    batches = shuffle(len(p), passes)
    adam = Adam(len(batches), rate)
    for rows in batches:
        w, b = adam.step((w, b), gradient(state[rows], seen[rows], w, b, output, p[rows]))
    return w.astype(np.float32), b.astype(np.float32)


class Examples:
    """What texts of the target show to a head, a row for each token that was fed."""

    def __init__(self, texts: Sequence[Mapping[str, Any]]) -> None:
        self._texts = texts

    def rows(self, what: str, later: int = 0) -> Any:
        """Return rows of all texts, one text after another.

        Parameters
        ----------
        what : {"state", "low", "embedding", "p", "tokens"}
            The normed state of the last layer, of layer 2; the embedding of the token; the target's distribution of
            what follows it; the token.
        later : int
            Of the token that stands so many positions after each.
        """
        return np.concatenate(
            [text[what][text["first"] + later : len(text["tokens"]) - NUM_POSITIONS + later] for text in self._texts]
        )

    def beginnings(self) -> list[Any]:
        """Return for each row the tokens up to the pending one, which was drawn from the row's state."""
        return [
            text["tokens"][: j + 2]
            for text in self._texts
            for j in range(text["first"], len(text["tokens"]) - NUM_POSITIONS)
        ]


def read_weights(target: GPT2) -> tuple[Floats, Floats, Floats]:
    """Return the output matrix, shape (V, C), and the weight and bias of the final norm."""
    fetch, final = target.backend.fetch, target.weights.ln_f
    output = fetch(target.backend.columns(target.weights.wte, np.arange(target.vocab_size)))
    return output, fetch(final.weight), fetch(final.bias)


def read_states(target: GPT2, tokens: Sequence[int], layers: Sequence[int]) -> tuple[list[Floats], Floats]:
    """Return what leaves each of these layers, shape (T, C) each, and the logits, shape (T, V)."""
    session = target.session()
    session.cache.keep_features(list(layers))
    logits = session.score(list(tokens))
    return [session.cache.read_features([layer], 0, len(tokens)) for layer in layers], logits


def collect(target: GPT2, prompts: Sequence[str], *, max_tokens: int = 64) -> tuple[Examples, Examples]:
    """Let the target write a text after each prompt, at temperature 1, and keep what its layers made of it.

    Parameters
    ----------
    target : GPT2
    prompts : sequence of str
    max_tokens : int
        Of each text.

    Returns
    -------
    Examples, Examples
        To learn from; held out (every third text).
    """
    assert target.tokenizer is not None  # a bundled model has one
    output, weight, bias = read_weights(target)
    texts = []
    written = generate_many(prompts, target=target, draft=None, temperature=1.0, max_tokens=max_tokens, seed=14)
    for prompt, made in zip(prompts, written, strict=True):
        before = target.tokenizer.encode(prompt)
        tokens = [*before, *made.token_ids]
        (low, top), logits = read_states(target, tokens, (LOW, target.config.n_layer))
        texts.append(
            {
                "tokens": tokens,
                "first": len(before) - 1,  # the prompt's other states are not what a draft begins with
                "embedding": output[tokens],
                "low": layer_norm(low),
                "state": layer_norm(top, weight, bias),
                "p": softmax(logits),
            }
        )
    return Examples([text for i, text in enumerate(texts) if i % 3]), Examples(texts[::3])


def save_medusa(heads: Sequence[tuple[Floats, Floats]], target: GPT2) -> Path:
    """Write heads for positions 1, 2, … into a temporary folder, as training does, and return it.

    Parameters
    ----------
    heads : sequence of (w, b)
    target : GPT2
        Its fingerprint goes into the folder: another target will refuse the head.
    """
    folder = Path(tempfile.mkdtemp()) / "my-medusa"
    folder.mkdir()
    layers = (target.config.n_layer,)
    config = HeadConfig("medusa", target.name, compute_fingerprint(target), layers=layers, length=len(heads))
    (folder / "config.json").write_text(json.dumps(asdict(config)), encoding="utf-8")
    safetensors: Any = importlib.import_module("safetensors.numpy")
    weights = {
        "guess.weight": np.concatenate([w for w, _ in heads], axis=1),
        "guess.bias": np.concatenate([b for _, b in heads]),
    }
    safetensors.save_file(weights, folder / "model.safetensors")
    return folder
