"""The GPT-2 config: every option of Hugging Face's that changes the numbers, and a clear no to the others."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from minispec.errors import ModelFileError, quote

ACTIVATIONS = {
    **dict.fromkeys(("gelu_new", "gelu_fast", "gelu_accurate", "gelu_pytorch_tanh", "gelu_python_tanh"), "gelu_new"),
    **dict.fromkeys(("gelu", "gelu_python"), "gelu"),
    "relu": "relu",
    **dict.fromkeys(("silu", "swish"), "silu"),
    "tanh": "tanh",
}
"""Hugging Face's names and the operation each one means."""

_USUAL_END = 50256  # GPT-2's, and Hugging Face's where a config names none
_MAX_SIZE = 2**31  # no dimension of a real model comes near; a larger one would ask for absurd memory


@dataclass(frozen=True, slots=True)
class GPT2Config:
    """Sizes and switches of a GPT-2-family model; the names are Hugging Face's.

    Parameters
    ----------
    vocab_size, n_positions, n_embd, n_layer, n_head : int
    n_inner : int
        Width of the MLP, 4 * n_embd unless the file says otherwise.
    activation_function : {"gelu_new", "gelu", "relu", "silu", "tanh"}
    layer_norm_epsilon : float
    scale_attn_weights : bool
        Divide the scores by sqrt(head size).
    scale_attn_by_inverse_layer_idx : bool
        Divide the scores of layer i by i + 1 as well.
    tie_word_embeddings : bool
        The head is the token embedding.
    eos_token_id : frozenset of int
        Tokens that end a text.
    """

    vocab_size: int
    n_positions: int
    n_embd: int
    n_layer: int
    n_head: int
    n_inner: int
    activation_function: str = "gelu_new"
    layer_norm_epsilon: float = 1e-5
    scale_attn_weights: bool = True
    scale_attn_by_inverse_layer_idx: bool = False
    tie_word_embeddings: bool = True
    eos_token_id: frozenset[int] = frozenset()

    @property
    def head_size(self) -> int:
        """D = n_embd / n_head."""
        return self.n_embd // self.n_head

    def attention_scale(self, layer: int) -> float:
        """Return what the scores of ``layer`` (from 0) are multiplied by."""
        scale = 1.0 / math.sqrt(self.head_size) if self.scale_attn_weights else 1.0
        return scale / (layer + 1) if self.scale_attn_by_inverse_layer_idx else scale

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any], name: str = "config.json") -> GPT2Config:
        """Read a Hugging Face ``config.json`` that has been parsed.

        ``reorder_and_upcast_attn`` needs no switch: it changes where Hugging Face scales and in which precision it
        multiplies, and in float32 both ways are the same function.

        Raises
        ------
        ModelFileError
            If it is not a GPT-2 config, or a value is missing, of the wrong type, or contradicts another.
        """
        if fields.get("model_type", "gpt2") != "gpt2":
            raise ModelFileError(
                f"{name}: model_type is {quote(fields['model_type'])}; minispec runs GPT-2-family models. Pick one"
            )
        if fields.get("add_cross_attention"):
            raise ModelFileError(f"{name}: add_cross_attention is true; minispec runs decoder-only models")
        sizes = {
            key: _read_size(fields, key, name) for key in ("vocab_size", "n_positions", "n_embd", "n_layer", "n_head")
        }
        if sizes["n_embd"] % sizes["n_head"]:
            raise ModelFileError(f"{name}: n_embd {sizes['n_embd']} is not a multiple of n_head {sizes['n_head']}")
        activation = fields.get("activation_function", "gelu_new")
        if not isinstance(activation, str) or activation not in ACTIVATIONS:
            raise ModelFileError(
                f"{name}: activation_function is {quote(activation)}; minispec knows {', '.join(ACTIVATIONS)}"
            )
        epsilon = fields.get("layer_norm_epsilon", 1e-5)
        if isinstance(epsilon, bool) or not isinstance(epsilon, int | float) or not 0.0 < epsilon < 1.0:
            raise ModelFileError(f"{name}: layer_norm_epsilon is {quote(epsilon)}; it must be a number between 0 and 1")
        return cls(
            **sizes,
            n_inner=4 * sizes["n_embd"] if fields.get("n_inner") is None else _read_size(fields, "n_inner", name),
            activation_function=ACTIVATIONS[activation],
            layer_norm_epsilon=float(epsilon),
            scale_attn_weights=_read_flag(fields, "scale_attn_weights", True, name),
            scale_attn_by_inverse_layer_idx=_read_flag(fields, "scale_attn_by_inverse_layer_idx", False, name),
            tie_word_embeddings=_read_flag(fields, "tie_word_embeddings", True, name),
            eos_token_id=read_eos(fields.get("eos_token_id", _USUAL_END), sizes["vocab_size"], name),
        )


def _read_size(fields: Mapping[str, Any], key: str, name: str) -> int:
    value = fields.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < _MAX_SIZE:
        raise ModelFileError(f"{name}: {key} is {quote(value)}; it must be a positive integer below 2**31")
    return value


def _read_flag(fields: Mapping[str, Any], key: str, default: bool, name: str) -> bool:
    value = fields.get(key, default)
    if not isinstance(value, bool):
        raise ModelFileError(f"{name}: {key} is {quote(value)}; it must be true or false")
    return value


def read_eos(value: Any, vocab_size: int, name: str) -> frozenset[int]:
    """Return the tokens that end a text, of a model with so many rows, from what a file named ``name`` says.

    Raises
    ------
    ModelFileError
        If it is neither an id, nor a list of ids, nor null.
    """
    ids = [] if value is None else value if isinstance(value, list) else [value]
    for token in ids:
        if isinstance(token, bool) or not isinstance(token, int) or token < 0:
            raise ModelFileError(f"{name}: eos_token_id is {quote(value)}; it must be token ids or null")
    return frozenset(token for token in ids if token < vocab_size)  # fine-tunes keep 50256 in smaller vocabularies
