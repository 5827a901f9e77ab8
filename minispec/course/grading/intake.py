"""Reads submissions without trusting a name, a size or a type in them.

What is taken: the entry file, and the Python files and packages beside it, as text. Everything else is left where it
is and listed.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
import stat
import tarfile
import unicodedata
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from minispec.course.grading.magics import code_of
from minispec.errors import InputError, explain, quote

MAX_FILE_BYTES, MAX_FILES, MAX_ENTRIES, MAX_BYTES = 1 << 20, 40, 2000, 4 << 20
MAX_NOTEBOOK_BYTES = 32 << 20
"""Of a notebook with its outputs; its code may be as long as a file."""
MAX_UNPACKED = 64 << 20
"""Of a compressed tar, which cannot be read in part."""
_MAX_DEPTH = 6
_NAME = re.compile(r"[^\W\d]\w{0,60}")
_NOT_WORK = re.compile(r"[._].*|venv|env|node_modules|site-packages")
"""Folders that hold no work of the student's."""
_COPY = re.compile(r"(([ _-]*(\(\d+\)|copy|kopie))+|-\d+)$", re.IGNORECASE)
"""What browsers, systems and platforms put behind the name of a file that is there already."""
_KINDS = (".py", ".ipynb")
_MAX_NOTES = 8
_PACKED = (".7z", ".rar", ".zip", ".tar", ".tgz", ".gz", ".xz", ".bz2", ".zst")


class SubmissionError(InputError):
    """A submission that cannot be graded at all; the report says why, and the class goes on."""


@dataclass
class Submission:
    """What was handed in.

    Parameters
    ----------
    name : str
        Of the file or folder, printable.
    files : dict of str to str
        Python files by path from the entry's folder.
    cells : dict of str to list of int
        Those that were notebooks, and the lines at which their cells begin.
    notes : list of str
        What was left out, and why.
    """

    name: str
    files: dict[str, str] = field(default_factory=dict)
    cells: dict[str, list[int]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def digest(self) -> str:
        """A name for exactly this content."""
        content = json.dumps(sorted(self.files.items())).encode("ascii")
        return hashlib.sha256(content).hexdigest()


def name_of(path: Path) -> str:
    """Return a file's name as reports write it: printable, and short."""
    name = path.name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in name)[:120]


