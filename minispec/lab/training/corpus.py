"""Text in: corpus files as lists of documents.

A corpus folder holds plain UTF-8 files, ``NAME.train.txt`` and ``NAME.valid.txt``, each optionally compressed as
``.xz``, with documents separated by a line ``<|endoftext|>``.
"""

from __future__ import annotations

import hashlib
import lzma
from dataclasses import dataclass, field
from pathlib import Path

from minispec.errors import CorpusError

END_OF_TEXT = "<|endoftext|>"


@dataclass(frozen=True)
class Text:
    """Documents under one name and split, and where they come from.

    Attributes
    ----------
    name, split : str
        For example ``"tinystories"`` and ``"train"``; held-out text has the name of its domain.
    documents : tuple of str
        Cleaned text, one entry per document.
    source : str
        File names, packages with their versions, or a generator and its seed.
    """

    name: str
    split: str
    documents: tuple[str, ...] = field(repr=False)
    source: str

    @property
    def sha256(self) -> str:
        """Checksum of the cleaned documents, joined by the separator line."""
        digest = hashlib.sha256()
        for document in self.documents:
            digest.update(document.encode())
            digest.update(f"\n{END_OF_TEXT}\n".encode())
        return digest.hexdigest()

    @property
    def num_chars(self) -> int:
        """Characters in all documents together."""
        return sum(map(len, self.documents))


def clean(text: str) -> str:
    """Unify line ends and drop spaces at the ends of lines, so that no token is spent on what cannot be seen."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(line.rstrip() for line in lines).strip("\n")


def split_documents(text: str) -> tuple[str, ...]:
    """Cut a corpus file at its separator lines; empty documents vanish."""
    cleaned = (clean(part) for part in text.split(END_OF_TEXT))
    return tuple(document for document in cleaned if document)


def corpus_file(folder: Path, name: str) -> Path:
    """Find ``name.txt`` or ``name.txt.xz`` in a corpus folder.

    Raises
    ------
    CorpusError
        Neither exists.
    """
    for suffix in (".txt", ".txt.xz"):
        path = folder / (name + suffix)
        if path.is_file():
            return path
    raise CorpusError(
        f"{folder} has no {name}.txt or {name}.txt.xz; the recipe needs it. Give the folder that does with --corpus DIR"
    )


def read_text(path: Path) -> str:
    """Read one corpus file, plain or ``.xz``.

    Raises
    ------
    CorpusError
        The file is missing, empty, damaged or not UTF-8.
    """
    try:
        raw = path.read_bytes()
        if path.suffix == ".xz":
            raw = lzma.decompress(raw)
    except FileNotFoundError as error:
        raise CorpusError(f"{path} does not exist; a corpus file was expected there. Check --corpus DIR") from error
    except lzma.LZMAError as error:
        raise CorpusError(f"{path} is not a whole .xz file ({error}); unpack or copy it again") from error
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CorpusError(
            f"{path} is not UTF-8 at byte {error.start}; corpus files must be UTF-8. Convert it with iconv -t UTF-8"
        ) from error
    if not text.strip():
        raise CorpusError(
            f"{path} is empty; a corpus file needs at least one document. Put text in it or copy it again"
        )
    return text


def read_documents(folder: Path, name: str) -> tuple[str, ...]:
    """Read one file of a corpus folder as documents.

    Raises
    ------
    CorpusError
        The file is missing, empty, damaged, not UTF-8, or holds nothing but separators.
    """
    path = corpus_file(folder, name)
    documents = split_documents(read_text(path))
    if not documents:
        raise CorpusError(f"{path} holds only separators; a corpus file needs at least one document. Copy it again")
    return documents
