"""The files that a draft is read from, and what tells them from others of the same name."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from minispec.engine.drafters.heads import load_head
from minispec.engine.drafters.heads.load import find_heads
from minispec.engine.drafters.spec import HEADS, KINDS, MODEL, DraftSpec, parse_draft
from minispec.engine.drafters.tables import read_text
from minispec.engine.loading.bundled import DEFAULT_DRAFT, TOKENIZER, file_of
from minispec.engine.loading.folder import find_folder
from minispec.engine.model.language_model import LanguageModel
from minispec.errors import ModelFileError


def named_files(spec: DraftSpec, target: LanguageModel) -> Iterator[tuple[str, list[Path]]]:
    """Yield what a draft reads besides its target, and in which files it lies; a plug-in's files only it knows.

    Raises
    ------
    InputError
        If one of them cannot be found or read, or is no head of this target.
    """
    if spec.kind in ("tree", "cascade", "forced"):
        inner = spec.options["draft"] or DEFAULT_DRAFT
        yield from () if inner == "none" else named_files(parse_draft(inner), target)
    elif spec.kind == MODEL:
        yield f"inner {spec.name}", model_files(find_folder(spec.name))
    elif spec.kind in HEADS:
        written = spec.options["head"]
        load_head(written, spec.kind, target)  # refuses what is no head of this target
        folder = Path(written).expanduser() if written else find_heads(getattr(target, "folder", None))[spec.kind]
        yield f"{spec.kind} {written or target.name}", model_files(folder)
    elif spec.kind in KINDS:
        for key in {"corpus", "text"} & spec.options.keys():
            if spec.options[key] is not None:
                read_text(spec.options[key], key)  # refuses what is no text
                yield f"{key} {spec.options[key]}", [Path(spec.options[key]).expanduser()]


def model_files(folder: Path) -> list[Path]:
    """Return the files that a model or a head is read from, in the order of their names."""
    found = {path for ending in ("json", "txt", "safetensors") for path in folder.glob(f"*.{ending}")}
    tokenizer = file_of(folder, TOKENIZER)
    return sorted(found | ({tokenizer} if tokenizer.is_file() else set()), key=lambda path: path.name)


def hash_files(paths: Iterable[Path]) -> str:
    """Return a hash of names and contents.

    Raises
    ------
    ModelFileError
        If one cannot be read.
    """
    whole = hashlib.sha256()
    for path in paths:
        try:
            with path.open("rb") as file:
                whole.update(f"{path.name} {hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
        except OSError as error:
            raise ModelFileError(f"{path} cannot be read ({error.strerror}). Name another, or mend it") from None
    return whole.hexdigest()
