"""The formulas of all heads in float64 over whole texts, without any cache: what a draft's rows must be."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

from minispec.engine.model.weights import expected_shapes
from tests.models import random_gpt2

SIZES = {"vocab_size": 23, "n_positions": 200, "n_embd": 12, "n_layer": 3, "n_head": 3}
WORDS = (0, 3, 4, 9, 11, 20)


@cache
def target_of(backend: str):
    return random_gpt2(backend, seed=5, **SIZES)


def norm(x, weight, bias):
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5) * weight + bias


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


class Twin:
    """All formulas in float64 over whole texts; weights by name, as they are stored."""

    def __init__(self, weights, num_heads):
        self.w, self.num_heads = {name: np.asarray(value, np.float64) for name, value in weights.items()}, num_heads

    def linear(self, x, name):
        return x @ self.w[f"{name}.weight"] + self.w[f"{name}.bias"]

    def norm(self, x, name):
        return norm(x, self.w[f"{name}.weight"], self.w[f"{name}.bias"])

    def layer(self, x, i, before=None, mask=None):
        """One layer over rows x; keys and values of rows `before` come first. By default row t sees rows 0 to t."""
        own = self.norm(x, f"h.{i}.ln_1")
        seen = own if before is None else np.concatenate([self.norm(before, f"h.{i}.ln_1"), own])
        mask = np.tri(len(x), dtype=bool) if mask is None else mask
        queries = self.linear(own, f"h.{i}.attn.c_attn")[:, : x.shape[1]]
        keys, values = np.split(self.linear(seen, f"h.{i}.attn.c_attn")[:, x.shape[1] :], 2, axis=1)
        mixed = []
        for q, k, v in zip(*(np.split(a, self.num_heads, axis=1) for a in (queries, keys, values)), strict=True):
            scores = np.where(mask, q @ k.T / np.sqrt(q.shape[1]), -np.inf)
            weights = np.exp(scores - scores.max(-1, keepdims=True))
            mixed.append(weights / weights.sum(-1, keepdims=True) @ v)
        x = x + self.linear(np.concatenate(mixed, axis=1), f"h.{i}.attn.c_proj")
        return x + self.linear(gelu(self.linear(self.norm(x, f"h.{i}.ln_2"), f"h.{i}.mlp.c_fc")), f"h.{i}.mlp.c_proj")


@cache
def target_twin():
    """The target's weights by name, drawn as ``random_gpt2`` draws them."""
    model, generator, tensors = target_of("numba"), np.random.default_rng(5), {}
    for name, shape in expected_shapes(model.config):
        centre, spread = (1.0, 0.2) if "ln_" in name and name.endswith("weight") else (0.0, 1.0 / shape[-1] ** 0.5)
        tensors[name] = generator.normal(centre, spread, shape).astype(np.float32)
    return Twin(tensors, model.config.n_head)


def features_of(tokens) -> list[np.ndarray]:
    """The residual stream of a text after each layer, the first entry before all of them."""
    twin = target_twin()
    states = [twin.w["wte.weight"][tokens] + twin.w["wpe.weight"][: len(tokens)]]
    for i in range(SIZES["n_layer"]):
        states.append(twin.layer(states[-1], i))
    return states


def read_head(folder: str):
    config = json.loads((Path(folder) / "config.json").read_text())
    return Twin(load_file(Path(folder) / "model.safetensors"), config["num_heads"]), config


def softmax(logits, words):
    weights = np.exp(logits - logits.max())
    probs = np.zeros(SIZES["vocab_size"])
    probs[list(words) or slice(None)] = weights / weights.sum()
    return probs


def expect(kind: str, folder: str, tokens, drafted) -> list[np.ndarray]:
    """The distribution of each place of a draft, given the tokens before it that were drafted."""
    head, config = read_head(folder)
    target, states, depth = target_twin(), features_of(tokens[:-1]), config["num_layers"]
    if kind == "medusa":
        state = target.norm(states[-1][-1], "ln_f")
        guesses = gelu(head.linear(state, "guess")).reshape(-1, len(state)) + state
        return [softmax(guess @ target.w["wte.weight"].T, ()) for guess in guesses[: len(drafted) + 1]]
    embedded = target.w["wte.weight"]
    states = head.linear(head.norm(np.concatenate([states[i] for i in config["layers"]], axis=1), "norm"), "fuse")

    def row(output, bias=0.0):
        return softmax((head.norm(output, "ln_f") + bias) @ head.w["lm_head.weight"].T, config["words"])

    if kind == "block":
        begun = head.linear(embedded[tokens[-1]], "token") + head.linear(head.norm(states[-1], "norm_state"), "state")
        x = begun + head.w["place.weight"]
        everything = np.ones((len(x), len(states) + len(x)), bool)
        for i in range(depth):
            x = head.layer(x, i, before=states, mask=everything)
        biases = [0.0, *(head.linear(embedded[token], "previous") for token in drafted)]
        return [row(output, bias) for output, bias in zip(x, biases, strict=False)]
    expected, text = [], list(tokens)
    for token in [*drafted, None]:
        x = head.linear(embedded[text[1:]], "token") + head.linear(head.norm(states, "norm_state"), "state")
        for i in range(depth):
            x = head.layer(x, i)
        expected.append(row(x[-1]))
        states, text = np.concatenate([states, x[-1:]]), [*text, token]
    return expected
