"""Files that a command writes: refused before the work starts, and there as a whole or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TextIO

from minispec.errors import OutputError, explain, quote


def check_writable(path: Path | None) -> None:
    """Refuse a file that could not be written in the end; None is no file.

    Raises
    ------
    OutputError
        If its folder does not exist or cannot be written to, or what has its name is not a file: a folder, or a pipe or
        a device, whose place a file would take.
    """
    if path is None:
        return
    if not path.parent.is_dir():
        raise OutputError(f"folder {quote(str(path.parent))} does not exist; make it, or name a file in another one")
    if path.is_dir():
        raise OutputError(f"{quote(str(path))} is a folder; the output is a file. Try another name")
    if path.exists() and not path.is_file():
        raise OutputError(f"{quote(str(path))} is a pipe or a device, and a file would take its place. Name a file")
    if not os.access(path.parent, os.W_OK):
        raise OutputError(f"folder {quote(str(path.parent))} is not writable. Name a file in another one")


def check_apart(files: Mapping[str, Path | None]) -> None:
    """Refuse files of a command of which one would overwrite another, under the names that its arguments have.

    Raises
    ------
    OutputError
        If two are the same file.
    """
    seen: dict[Path, str] = {}
    for name, path in files.items():
        if path is None:
            continue
        other = seen.setdefault(path.resolve(), name)
        if other is not name:
            raise OutputError(f"{quote(str(path))} is both {other} and {name}, and would be overwritten. Name another")


def write_text(path: Path, text: str) -> None:
    """Write a text file; what was there is replaced as a whole or not at all.

    Raises
    ------
    OutputError
        If it cannot be written.
    """
    with open_whole(path) as file:
        file.write(text)


@contextlib.contextmanager
def open_whole(path: Path) -> Iterator[TextIO]:
    """Open a text file that appears under its name only when all of it is there.

    Raises
    ------
    OutputError
        If it cannot be written.
    """
    # "x": never through a link that somebody put there.
    with replace_whole(path) as partial, partial.open("x", encoding="utf-8") as file:
        yield file


@contextlib.contextmanager
def replace_whole(path: Path) -> Iterator[Path]:
    """Yield the name under which to write a file that then takes its place; it replaces a link, and follows none.

    Raises
    ------
    OutputError
        If it cannot be written.
    """
    check_writable(path)
    partial = path.with_name(f".{path.name}.partial")
    try:
        partial.unlink(missing_ok=True)
        yield partial
        os.replace(partial, path)
    except OSError as error:
        raise OutputError(f"{path} cannot be written ({explain(error)}). Choose another place") from None
    finally:
        partial.unlink(missing_ok=True)
