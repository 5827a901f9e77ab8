"""Files that a command writes: refused before the work starts, and there as a whole or not at all.

What grows while a command works belongs to one process at a time: see :class:`HeldFile` and :func:`hold_folder`. What
is written in one go is written under a name that no other process has, and takes its place then.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator, Mapping
from io import FileIO
from pathlib import Path
from typing import Self, TextIO

from minispec.errors import OutputError, explain, quote

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_HELD = (errno.EAGAIN, errno.EACCES, errno.EDEADLK)
_FAR = 1 << 40
"""Windows keeps others from the bytes that are locked: this one is behind the end of any file of ours."""


def check_writable(path: Path | None) -> None:
    """Refuse a file that could not be written in the end; None is no file.

    Raises
    ------
    OutputError
        If its folder does not exist or cannot be written to, or what has its name is not a file: a folder, or a pipe or
        a device, whose place a file would take. Nor is ``-`` one.
    """
    if path is None:
        return
    if str(path) == "-":
        raise OutputError("'-' is no file, and standard output has what the command prints. Name a file")
    with _blaming(path):
        _check_name(path)
        if not path.parent.is_dir():
            raise OutputError(
                f"folder {quote(str(path.parent))} does not exist; make it, or name a file in another one"
            )
        if path.is_dir():
            raise OutputError(f"{quote(str(path))} is a folder; the output is a file. Try another name")
        handle = path.is_symlink() and path.absolute().parts[1] in ("dev", "proc")  # say a process's standard output
        if path.exists() and (handle or not path.is_file()):
            raise OutputError(f"{quote(str(path))} is a pipe or a device, and a file would take its place. Name a file")
        if not os.access(path.parent, os.W_OK):
            raise OutputError(f"folder {quote(str(path.parent))} is not writable. Name a file in another one")


def _check_name(path: Path) -> None:
    """Raise an OSError if the system takes no such name: of one that is too long, ``exists`` may say only that."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        path.lstat()


def check_apart(files: Mapping[str, Path | None]) -> None:
    """Refuse files of a command of which one would overwrite another, under the names that its arguments have.

    What is read goes first. If it is a folder, so does all that is in it.

    Raises
    ------
    OutputError
        If two are the same file, or one lies in a folder that stands before it.
    """
    seen: dict[Path, str] = {}
    for name, path in files.items():
        if path is None:
            continue
        place = Path(os.path.realpath(path))
        other = seen.setdefault(place, name)
        if other is not name:
            raise OutputError(f"{quote(str(path))} is both {other} and {name}, and would be overwritten. Name another")
        for folder in place.parents:
            if folder in seen:
                raise OutputError(
                    f"{quote(str(path))} is {name} and lies in {quote(str(folder))}, which is {seen[folder]} and would "
                    "be changed. Name another outside"
                )


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file; what was there is replaced as a whole or not at all.

    Raises
    ------
    OutputError
        If it cannot be written.
    """
    with replace_whole(path) as partial, _blaming(path), partial.open("xb") as file:
        file.write(data)


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
def open_whole(path: Path) -> Iterator[WholeFile]:
    """Open a text file that appears under its name only when all of it is there.

    What else fails meanwhile is no fault of the file's, and passes.

    Raises
    ------
    OutputError
        If it cannot be written.
    """
    with replace_whole(path) as partial:
        with _blaming(path):
            file = partial.open("x", encoding="utf-8")  # "x": never through a link that somebody put there
        try:
            yield WholeFile(file, path)
            with _blaming(path):
                file.flush()
        finally:
            with contextlib.suppress(OSError):  # all of it is there, or none is wanted
                file.close()


class WholeFile:
    """A text file whose errors name the file that it will be."""

    def __init__(self, file: TextIO, path: Path) -> None:
        self._file, self._path = file, path

    def write(self, text: str) -> int:
        """Write a text."""
        with _blaming(self._path):
            return self._file.write(text)


@contextlib.contextmanager
def replace_whole(path: Path) -> Iterator[Path]:
    """Yield the name under which to write a file that then takes its place; it replaces a link, and follows none.

    No other process is given that name: of two that write one file, the later one's is there, whole.

    Raises
    ------
    OutputError
        If it cannot take its place.
    """
    check_writable(path)
    partial = path.with_name(f".{_shorten(path)}.{secrets.token_hex(4)}.partial")
    try:
        yield partial
        with _blaming(path):
            os.replace(partial, path)
    finally:
        with contextlib.suppress(OSError):
            partial.unlink()


@contextlib.contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Yield an empty folder that takes its place at the end: it is there as a whole or not at all.

    Raises
    ------
    OutputError
        If the folder exists already, or cannot be made.
    """
    parent = folder.absolute().parent
    with _blaming(folder):
        _check_name(folder)
        there = folder.exists()
    if there:
        raise OutputError(f"{quote(str(folder))} exists already; it must be a new folder. Name another one")
    if not parent.is_dir():
        raise OutputError(f"folder {quote(str(parent))} does not exist; make it, or name another one")
    try:
        partial = Path(tempfile.mkdtemp(prefix=f".{_shorten(folder)}.", dir=parent))
        try:
            yield partial
            partial.chmod(0o755)  # mkdtemp's folders are for their owner alone
            os.replace(partial, folder)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    except OSError as error:
        raise OutputError(f"{folder} cannot be written ({explain(error)}). Choose another place") from None


