"""What a head is trained along: given texts, the recipe's own, or what the target writes behind their beginnings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from minispec.engine.batching.api import generate_many
from minispec.engine.loading import load_model, load_tokenizer
from minispec.engine.sampling.draw import find_likeliest
from minispec.engine.tokenizer import Tokenizer
from minispec.errors import CorpusError, explain
from minispec.lab.training.data import Batches, load_packed
from minispec.lab.training.export import file_sha256
from minispec.lab.training.mixture import DOMAINS, within

#: Share of each text, at its end, that is kept for the report.
HELD_OUT = 0.05
#: Tokens of a given text that the target goes on from; texts it writes at the same time.
BEGINNING, TEXTS_AT_ONCE = 8, 64


@dataclass(frozen=True)
class HeadText:
    """Tokens by text: what a head is trained along, and what is held out.

    Attributes
    ----------
    train, valid : mapping of str to ndarray
    mix : mapping of str to float
        Share of rows by text to train along; sums to 1.
    """

    train: Mapping[str, np.ndarray]
    valid: Mapping[str, np.ndarray]
    mix: Mapping[str, float]

    def likeliest(self, num_words: int) -> list[int]:
        """Return the most frequent tokens of the mix, or all that occur for 0."""
        size = 1 + max(int(tokens.max()) for tokens in self.train.values())
        shares = np.zeros(size)
        for name, tokens in self.train.items():
            shares += self.mix[name] / len(tokens) * np.bincount(tokens, minlength=size)
        occurring = int(np.count_nonzero(shares))
        likeliest = find_likeliest(shares, min(num_words or occurring, occurring))
        return [int(token) for token in likeliest]


def read_given(folder: Path, end: int, texts: Sequence[Path], work: Path | None, row_length: int) -> HeadText:
    """Read text files for the target in `folder`, or the packed text of the recipe.

    Parameters
    ----------
    work : Path or None
        The recipe's work folder (see :mod:`minispec.lab.training.stages`), instead of `texts`.

    Raises
    ------
    CorpusError
        If there are both or neither; see also :func:`read_texts` and :func:`read_packed`.
    """
    if bool(texts) == bool(work):
        both = "both --text and --work are given" if work else "there is no text"
        raise CorpusError(f"{both}; a head is trained along text files or the recipe's text. Give --text or --work")
    return read_packed(folder, work) if work else read_texts(load_tokenizer(folder), end, texts, row_length)


def read_packed(folder: Path, work: Path) -> HeadText:
    """Read the recipe's packed text: as many rows of each domain, and its held-out text for the report.

    Raises
    ------
    CorpusError
        If it is not packed, or was encoded with another tokenizer than that of the target in `folder`.
    """
    ours, theirs = folder / "tokenizer.json", work / "tokenizer.json"
    if not theirs.is_file() or not ours.is_file() or file_sha256(ours) != file_sha256(theirs):
        raise CorpusError(
            f"the text in {work} is not encoded with the tokenizer of {folder}; a head reads the target's tokens. Copy "
            f"its tokenizer.json there and run the pack stage"
        )
    mix = {name: share / len(DOMAINS) for domain in DOMAINS for name, share in within(domain).items()}
    packed = work / "packed"
    return HeadText(load_packed(packed, "train", tuple(mix)), load_packed(packed, "valid", tuple(DOMAINS)), mix)


def read_texts(tokenizer: Tokenizer, end: int, paths: Sequence[Path], row_length: int) -> HeadText:
    """Read text files, each a text of its own; each document is followed by ``end``.

    Raises
    ------
    CorpusError
        If a file cannot be read, is not UTF-8, or its held-out part is no row long.
    """
    train: dict[str, np.ndarray] = {}
    valid: dict[str, np.ndarray] = {}
    for path in paths:
        tokens = _read_tokens(tokenizer, end, path)
        if len(tokens) * HELD_OUT <= row_length + 1:
            least = int((row_length + 1) / HELD_OUT) + 1
            raise CorpusError(f"{path} has {len(tokens)} tokens; training needs {least} or more. Give more text")
        name = path.stem if path.stem not in train else str(path)
        held_out = int(len(tokens) * (1.0 - HELD_OUT))
        train[name], valid[name] = tokens[:held_out], tokens[held_out:]
    whole = sum(map(len, train.values()))
    return HeadText(train, valid, {name: len(tokens) / whole for name, tokens in train.items()})


def _read_tokens(tokenizer: Tokenizer, end: int, path: Path) -> np.ndarray:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CorpusError(f"{path} cannot be read as UTF-8 text ({explain(error)}). Give text files") from None
    documents = [part.strip() for part in text.split("<|endoftext|>") if part.strip()]
    if not documents:
        raise CorpusError(f"the text {path} is empty; training needs some. Give it with --text")
    return np.array([token for document in documents for token in (*tokenizer.encode(document), end)], np.int64)


def write_on(folder: Path, text: HeadText, end: int, num_tokens: int, row_length: int, seed: int) -> HeadText:
    """Let the target in `folder` write what a head is trained along, at temperature 1, behind beginnings of the texts.

    A head drafts what the target writes, not what others wrote (self-distillation). What is held out stays as given.
    Our engine writes it, so the same seed gives the same text wherever the kernels have the same vectors.

    Parameters
    ----------
    num_tokens : int
        The least that it writes.
    row_length : int
        The most tokens of a text, its beginning included.
    """
    target = load_model(folder)
    beginnings, given = Batches(text.train, text.mix, row_length, seed, end), min(BEGINNING, row_length // 2)
    rows: list[list[int]] = []
    while sum(map(len, rows)) < num_tokens:
        prompts = beginnings.at(len(rows), TEXTS_AT_ONCE, given).tokens[:, :given].tolist()
        made = generate_many(
            prompts,
            target=target,
            draft=None,
            seed=seed + len(rows),
            concurrency=TEXTS_AT_ONCE,
            temperature=1.0,
            top_p=1.0,
            max_tokens=row_length - given,
        )
        rows += [[*prompt, *each.token_ids] for prompt, each in zip(prompts, made, strict=True)]
    tokens = np.concatenate([row if row[-1] == end else [*row, end] for row in rows])
    return HeadText({(name := "written by the target"): tokens}, text.valid, {name: 1.0})