def read_submission(path: Path, entry: str) -> Submission:
    """Read a Python file, a notebook, a folder, a zip or a tar.

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
        raise InputError(f"there is no {quote(str(path))}; name a Python file, a notebook, a folder or a zip")
    submission = Submission(name_of(path))
    try:
        with _open_submission(path, entry, submission.notes) as found:
            _take(found, entry, submission)
    except InputError:
        raise
    except Exception as error:  # archives break in more ways than their readers list
        raise SubmissionError(f"it cannot be read: {type(error).__name__} {explain(error)}; pack it anew") from None
    submission.notes = sorted(submission.notes)
    if len(submission.notes) > _MAX_NOTES:
        more = len(submission.notes) - _MAX_NOTES
        submission.notes = [*submission.notes[:_MAX_NOTES], f"and {more} more"]
    return submission


Found = dict[PurePosixPath, Callable[[], bytes]]
"""The Python files and notebooks there are, and how to read each."""


@contextmanager
def _open_submission(path: Path, entry: str, notes: list[str]) -> Iterator[Found]:
    """List what a submission holds, whatever it is packed in."""
    is_file = path.is_file() and not path.is_symlink()
    if path.is_dir() and not path.is_symlink():
        yield _in_folder(path, notes)
    elif path.suffix.lower() in _KINDS:
        yield {PurePosixPath(entry).with_suffix(path.suffix.lower()): lambda: _read_regular(path)}
    elif is_file and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            yield _in_zip(archive, notes)
    elif is_file and tarfile.is_tarfile(path):
        with tarfile.open(path) as archive:
            yield _in_tar(archive, notes)
    else:
        ending = path.suffix.lower()
        way_out = "pack it as a zip" if ending in _PACKED else f"hand in {entry} or a notebook"
        raise SubmissionError(
            f"{quote(name_of(path))} is no Python file, notebook, folder, zip or tar that can be read; "
            + ("it is damaged, pack it anew" if ending == ".zip" else way_out)
        )


def _take(found: Found, entry: str, submission: Submission) -> None:
    """Pick the folder that holds the entry, and from it the Python files and packages."""
    wanted = (entry, PurePosixPath(entry).with_suffix(".ipynb").name)
    found = _straighten(found, wanted)
    homes = sorted({path.parent for path in found if path.name in wanted}, key=lambda home: (len(home.parts), home))
    if not homes:
        has = ", ".join(quote(str(path)) for path in sorted(found)[:6]) or "no Python file"
        raise SubmissionError(f"there is no {entry} in it; it holds {has}. Name your file {entry}")
    home = homes[0]
    for other in homes[1:]:
        submission.notes.append(f"ignored {quote(str(other / entry))}: {quote(str(home / entry))} is there too")
    seen: dict[str, str] = {}
    size = 0
    for path in sorted(found, key=lambda path: (path != home / wanted[0], path != home / wanted[1], path)):
        if path.parent != home and home not in path.parents:
            continue
        inside = path.relative_to(home)
        name = str(inside.with_suffix(".py")) if path == home / wanted[1] else str(inside)
        folded = unicodedata.normalize("NFC", name).casefold()
        if not name.endswith(".py") or not all(map(_NAME.fullmatch, [*inside.parts[:-1], inside.stem])):
            submission.notes.append(f"ignored {quote(str(path))}: not a Python file beside {entry}")
        elif folded in seen:
            submission.notes.append(f"ignored {quote(str(path))}: {seen[folded]} is there too, and counts")
        elif len(submission.files) == MAX_FILES or size > MAX_BYTES:
            submission.notes.append(f"ignored {quote(str(path))}: more than {MAX_FILES} files or {MAX_BYTES >> 20} MB")
        else:
            seen[folded] = path.name
            try:
                data = found[path]()
                text = _text(path, data, name, submission)
                if len(text) > MAX_FILE_BYTES:
                    raise SubmissionError(f"{quote(path.name)}: more than {MAX_FILE_BYTES >> 20} MB of code")
                submission.files[name] = text
                size += len(text)
            except SubmissionError as error:
                if path.name in wanted and path.parent == home:
                    raise
                submission.notes.append(f"ignored {error}")


def _straighten(found: Found, wanted: tuple[str, ...]) -> Found:
    """Give each file its ending in small letters, and the entry its name where only a copy of it is there.

    ``A1.PY`` and ``a1 (1).py`` are the entry ``a1.py`` where no file has that name.
    """
    straight: Found = {}
    for path in sorted(found, key=lambda path: (path.suffix not in _KINDS, path)):
        straight.setdefault(path.with_suffix(path.suffix.lower()), found[path])
    if any(path.name in wanted for path in straight):
        return straight
    copies = {path: path.with_name(_COPY.sub("", path.stem).lower() + path.suffix) for path in straight}
    copies = {path: name for path, name in copies.items() if name.name in wanted}
    for path, name in copies.items():
        others = [other for other in copies if copies[other] == name]
        if len(others) > 1:
            raise SubmissionError(
                f"it holds {' and '.join(quote(str(other)) for other in others[:4])}; hand in one, named {name.name}"
            )
        straight[name] = straight.pop(path)
    return straight


def _text(path: PurePosixPath, data: bytes, name: str, submission: Submission) -> str:
    """Decode a file as Python does, and as Windows writes it."""
    try:
        if path.suffix == ".ipynb":
            text, submission.cells[name] = code_of(data.decode("utf-8-sig"))
        elif data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            text = data.decode("utf-16")
        else:
            text = importlib.util.decode_source(data)
    except (UnicodeDecodeError, SyntaxError):
        odd = data[: _first_odd(data)].count(b"\n") + 1
        raise SubmissionError(
            f"{quote(path.name)}: line {odd} is not UTF-8 text, and no other encoding is declared; save it as UTF-8"
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise SubmissionError(f"the notebook cannot be read: {type(error).__name__} {explain(error)}") from None
    if path.suffix == ".ipynb" and not submission.cells[name]:
        raise SubmissionError(f"{quote(path.name)} has no code cell, tests aside; write the functions into one")
    if half := re.search("[\ud800-\udfff]", text):  # JSON and some encodings can write it; no file could hold it
        raise SubmissionError(f"{quote(path.name)} holds half a character, {quote(half[0])}; write it anew")
    if path.suffix == ".ipynb":
        return text
    lines = text.split("\n")
    for i, line in enumerate(lines[:2]):  # it is UTF-8 from here on, whatever it declares
        lines[i] = re.sub(r"^([ \t\f]*#.*?coding[:=][ \t]*)[-\w.]+", r"\1utf-8", line)
    return "\n".join(lines)


def _first_odd(data: bytes) -> int:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start
    return 0


def _in_folder(root: Path, notes: list[str]) -> Found:
    """List a folder; links are not followed."""
    found: Found = {}
    count = 0
    for folder, names, files in os.walk(root, followlinks=False):
        inside = Path(folder).relative_to(root).parts
        names[:] = sorted(name for name in names if len(inside) < _MAX_DEPTH and not _NOT_WORK.fullmatch(name))
        for name in sorted(files):
            count += 1
            if count > MAX_ENTRIES:
                raise SubmissionError(f"it holds more than {MAX_ENTRIES} files")
            path, place = PurePosixPath(*inside, name), Path(folder) / name
            if path.suffix.lower() in _KINDS:
                found[path] = lambda place=place: _read_regular(place)  # type: ignore[misc]
            else:
                notes.append(f"ignored {quote(str(path))}: not a Python file")
    return found


def _read_regular(path: Path) -> bytes:
    """Read a regular file of reasonable size, whatever is put in its place meanwhile."""
    try:
        fd = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        raise SubmissionError(f"{quote(name_of(path))}: cannot be opened ({error.strerror})") from None
    with os.fdopen(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise SubmissionError(f"{quote(name_of(path))}: not a regular file")
        return _read_bounded(file.read, name_of(path))


def _read_bounded(read: Callable[[int], bytes], name: str) -> bytes:
    limit = MAX_NOTEBOOK_BYTES if name.lower().endswith(".ipynb") else MAX_FILE_BYTES
    data = read(limit + 1)
    if len(data) > limit:
        raise SubmissionError(f"{quote(name)}: larger than {limit >> 20} MB")
    return data


def _in_zip(archive: zipfile.ZipFile, notes: list[str]) -> Found:
    """List a zip. It is read in memory: nothing is ever unpacked to a path it names."""
    if len(archive.infolist()) > MAX_ENTRIES:
        raise SubmissionError(f"the zip holds more than {MAX_ENTRIES} entries")

    def read(info: zipfile.ZipInfo) -> bytes:
        try:
            with archive.open(info) as file:
                return _read_bounded(file.read, info.filename)
        except SubmissionError:
            raise
        except Exception as error:  # damaged, in one of many ways
            raise SubmissionError(f"{quote(info.filename)}: damaged ({explain(error)})") from None

    found: Found = {}
    for info in archive.infolist():
        if info.is_dir():
            continue
        mode = stat.S_IFMT(info.external_attr >> 16)
        special = "a link or a special file" if mode not in (0, stat.S_IFREG) else ""
        special = "encrypted" if info.flag_bits & 1 else special
        _list(info.filename, special, found, notes, lambda info=info: read(info))  # type: ignore[misc]
    return found


def _in_tar(archive: tarfile.TarFile, notes: list[str]) -> Found:
    """List a tar, compressed or not, in the same way."""
    found: Found = {}
    size = 0
    for count, info in enumerate(archive, 1):
        size += info.size
        if count > MAX_ENTRIES or size > MAX_UNPACKED:
            raise SubmissionError(f"the tar holds more than {MAX_ENTRIES} entries or {MAX_UNPACKED >> 20} MB")

        def read(info: tarfile.TarInfo = info) -> bytes:
            file = archive.extractfile(info)
            assert file is not None  # a regular file
            return _read_bounded(file.read, info.name)

        if not info.isdir():
            _list(info.name, "" if info.isreg() else "a link or a special file", found, notes, read)
    return found


def _list(name: str, special: str, found: Found, notes: list[str], read: Callable[[], bytes]) -> None:
    """Add an entry of an archive to what there is, or say why not. Windows separates folders by backslashes."""
    path = PurePosixPath(name.replace("\\", "/"))
    parts = path.parts
    if not parts or path.is_absolute() or ".." in parts or ":" in name or not name.isprintable():
        special = "its path leads out of the archive or cannot be printed"
    elif len(parts) > _MAX_DEPTH + 1 or any(map(_NOT_WORK.fullmatch, parts[:-1])) or path.name.startswith("._"):
        special = special or "not a Python file of the submission"
    elif path.suffix.lower() not in _KINDS:
        special = special or "not a Python file"
    if special or path in found:
        notes.append(f"ignored {quote(name)}: {special or 'a file of that name is there already'}")
    else:
        found[path] = read