def _shorten(path: Path) -> str:
    """Return enough of a name to tell whose a partial file is; with all of it, that could have no name of its own."""
    return path.name[:40]


class HeldFile:
    """A file that a command adds to as it works; no other process may hold it meanwhile.

    The system lets go of it when the process ends, however it ends. Pipes and devices may be shared, and so may files
    where the file system knows no locks.

    Parameters
    ----------
    path : Path
        Made if it does not exist.

    Raises
    ------
    OutputError
        If another process holds it, or it cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = _open_held(path, path)

    def read(self) -> bytes:
        """Return all that it holds."""
        with _blaming(self.path):
            self._file.seek(0)
            return self._file.readall()

    def cut(self, size: int) -> None:
        """Cut off what is behind ``size`` bytes."""
        with _blaming(self.path):
            self._file.truncate(size)

    def write(self, text: str) -> None:
        """Add a text; other processes can read it when this returns."""
        rest = memoryview(text.encode())
        with _blaming(self.path):
            while rest:
                rest = rest[self._file.write(rest) :]

    def sync(self) -> None:
        """Wait until what was written would outlast a power cut."""
        with _blaming(self.path):
            os.fsync(self._file.fileno())

    def remove(self) -> None:
        """Remove it, and let go of it."""
        _remove_held(self.path, self._file)

    def close(self) -> None:
        """Let go of it."""
        self._file.close()

    def __enter__(self) -> Self:
        """Return it."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Let go of it."""
        self.close()


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it, if it is not there.

    Raises
    ------
    OutputError
        If it cannot be made.
    """
    with _blaming(folder):
        folder.mkdir(parents=True, exist_ok=True)


@contextlib.contextmanager
def hold_folder(folder: Path) -> Iterator[None]:
    """Make a folder if it is not there, and keep other processes away that would hold it too.

    Raises
    ------
    OutputError
        If another process holds it, or it cannot be made or written to.
    """
    make_folder(folder)
    lock = folder / ".minispec.lock"
    file = _open_held(lock, folder)
    try:
        yield
    finally:
        _remove_held(lock, file)


def _open_held(path: Path, named: Path) -> FileIO:
    """Open a file to add to, and lock it; an error says ``named``."""
    with _blaming(named):
        while True:
            # Unbuffered: what could not be written must not be tried again when the file is closed.
            file = path.open("a+b", buffering=0)
            try:
                if _lock(file, named):
                    return file
            except BaseException:
                file.close()
                raise
            file.close()


def _remove_held(path: Path, file: FileIO) -> None:
    if sys.platform == "win32":
        file.close()  # there a file stays while it is open
    with contextlib.suppress(OSError):
        path.unlink()
    file.close()


def _lock(file: FileIO, named: Path) -> bool:
    """Lock a file; return whether it still has its name: who held it may just have removed it."""
    told = os.fstat(file.fileno())
    if not stat.S_ISREG(told.st_mode):
        return True
    try:
        if sys.platform == "win32":
            file.seek(_FAR)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _HELD:
            raise OutputError(
                f"{quote(str(named))} is being written by another process. Wait for it, or name another one"
            ) from None
    try:
        return os.path.samestat(told, os.stat(file.name))
    except FileNotFoundError:
        return False


@contextlib.contextmanager
def _blaming(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or explain(error)
        raise OutputError(f"{quote(str(path))} cannot be written ({reason}). Choose another place") from None
