"""GGUF: one file with weights, shape and vocabulary, as llama.cpp and Ollama read it."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from string import digits
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from minispec.engine.model.config import GPT2Config
from minispec.engine.tokenizer import NUMERALS_APART, Tokenizer, make_byte_alphabet
from minispec.errors import ModelFileError, missing

_LAYER = {
    "ln_1": "attn_norm",
    "attn.c_attn": "attn_qkv",
    "attn.c_proj": "attn_output",
    "ln_2": "ffn_norm",
    "mlp.c_fc": "ffn_up",
    "mlp.c_proj": "ffn_down",
}
"""Hugging Face's name of a part of a layer, and GGUF's."""


class Tensors(Protocol):
    """Gives tensors by their names without prefix, as :class:`minispec.engine.loading.checkpoint.Checkpoint` does."""

    def read(self, name: str) -> Any:
        """Return a tensor as float32."""
        ...


def write_gguf(
    tensors: Tensors,
    config: GPT2Config,
    path: Path,
    number_format: str,
    tokenizer: Tokenizer | None = None,
    name: str = "gpt2",
) -> None:
    """Write a model as GGUF.

    Parameters
    ----------
    tensors : Tensors
    config : GPT2Config
    path : Path
    number_format : {"f32", "f16", "q8_0"}
        Of the matrices; the rest stays float32.
    tokenizer : Tokenizer, optional
        Without one the file takes and gives token ids only.
    name : str

    Raises
    ------
    MissingDependencyError
        If the package ``gguf`` is not installed.
    ModelFileError
        If llama.cpp's GPT-2 computes something else than this model.
    """
    gguf = _library()
    _check(config)
    kind = gguf.GGMLQuantizationType[number_format.upper()]
    writer = gguf.GGUFWriter(path, "gpt2")
    writer.add_name(name)
    writer.add_context_length(config.n_positions)
    writer.add_embedding_length(config.n_embd)
    writer.add_block_count(config.n_layer)
    writer.add_feed_forward_length(config.n_inner)
    writer.add_head_count(config.n_head)
    writer.add_layer_norm_eps(config.layer_norm_epsilon)
    writer.add_vocab_size(config.vocab_size)
    if tokenizer is None:
        writer.add_tokenizer_model("none")
    else:
        _add_vocabulary(writer, gguf, tokenizer, config)

    def add(theirs: str, ours: str, turn: Callable[[NDArray[np.float32]], NDArray[np.float32]] = np.asarray) -> None:
        tensor = np.ascontiguousarray(turn(np.asarray(tensors.read(ours), np.float32)))
        if tensor.ndim == 1 or theirs == "position_embd.weight":
            writer.add_tensor(theirs, tensor)
        else:
            writer.add_tensor(theirs, gguf.quants.quantize(tensor, kind), raw_dtype=kind)

    add("token_embd.weight", "wte.weight")
    add("output.weight", "wte.weight" if config.tie_word_embeddings else "lm_head.weight")
    add("position_embd.weight", "wpe.weight")
    for i in range(config.n_layer):
        for ours, theirs in _LAYER.items():
            add(f"blk.{i}.{theirs}.weight", f"h.{i}.{ours}.weight", np.transpose)  # their rows are our columns
            add(f"blk.{i}.{theirs}.bias", f"h.{i}.{ours}.bias")
    add("output_norm.weight", "ln_f.weight")
    add("output_norm.bias", "ln_f.bias")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _library() -> Any:
    try:
        return importlib.import_module("gguf")
    except ImportError:
        raise missing("gguf", "GGUF files need", "export") from None


def _check(config: GPT2Config) -> None:
    """Refuse what llama.cpp's GPT-2 has no switch for: it would compute other logits without a word."""
    for what, value, needed in (
        ("activation_function", config.activation_function, ("gelu_new", "gelu_pytorch_tanh")),
        ("scale_attn_weights", config.scale_attn_weights, (True,)),
        ("scale_attn_by_inverse_layer_idx", config.scale_attn_by_inverse_layer_idx, (False,)),
    ):
        if value not in needed:
            raise ModelFileError(
                f"config.json: {what} is {value!r}; llama.cpp's GPT-2 knows only {' or '.join(map(repr, needed))}. "
                "Try --to hf"
            )


def encodes_as_gpt2(cut: Mapping[str, Any], merges: Sequence[Sequence[str]]) -> bool:
    """Whether text gets the tokens that it gets where it is cut into pieces by GPT-2's rule.

    GPT-2 takes a run of numerals as one piece. A tokenizer that cuts between them is the same if none of its merges
    joins two numerals: then they stay apart within one piece, too.
    """
    if cut.get("type") == "ByteLevel":
        return not cut.get("add_prefix_space") and bool(cut.get("use_regex", True))
    try:
        split, letters = cut["pretokenizers"]
        apart = split["pattern"]["Regex"] == NUMERALS_APART and split["behavior"] == "Isolated" and not split["invert"]
    except (KeyError, TypeError, ValueError):
        return False
    whole = letters.get("type") == "ByteLevel" and not letters.get("use_regex") and not letters.get("add_prefix_space")
    # Outside of ASCII a numeral ends with a byte from 80 on and begins with one from C2 on.
    ends = {letter for letter, byte in make_byte_alphabet().items() if letter in digits or byte >= 0x80}
    begins = {letter for letter, byte in make_byte_alphabet().items() if letter in digits or byte >= 0xC2}
    return apart and whole and not any(left[-1] in ends and right[0] in begins for left, right in merges)


def _add_vocabulary(writer: Any, gguf: Any, tokenizer: Tokenizer, config: GPT2Config) -> None:
    described = json.loads(tokenizer.to_json())
    merges = [pair.split(" ") if isinstance(pair, str) else pair for pair in described["model"]["merges"]]
    if not encodes_as_gpt2(described.get("pre_tokenizer") or {}, merges):
        kind = (described.get("pre_tokenizer") or {}).get("type")
        raise ModelFileError(
            f"the tokenizer cuts text as {kind!r}, not as GPT-2 does; llama.cpp would encode prompts otherwise. Try "
            "--to hf"
        )
    words = {token: text for text, token in described["model"]["vocab"].items()}
    kinds = dict.fromkeys(words, gguf.TokenType.NORMAL)
    for added in described.get("added_tokens", ()):
        words[added["id"]] = added["content"]
        kinds[added["id"]] = gguf.TokenType.CONTROL if added["special"] else gguf.TokenType.USER_DEFINED
    ids = range(config.vocab_size)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list([words.get(i, f"[PAD{i}]") for i in ids])
    writer.add_token_types([kinds.get(i, gguf.TokenType.UNUSED) for i in ids])
    writer.add_token_merges([" ".join(pair) for pair in merges])
    front, back = tokenizer.around()
    ends = sorted(config.eos_token_id)
    names = writer.add_eos_token_id, writer.add_eot_token_id, writer.add_eom_token_id  # llama.cpp ends at any of them
    if len(front) > 1 or len(back) > 1 or not {*back} <= {*ends[:1]} or len(ends) > len(names):
        raise ModelFileError(
            f"the files put tokens {front} in front of a prompt and {back} behind, and end a text at {ends}; a GGUF "
            f"file names one token each, and {len(names)} ends. Try --to hf"
        )
    writer.add_add_bos_token(bool(front))
    writer.add_add_eos_token(bool(back))
    for token in front or ends[:1]:
        writer.add_bos_token_id(token)
    for add, token in zip(names, ends, strict=False):
        add(token)
