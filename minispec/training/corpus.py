"""Text in: the corpus files and the standard library, as lists of documents.

A corpus folder holds plain UTF-8 files, ``NAME.train.txt`` and ``NAME.valid.txt``, each optionally compressed as
``.xz``, with documents separated by a line ``<|endoftext|>``. Code needs no file: it is the standard library of the
interpreter that runs the recipe, whose version and checksum are part of the record.
"""

from __future__ import annotations

import hashlib
import lzma
import platform
import sysconfig
from dataclasses import dataclass, field
from pathlib import Path

from minispec.errors import CorpusError

END_OF_TEXT = "<|endoftext|>"
FILE_DOMAINS = ("stories", "novels", "questions")
DOMAINS = ("stories", "code", "novels", "questions")
VALID_DOMAINS = ("stories", "code", "questions")

#: Folders of the standard library that are data rather than code, or not the standard library at all.
SKIPPED_FOLDERS = frozenset({"site-packages", "dist-packages", "encodings", "pydoc_data", "__pycache__"})
#: One code file in this many, chosen by a hash of its path, is held out for validation.
HELD_OUT_ONE_IN = 40


@dataclass(frozen=True)
class Text:
    """Documents of one domain and split, and where they come from.

    Attributes
    ----------
    domain, split : str
        For example ``"stories"`` and ``"train"``.
    documents : tuple of str
        Cleaned text, one entry per document.
    source : str
        A file name, or the interpreter whose standard library this is.
    """

    domain: str
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


def read_domain(folder: Path, domain: str, split: str) -> Text:
    """Read one file of a corpus folder as documents."""
    path = corpus_file(folder, f"{domain}.{split}")
    documents = split_documents(read_text(path))
    if not documents:
        raise CorpusError(f"{path} holds only separators; a corpus file needs at least one document. Copy it again")
    return Text(domain, split, documents, path.name)


def is_held_out(relative_path: str) -> bool:
    """Whether a code file belongs to validation: a property of its path alone, the same on every machine."""
    digest = hashlib.sha256(relative_path.encode()).digest()
    return int.from_bytes(digest[:8], "big") % HELD_OUT_ONE_IN == 0


def read_code(split: str, root: Path | None = None) -> Text:
    """Read Python files, by default the standard library of this interpreter (tests included).

    Parameters
    ----------
    split : str
        ``"train"`` or ``"valid"`` (the held-out slice).
    root : Path, optional
        Another folder of Python files.

    Raises
    ------
    CorpusError
        No readable Python file under `root`.
    """
    if root is None:
        root = Path(sysconfig.get_paths()["stdlib"])
        source = f"standard library of {platform.python_implementation()} {platform.python_version()}"
    else:
        source = f"Python files of {root.name}"
    documents: dict[str, None] = {}  # a dict keeps the order and drops exact copies
    for path in sorted(root.rglob("*.py")):
        relative = path.relative_to(root)
        if SKIPPED_FOLDERS.intersection(relative.parts) or is_held_out(relative.as_posix()) != (split == "valid"):
            continue
        try:
            document = clean(path.read_bytes().decode("utf-8"))
        except UnicodeDecodeError:  # the library tests other encodings on purpose; those files are not our text
            continue
        if document:
            documents[document] = None
    if not documents:
        raise CorpusError(
            f"{root} holds no Python file for the {split} split; code comes from there. Use a full Python"
        )
    return Text("code", split, tuple(documents), source)


def read_corpus(folder: Path, code_root: Path | None = None) -> list[Text]:
    """Read everything the recipe uses: four training texts, three validation texts.

    Raises
    ------
    CorpusError
        Some file is missing, empty or not UTF-8; every file is looked at before any work starts.
    """
    if not folder.is_dir():
        raise CorpusError(f"{folder} is not a folder; --corpus needs the folder of the corpus files. Check the path")
    names = [(domain, "train") for domain in FILE_DOMAINS] + [("stories", "valid"), ("questions", "valid")]
    for domain, split in names:
        corpus_file(folder, f"{domain}.{split}")
    texts = [read_domain(folder, domain, split) for domain, split in names]
    return [*texts, read_code("train", code_root), read_code("valid", code_root)]
