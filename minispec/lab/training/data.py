"""Tokens in rows: the packed corpus, and batches that are a pure function of (seed, step).

Purity is what makes resuming exact: a run that stopped needs no position in the data, only the number of its next step.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from minispec.errors import CorpusError
from minispec.lab.training.corpus import Text

#: The token id of ``<|endoftext|>`` (the tokenizer's first special token).
END_ID = 0
#: Documents given to the tokenizer at once; it works on them in parallel.
ENCODE_AT_ONCE = 64


def encode(tokenizer: Tokenizer, documents: Sequence[str]) -> np.ndarray:
    """Encode documents into one row of uint16 tokens, each document ended by ``<|endoftext|>``."""
    end = np.array([END_ID], dtype=np.uint16)
    pieces: list[np.ndarray] = []
    for start in range(0, len(documents), ENCODE_AT_ONCE):
        for encoding in tokenizer.encode_batch(list(documents[start : start + ENCODE_AT_ONCE])):
            pieces += [np.array(encoding.ids, dtype=np.uint16), end]
    return np.concatenate(pieces)


def pack(
    tokenizer: Tokenizer, texts: Sequence[Text], words: Sequence[str], folder: Path
) -> dict[str, dict[str, object]]:
    """Encode every text into ``folder/NAME.SPLIT.npy``; write ``words.txt``, and ``manifest.json`` about the texts.

    Files are replaced whole: a run that has the old ones open keeps them.

    Parameters
    ----------
    words : sequence of str
        The word list that stories are checked against.

    Returns
    -------
    dict
        For each ``NAME.SPLIT``: source, sha256 of the cleaned text, documents, characters, tokens.
    """
    folder.mkdir(parents=True, exist_ok=True)
    manifest: dict[str, dict[str, object]] = {}
    fresh = folder / "fresh.tmp"
    for text in texts:
        tokens = encode(tokenizer, text.documents)
        write_tokens(tokens, folder / f"{text.name}.{text.split}.npy")
        manifest[f"{text.name}.{text.split}"] = {
            "source": text.source,
            "sha256": text.sha256,
            "documents": len(text.documents),
            "chars": text.num_chars,
            "tokens": len(tokens),
        }
    fresh.write_text("\n".join(words) + "\n", encoding="utf-8")
    fresh.replace(folder / "words.txt")
    write_manifest(manifest, folder)
    return manifest


def write_tokens(tokens: np.ndarray, path: Path) -> None:
    """Write a row of tokens, whole or not at all."""
    fresh = path.with_name("fresh.tmp")
    with fresh.open("wb") as file:
        np.save(file, tokens)
    fresh.replace(path)


def write_manifest(manifest: Mapping[str, Mapping[str, object]], folder: Path) -> None:
    """Write ``manifest.json``, whole or not at all."""
    fresh = folder / "fresh.tmp"
    fresh.write_text(json.dumps(manifest, indent=2) + "\n")
    fresh.replace(folder / "manifest.json")


def read_manifest(folder: Path) -> dict[str, dict[str, object]]:
    """Read what :func:`pack` wrote about the texts.

    Raises
    ------
    CorpusError
        There is no manifest.
    """
    path = folder / "manifest.json"
    if not path.is_file():
        raise CorpusError(f"{path} does not exist; tokens are packed before training. Run the pack stage first")
    manifest: dict[str, dict[str, object]] = json.loads(path.read_text())
    return manifest


def load_packed(folder: Path, split: str, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Open the packed tokens of a split, memory-mapped.

    Raises
    ------
    CorpusError
        One of them has not been packed.
    """
    packed = {}
    for name in names:
        path = folder / f"{name}.{split}.npy"
        if not path.is_file():
            raise CorpusError(f"{path} does not exist; tokens are packed before training. Run the pack stage first")
        packed[name] = np.load(path, mmap_mode="r", allow_pickle=False)
    return packed


@dataclass(frozen=True)
class Batch:
    """Rows of tokens with the position their first token takes.

    Attributes
    ----------
    tokens : ndarray of shape (B, T + 1), int64
        Inputs are ``tokens[:, :-1]``, targets ``tokens[:, 1:]``.
    offsets : ndarray of shape (B,), int64
        Position of the first token of each row.
    """

    tokens: np.ndarray
    offsets: np.ndarray


@dataclass(frozen=True)
class Batches:
    """An endless deterministic supply of training batches.

    Half of the rows start at position 0, as prompts do, and with a document where one begins within the next row's
    length; the others start anywhere and at a random position, so that rows much shorter than the context still train
    every position embedding.

    Attributes
    ----------
    packed : mapping of str to ndarray
        Tokens of each text.
    mix : mapping of str to float
        Share of rows per text; sums to 1.
    context : int
        Positions the model has.
    seed : int
        Together with the step it determines a batch.
    end_id : int
        The token that ends a document.
    """

    packed: Mapping[str, np.ndarray]
    mix: Mapping[str, float]
    context: int
    seed: int
    end_id: int = END_ID

    @cached_property
    def beginnings(self) -> dict[str, np.ndarray]:
        """Where documents begin in each text, in order: after every end of text."""
        return {name: np.flatnonzero(np.asarray(self.packed[name]) == self.end_id) + 1 for name in self.mix}

    def at(self, step: int, num_rows: int, length: int) -> Batch:
        """Return batch number `step`, of `num_rows` rows of `length` tokens (and one more to predict).

        Raises
        ------
        CorpusError
            A text is shorter than one row.
        """
        rng = np.random.default_rng([self.seed, step])
        names = sorted(self.mix)
        edges = np.cumsum([self.mix[name] for name in names])
        # Evenly spaced points with one random shift: every row has the right odds, and the shares hardly vary.
        points = (np.arange(num_rows) + rng.random()) / num_rows * edges[-1]
        chosen = np.searchsorted(edges, points, side="right").clip(max=len(names) - 1)
        offsets = rng.integers(self.context - length + 1, size=num_rows)
        offsets = np.where(rng.random(num_rows) < 0.5, 0, offsets)
        tokens = np.empty((num_rows, length + 1), dtype=np.int64)
        for row, number in enumerate(chosen):
            name = names[number]
            source = self.packed[name]
            if len(source) <= length:
                raise CorpusError(f"{name} has {len(source)} tokens; a row needs {length + 1}. Give more text")
            start = int(rng.integers(len(source) - length))
            if offsets[row] == 0:
                start = self._beginning_after(name, start, length)
            tokens[row] = source[start : start + length + 1]
        return Batch(tokens, offsets)

    def _beginning_after(self, name: str, start: int, length: int) -> int:
        """Return where the next document begins, or `start` where none begins within `length` tokens."""
        found = self.beginnings[name]
        index = np.searchsorted(found, start)
        if index < len(found) and found[index] <= min(start + length, len(self.packed[name]) - length - 1):
            return int(found[index])
        return start


def validation_rows(packed: np.ndarray, num_rows: int, length: int) -> np.ndarray:
    """Cut evenly spaced rows out of held-out tokens: always the same ones.

    Returns
    -------
    ndarray of shape (B, length + 1), int64
        At most `num_rows` rows; fewer when the text is short.
    """
    num_rows = min(num_rows, (len(packed) - 1) // length)
    if num_rows < 1:
        raise CorpusError(f"held-out text has {len(packed)} tokens; a row needs {length + 1}. Give more")
    starts = np.linspace(0, len(packed) - length - 1, num_rows).astype(np.int64)
    return np.stack([packed[start : start + length + 1] for start in starts]).astype(np.int64)
