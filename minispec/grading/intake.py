"""Reads submissions without trusting a name, a size or a type in them.

What is taken: the entry file and Python files beside it, as text. Everything else is left where it is and listed.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import unicodedata
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from minispec.errors import InputError, reason, shown

MAX_FILE_BYTES, MAX_FILES, MAX_ENTRIES = 1 << 20, 40, 2000
_NAME = re.compile(r"[A-Za-z_]\w{0,60}\.py", re.ASCII)
_MAX_NOTES = 8


class SubmissionError(InputError):
    """A submission that cannot be graded at all; the report says why, and the class goes on."""


@dataclass
class Submission:
    """What was handed in.

    Parameters
    ----------
    name : str
        Of the file or folder.
    files : dict of str to str
        Python files by name.
    notes : list of str
        What was left out, and why.
    """

    name: str
    files: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def digest(self) -> str:
        """A name for exactly this content."""
        content = json.dumps(sorted(self.files.items())).encode("ascii")
        return hashlib.sha256(content).hexdigest()


def read_submission(path: Path, entry: str) -> Submission:
    """Read a Python file, a notebook, a folder or a zip.

    Parameters
    ----------
    path : Path
    entry : str
        The file the assignment asks for; a single file is taken for it whatever its name.

    Raises
    ------
    InputError
        If there is nothing at ``path``.
    SubmissionError
        If what is there cannot be graded.
    """
    if not os.path.lexists(path):
        raise InputError(f"there is no {shown(str(path))}; name a Python file, a notebook, a folder or a zip")
    submission = Submission(path.name)
    if path.is_dir() and not path.is_symlink():
        found = _in_folder(path, submission.notes)
    elif zipfile.is_zipfile(path) and path.suffix not in (".py", ".ipynb"):
        found = _in_zip(path, submission.notes)
    elif path.suffix in (".py", ".ipynb"):
        found = iter([(PurePosixPath(entry).with_suffix(path.suffix), _read_regular(path))])
    else:
        raise SubmissionError(f"{shown(path.name)} is no Python file, notebook, folder or zip that can be read")
    _take(list(found), entry, submission)
    submission.notes = sorted(submission.notes)
    if len(submission.notes) > _MAX_NOTES:
        more = len(submission.notes) - _MAX_NOTES
        submission.notes = [*submission.notes[:_MAX_NOTES], f"and {more} more"]
    return submission


Found = tuple[PurePosixPath, bytes]


def _take(found: list[Found], entry: str, submission: Submission) -> None:
    """Pick the folder that holds the entry, and from it the Python files."""
    wanted = (entry, PurePosixPath(entry).with_suffix(".ipynb").name)
    homes = sorted({path.parent for path, _ in found if path.name in wanted}, key=lambda home: (len(home.parts), home))
    if not homes:
        has = ", ".join(sorted(str(path) for path, _ in found)[:6]) or "no Python file"
        raise SubmissionError(f"there is no {entry} in it; it holds {has}")
    seen: dict[str, str] = {}
    for path, data in sorted(found, key=lambda one: (one[0].name not in wanted, one[0])):  # the entry comes first
        name = path.with_suffix(".py").name if path.name == wanted[1] else path.name
        folded = unicodedata.normalize("NFC", name).casefold()
        if path.parent != homes[0] or not _NAME.fullmatch(name):
            submission.notes.append(f"ignored {shown(str(path))}: not a Python file beside {entry}")
        elif folded in seen:
            submission.notes.append(f"ignored {shown(str(path))}: {seen[folded]} is there too")
        elif len(submission.files) == MAX_FILES:
            submission.notes.append(f"ignored {shown(str(path))}: more than {MAX_FILES} files")
        else:
            seen[folded] = path.name
            submission.files[name] = _text(path, data)


def _text(path: PurePosixPath, data: bytes) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SubmissionError(f"{shown(path.name)} is not UTF-8 text") from None
    return _notebook_code(text) if path.suffix == ".ipynb" else text


def _notebook_code(text: str) -> str:
    """Join the code cells of a notebook; cells that are tests of ours, and lines that are no Python, are left out."""
    try:
        cells = json.loads(text)["cells"]
        code = [_cell_source(cell) for cell in cells if cell["cell_type"] == "code" and not _is_test(cell)]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise SubmissionError(f"the notebook cannot be read: {type(error).__name__} {reason(error)}") from None
    lines = "\n\n".join(code).splitlines()
    return "\n".join("" if line.lstrip().startswith(("%", "!")) else line for line in lines) + "\n"


def _cell_source(cell: dict[str, Any]) -> str:
    source = cell["source"]
    return source if isinstance(source, str) else "".join(source)


def _is_test(cell: dict[str, Any]) -> bool:
    ours = cell.get("metadata", {}).get("nbgrader", {})
    return bool(ours.get("grade")) and not ours.get("solution")


def _in_folder(root: Path, notes: list[str]) -> Iterator[Found]:
    """Yield Python files and notebooks at most one folder deep; links are not followed."""
    count = 0
    for folder, names, files in os.walk(root, followlinks=False):
        depth = len(Path(folder).relative_to(root).parts)
        names[:] = sorted(name for name in names if depth < 1 and not name.startswith((".", "__")))
        for name in sorted(files):
            count += 1
            if count > MAX_ENTRIES:
                raise SubmissionError(f"it holds more than {MAX_ENTRIES} files")
            path = PurePosixPath(*Path(folder).relative_to(root).parts, name)
            if path.suffix in (".py", ".ipynb"):
                try:
                    yield path, _read_regular(Path(folder) / name)
                except SubmissionError as error:
                    notes.append(f"ignored {error}")
            else:
                notes.append(f"ignored {shown(str(path))}: not a Python file")


def _read_regular(path: Path) -> bytes:
    """Read a regular file of reasonable size, whatever is put in its place meanwhile."""
    try:
        fd = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        raise SubmissionError(f"{shown(path.name)}: cannot be opened ({error.strerror})") from None
    with os.fdopen(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise SubmissionError(f"{shown(path.name)}: not a regular file")
        data = file.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise SubmissionError(f"{shown(path.name)}: larger than {MAX_FILE_BYTES >> 20} MB")
    return data


def _in_zip(path: Path, notes: list[str]) -> Iterator[Found]:
    """Yield Python files and notebooks of an archive, read in memory: nothing is ever unpacked to a path it names."""
    try:
        with zipfile.ZipFile(path) as archive:
            if len(archive.infolist()) > MAX_ENTRIES:
                raise SubmissionError(f"the zip holds more than {MAX_ENTRIES} entries")
            for info in archive.infolist():
                if info.is_dir():
                    continue
                odd = _oddity(info)
                if odd:
                    notes.append(f"ignored {shown(info.filename)}: {odd}")
                    continue
                with archive.open(info) as file:
                    data = file.read(MAX_FILE_BYTES + 1)
                if len(data) > MAX_FILE_BYTES:
                    notes.append(f"ignored {shown(info.filename)}: larger than {MAX_FILE_BYTES >> 20} MB")
                else:
                    yield PurePosixPath(info.filename), data
    except (OSError, zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, ValueError) as error:
        if isinstance(error, SubmissionError):
            raise
        raise SubmissionError(f"the zip cannot be read: {reason(error)}") from None


def _oddity(info: zipfile.ZipInfo) -> str:
    """Say what is odd about an entry of an archive; empty if nothing is."""
    name = info.filename
    path = PurePosixPath(name)
    mode = info.external_attr >> 16
    if path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name or not name.isprintable():
        return "its path leads out of the archive or cannot be printed"
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        return "a link or a special file"
    if info.flag_bits & 1:
        return "encrypted"
    if path.suffix not in (".py", ".ipynb") or path.parts[0].startswith((".", "__")) or len(path.parts) > 2:
        return "not a Python file of the submission"
    return ""
