"""Machine code on disk: one file per kernel, in the user's cache folder.

Numba keeps an index per function beside numbered files of code, and writes the index first. Between processes that is
not safe: two that take the same number leave an index of one beside the code of the other, and whoever reads it calls
code made for other types. Here the name of a file says all that its code depends on, and the file takes its place as a
whole, so that no order of reads and writes gives anything but the right code or none.

What is in the package's own folders would stay there when the package is removed, and be imported as an empty
namespace; so nothing is kept there. ``NUMBA_CACHE_DIR`` comes first.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from numba.core import caching
from numba.misc.appdirs import AppDirs

_FORGET_S = 30 * 24 * 3600.0


class _UserFolder(caching.UserWideCacheLocator):  # type: ignore[misc]
    """Looks for a place in the user's cache folder, a subfolder per folder of sources."""

    def __init__(self, py_func: Callable[..., Any], py_file: str) -> None:
        super().__init__(py_func, py_file)
        folder = AppDirs(appname="minispec", appauthor=False).user_cache_dir
        if not os.path.isabs(folder):  # XDG_CACHE_HOME is empty or relative, and so to be ignored
            folder = os.path.expanduser("~/.cache/minispec")
        self._cache_path = os.path.join(folder, "kernels", self.get_suitable_cache_subpath(py_file))

    def ensure_cache_path(self) -> None:
        """Raise OSError if nothing can be written there; without a home the place would be in the current folder."""
        if not os.path.isabs(self._cache_path):
            raise FileNotFoundError(self._cache_path)
        super().ensure_cache_path()


class _Implementation(caching.CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes: ClassVar = [
        _UserFolder if locator is caching.UserWideCacheLocator else locator
        for locator in caching.CacheImpl._locator_classes
        if not issubclass(locator, caching.InTreeCacheLocator)
    ]


class KernelFiles(caching.IndexDataCacheFile):  # type: ignore[misc]
    """The files of one function; readers and writers may be any number of processes and threads.

    Parameters
    ----------
    cache_path : str
        The folder.
    filename_base : str
        Of the function.
    source_stamp : object
        Of the function's file; its ``repr`` is the same in every process.
    sources : str
        A hash of what the code of this folder is made from.
    """

    def __init__(self, cache_path: str, filename_base: str, source_stamp: object, sources: str) -> None:
        super().__init__(cache_path, filename_base, source_stamp)
        self._sources = _digest(self._version, sources)
        self._start = f"{filename_base}.{self._sources}."

    def save(self, key: object, data: object) -> None:
        """Keep what was compiled for ``key``, and drop what other sources left here long ago."""
        with self._open_for_write(self._path(key)) as file:
            file.write(self._dump((key, data)))
        self._forget()

    def load(self, key: object) -> Any:
        """Return what was compiled for ``key``, or None if it is not there whole."""
        try:
            with open(self._path(key), "rb") as file:
                kept, data = pickle.load(file)
        except Exception:  # absent, or a broken file: what pickle raises for one has no common class
            return None
        return data if kept == key else None  # two types of one name

    def flush(self) -> None:
        """Drop what is kept of the present sources."""
        for path in Path(self._cache_path).glob(f"{self._start}*"):
            path.unlink(missing_ok=True)

    def is_empty(self) -> bool:
        """Return whether nothing is kept of the present sources."""
        return not any(Path(self._cache_path).glob(f"{self._start}*.nbc"))

    def _path(self, key: object) -> str:
        return os.path.join(self._cache_path, f"{self._start}{_digest(self._source_stamp, key)}.nbc")

    def _forget(self) -> None:
        """Drop the old files of other sources, which may be another version at the same place: it compiles anew."""
        before = time.time() - _FORGET_S
        with contextlib.suppress(OSError):  # another process drops them too
            for path in Path(self._cache_path).glob("*.nbc*"):
                if f".{self._sources}." not in path.name and path.stat().st_mtime < before:
                    path.unlink()


class KernelCache(caching.FunctionCache):  # type: ignore[misc]
    """Numba's cache of one function, with our files and places.

    Parameters
    ----------
    function : callable
    sources : str
        A hash of what else the code depends on, beside the file of the function.

    Raises
    ------
    RuntimeError
        If there is no place to write to.
    """

    _impl_class = _Implementation

    def __init__(self, function: Callable[..., Any], sources: str) -> None:
        super().__init__(function)
        stamp = self._impl.locator.get_source_stamp()
        self._cache_file = KernelFiles(self._cache_path, self._impl.filename_base, stamp, sources)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled; a full disk costs the next process time, and not this one its work."""
        with contextlib.suppress(OSError):
            super().save_overload(sig, data)

    def is_empty(self) -> bool:
        """Return whether nothing is kept of the present sources."""
        return self._cache_file.is_empty()


def _digest(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]
