"""The models that were asked for by name last: the next call that names one need not load it again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from pathlib import Path

from minispec.engine.loading.folder import find_folder, load_model
from minispec.engine.model import GPT2

MOST_MODELS, MOST_BYTES = 4, 1 << 30

_Key = tuple[object, ...]
_kept: OrderedDict[_Key, tuple[GPT2, int]] = OrderedDict()
_lock = threading.Lock()


def recall_model(name: str, backend: str, dtype: str, kv_dtype: str) -> GPT2:
    """Return what :func:`load_model` does, and keep it: the last four models, while their files have 1 GiB together.

    Whatever a model depends on tells two apart: its name, folder and formats, the backend, and the name, size and date
    of each file in the folder. Threads may ask at once; two that miss the same model both load it.

    Raises
    ------
    InputError
        As :func:`load_model`.
    """
    folder = find_folder(name).resolve()
    files = _list_files(folder)
    key = (name, backend, dtype, kv_dtype, folder, files)
    with _lock:
        if key in _kept:
            _kept.move_to_end(key)
            return _kept[key][0]
    model, size = load_model(name, backend, dtype, kv_dtype), sum(size for _, size, _ in files)
    if size <= MOST_BYTES and _list_files(folder) == files:
        with _lock:
            _kept[key] = model, size
            while len(_kept) > MOST_MODELS or sum(each for _, each in _kept.values()) > MOST_BYTES:
                _kept.popitem(last=False)
    return model


def _list_files(folder: Path) -> tuple[tuple[str, int, int], ...]:
    stats = ((path.name, path.stat()) for path in sorted(folder.iterdir()) if path.exists())
    return tuple((name, status.st_size, status.st_mtime_ns) for name, status in stats)
