"""One safetensors file: checked as a whole, then read tensor by tensor.

The ``safetensors`` library judges whether the file is sound (header, offsets, sizes). It hands bfloat16 only to
frameworks that have the type, so tensors are copied out of the memory-mapped file here, one at a time; the pages that
were read for one are given back, so that whoever packs each as it comes never holds the whole file.
"""

from __future__ import annotations

import json
import math
import mmap
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from minispec.engine.backends.types import Tensor
from minispec.errors import ModelFileError, explain, quote

_READABLE: dict[str, type[Any]] = {"F32": np.float32, "F16": np.float16, "BF16": np.uint16}
_MAGNITUDE, _INFINITE = np.uint16(0x7FFF), 0x7C00
"""Of the bits of a float16: all but the sign, and from where on they are no number."""


class SafetensorsFile:
    """An open safetensors file.

    Parameters
    ----------
    path : Path

    Attributes
    ----------
    shapes : dict of str to tuple of int
        Every tensor in the file.

    Raises
    ------
    ModelFileError
        If the file cannot be opened, is cut short, or its header contradicts itself or the file's size.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with safe_open(path, framework="np"):
                pass
            with path.open("rb") as file:
                header_size = int.from_bytes(file.read(8), "little")
                header = json.loads(file.read(header_size))
                self._content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (SafetensorError, OSError, ValueError, RecursionError) as error:
            raise ModelFileError(
                f"{path} is not a sound safetensors file ({explain(error)}). It may be cut short; fetch it again"
            ) from None
        header.pop("__metadata__", None)
        self._offsets = {name: 8 + header_size + entry["data_offsets"][0] for name, entry in header.items()}
        self.dtypes = {name: entry["dtype"] for name, entry in header.items()}
        self.shapes: dict[str, tuple[int, ...]] = {name: tuple(entry["shape"]) for name, entry in header.items()}

    def read(self, name: str) -> Tensor:
        """Return a tensor: as float16 if it is stored so, as float32 otherwise. Either way its values are the file's.

        Half precision is not widened here, since most matrices of it are kept in it: there and back would take longer
        than reading.

        Raises
        ------
        ModelFileError
            If its type is not float32, float16 or bfloat16, or a value is NaN or infinite.
        """
        dtype, offset = self.dtypes[name], self._offsets[name]
        if dtype not in _READABLE:
            raise ModelFileError(
                f"{self.path}: tensor {quote(name)} is {dtype}; minispec reads {', '.join(_READABLE)}. "
                "Convert the model"
            )
        shape = self.shapes[name]
        if math.prod(shape) == 0:
            return np.zeros(shape, np.float32)
        kind = np.dtype(_READABLE[dtype])
        raw: NDArray[Any] = np.frombuffer(self._content, kind, math.prod(shape), offset).reshape(shape).copy()
        if hasattr(mmap, "MADV_DONTNEED"):
            begin = offset - offset % mmap.PAGESIZE
            self._content.madvise(mmap.MADV_DONTNEED, begin, offset + raw.nbytes - begin)
        tensor: Tensor = raw
        if dtype == "F16":
            finite = int((raw.view(np.uint16) & _MAGNITUDE).max()) < _INFINITE  # NumPy compares halves one by one
        else:
            tensor = (raw.astype(np.uint32) << 16).view(np.float32) if dtype == "BF16" else raw
            finite = bool(np.isfinite(tensor.min()) and np.isfinite(tensor.max()))  # both propagate NaN
        if not finite:
            raise ModelFileError(f"{self.path}: tensor {quote(name)} holds NaN or infinite weights. Fetch it again")
        return tensor
