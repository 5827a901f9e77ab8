"""The files of a folder that say how text becomes tokens, read as transformers reads them.

``tokenizer.json`` says nearly all. Folders that were written without it have ``vocab.json`` and ``merges.txt``, and
what a tokenizer has beyond its vocabulary stands in up to three more: ``tokenizer_config.json``, or the older
``added_tokens.json`` and ``special_tokens_map.json``, which count where the first lists no added tokens.

Four things differ from transformers 5. A ``tokenizer.json`` is taken at its word: transformers builds the tokenizer
of class ``GPT2Tokenizer`` anew and drops a normalizer and a pre-tokenizer of another kind. The text of an added token
is what the file says, also where all its letters happen to be symbols of bytes (``<é>``, which the library decodes as
two broken characters). Tokens that a ``special_tokens_map.json`` calls special have no text, as in transformers 4,
also where ``added_tokens.json`` lists them. And decoding never removes spaces (``clean_up_tokenization_spaces``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from minispec.engine.loading.bundled import TOKENIZER, file_of
from minispec.engine.loading.checkpoint import read_json
from minispec.engine.model.config import GPT2Config, read_eos
from minispec.engine.tokenizer import END_OF_TEXT, Added, Additions, Tokenizer
from minispec.errors import ModelFileError, quote

CONFIG, ADDED, SPECIAL, GENERATION = (
    "tokenizer_config.json",
    "added_tokens.json",
    "special_tokens_map.json",
    "generation_config.json",
)
_NAMED = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
"""The special tokens that have a name, in the order in which those that the vocabulary lacks get their ids."""
_MORE = ("extra_special_tokens", "additional_special_tokens")
_ID = re.compile("[0-9]{1,9}")
_BUILT = (None, "GPT2Tokenizer", "GPT2TokenizerFast")
"""Classes whose settings in ``tokenizer_config.json`` hold beside a ``tokenizer.json``."""


def read_tokenizer(folder: Path) -> Tokenizer | None:
    """Return the tokenizer of a model folder, or None if it has none.

    Raises
    ------
    ModelFileError
        If a file is broken, or two contradict each other.
    """
    path, vocab, merges = file_of(folder, TOKENIZER), folder / "vocab.json", folder / "merges.txt"
    if path.is_file():
        return Tokenizer.from_file(path, _read_additions(folder, whole=True))
    if vocab.is_file() and merges.is_file():
        return Tokenizer.from_vocab_and_merges(vocab, merges, _read_additions(folder, whole=False))
    return None


def settle_ends(config: GPT2Config, folder: Path, tokenizer: Tokenizer | None) -> GPT2Config:
    """Return the config with the tokens that end a text.

    They are those of ``generation_config.json`` where it names any, as in transformers. Otherwise they are those of
    ``config.json`` and, beyond transformers, the ``eos_token`` of the tokenizer's files: a fine-tuned model often keeps
    the former of its base model, and ends its answers with the latter.

    Raises
    ------
    ModelFileError
        If ``generation_config.json`` is broken.
    """
    path = folder / GENERATION
    named = read_json(path).get("eos_token_id") if path.is_file() else None
    ends = read_eos(named, config.vocab_size, str(path))
    if ends or named == []:  # what is outside the vocabulary names none: fine-tunes keep 50256 in smaller ones
        return replace(config, eos_token_id=ends)
    own = None if tokenizer is None else tokenizer.eos_token_id
    if own is None or own >= config.vocab_size:
        return config
    return replace(config, eos_token_id=config.eos_token_id | {own})


def _read_additions(folder: Path, *, whole: bool) -> Additions:
    """Return what the other files add to a vocabulary; ``whole`` if that is a ``tokenizer.json``."""
    path = folder / CONFIG
    fields = read_json(path) if path.is_file() else {}
    built = not whole or fields.get("tokenizer_class") in _BUILT
    named = dict(fields)
    if "added_tokens_decoder" in fields:
        added = _read_decoder(fields["added_tokens_decoder"], path)
    else:
        if (folder / SPECIAL).is_file():
            path = folder / SPECIAL
            named |= read_json(path)
        specials = {_content(token, path) for token in _specials(named, path)}
        added = _read_added(folder / ADDED, specials)
    tokens = {token.content: token for token in added}
    for special in _specials(named, path):
        token = Added(special, special=True) if isinstance(special, str) else _read_token(special, path, special=True)
        known = tokens.get(token.content)
        tokens[token.content] = token if known is None else replace(known, special=True)
    ends = {key: _content(named[key], path) for key in ("bos_token", "eos_token") if named.get(key)}
    bos, eos = (
        ends.get(name, END_OF_TEXT) if not whole and _flag(fields, f"add_{name}", folder / CONFIG) else None
        for name in ("bos_token", "eos_token")
    )
    return Additions(
        tokens=tuple(tokens.values()),
        prefix_space=_flag(fields, "add_prefix_space", folder / CONFIG) if built else None,
        default_end=built,
        begin=bos,
        end=eos,
        eos_token=ends.get("eos_token"),
    )


def _flag(fields: Mapping[str, Any], key: str, path: Path) -> bool:
    value = fields.get(key)
    if value is not None and not isinstance(value, bool):
        raise ModelFileError(f"{path}: {key} is {quote(value)}; it must be true or false")
    return bool(value)


def _specials(fields: Mapping[str, Any], path: Path) -> list[Any]:
    """Return every special token that the fields name, as it stands there."""
    found = [fields[key] for key in _NAMED if fields.get(key)]
    found += [value for key, value in fields.items() if key.endswith("_token") and key not in _NAMED
              and isinstance(value, str) and value]  # fmt: skip
    for key in _MORE:
        value = fields.get(key) or []
        if not isinstance(value, list | dict):
            raise ModelFileError(f"{path}: {key} is {quote(value)}; it must be a list of tokens. Fetch it again")
        more = value.values() if isinstance(value, dict) else value
        if more:
            return [*found, *more]
    return found


def _read_decoder(value: Any, path: Path) -> list[Added]:
    """Return the tokens of ``added_tokens_decoder``, which maps ids to tokens, in the order of their ids."""
    if not isinstance(value, dict) or not all(_ID.fullmatch(key) for key in value):
        raise ModelFileError(
            f"{path}: added_tokens_decoder is {quote(value)}; it must map ids to tokens. Fetch it again"
        )
    return [replace(_read_token(value[key], path), token_id=int(key)) for key in sorted(value, key=int)]


def _read_added(path: Path, specials: set[str]) -> list[Added]:
    """Return the tokens of an ``added_tokens.json``, which maps tokens to ids, in the order of their ids."""
    found = read_json(path) if path.is_file() else {}
    for i in found.values():
        if isinstance(i, bool) or not isinstance(i, int) or not 0 <= i < 2**32:
            raise ModelFileError(f"{path}: a token has the id {quote(i)}; it must map tokens to ids. Fetch it again")
    return [
        Added(content, special=content in specials, normalized=content not in specials, token_id=i)
        for content, i in sorted(found.items(), key=lambda pair: pair[1])
    ]


def _content(token: Any, path: Path) -> str:
    """Return the text of a token, which stands there as it is or with its settings."""
    text = token.get("content") if isinstance(token, dict) else token
    if not isinstance(text, str):
        raise ModelFileError(f"{path}: a token is {quote(token)}; it must be text. Fetch it again")
    return text


def _read_token(token: Any, path: Path, *, special: bool = False) -> Added:
    content = _content(token, path)
    if not isinstance(token, dict):
        return Added(content, special=special)
    special = special or _flag(token, "special", path)
    settings = {key: _flag(token, key, path) for key in ("lstrip", "rstrip", "single_word")}
    normalized = _flag(token, "normalized", path) if "normalized" in token else not special
    return Added(content, special=special, normalized=normalized, **settings)
