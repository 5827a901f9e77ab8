"""Number formats of weights, keys and values: the numbers in memory, and the float32 values that they stand for.

A format is a rule for values, not for arithmetic: every backend multiplies the *decoded* values with float32
accumulation, so the rungs of the ladder (NumPy, plain Numba, panels) are compared format by format, tightly.

Formats: IEEE float16 and bfloat16, rounded to nearest, ties to even; int8, symmetric, with one scale per output channel
(the largest magnitude of a channel becomes 127), as in LLM.int8() (Dettmers et al. 2022), without its outliers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from minispec.errors import OptionError

_Array = NDArray[np.float32]

DTYPES = ("float32", "float16", "bfloat16", "int8")
"""The formats that a weight matrix can have in memory, the exact one first."""

ROUNDED_DTYPES = DTYPES[1:]
"""Formats that round a float32 model."""

KV_TYPES: dict[str, type[np.generic]] = {"float32": np.float32, "float16": np.float16}
"""NumPy's type for the keys and values of a cache in each of their formats, the exact one first."""

KV_DTYPES = tuple(KV_TYPES)

AUTO = "auto"
"""Of weights, ask for the format that a checkpoint stores them in, where a backend computes the same bits in it; of
keys and values, for the usual one of the backend."""

STORED: dict[str, type[np.generic]] = {
    "float32": np.float32,
    "float16": np.float16,
    "bfloat16": np.uint16,
    "int8": np.int8,
}
"""NumPy's type for the numbers of each format. It has no bfloat16, so those are bits; int8 has scales besides."""

ITEM_BYTES = {dtype: np.dtype(stored).itemsize for dtype, stored in STORED.items()}
"""Bytes per weight; int8 has 4 more per output channel, its scale."""


def encode(weight: NDArray[np.float32 | np.float16], dtype: str) -> tuple[NDArray[Any], _Array | None]:
    """Round a matrix to ``dtype``.

    Parameters
    ----------
    weight : ndarray of shape (K, N), float32 or float16
    dtype : str
        One of :data:`DTYPES`.

    Returns
    -------
    values : ndarray of shape (K, N)
        float32, float16, uint16 (the bits of a bfloat16, a type NumPy lacks) or int8.
    scale : ndarray of shape (N,) or None
        int8 only: what each column is multiplied by.

    Raises
    ------
    OptionError
        If there is no such format.
    """
    if dtype == "float16" and weight.dtype == np.float16:
        return weight, None
    weight = np.asarray(weight, np.float32)
    if dtype == "float32":
        return weight, None
    if dtype == "float16":
        largest = np.finfo(np.float16).max  # larger values saturate instead of becoming infinite
        return np.clip(weight, -largest, largest).astype(np.float16), None
    if dtype == "bfloat16":
        bits = np.ascontiguousarray(weight, np.float32).view(np.uint32)
        even = (bits >> np.uint32(16)) & np.uint32(1)
        return ((bits + np.uint32(0x7FFF) + even) >> np.uint32(16)).astype(np.uint16), None
    if dtype == "int8":
        scale = np.maximum(weight.max(axis=0), -weight.min(axis=0)) / np.float32(127.0)
        scale = np.where(scale > 0.0, scale, np.float32(1.0)).astype(np.float32)  # a channel of zeros stays zero
        return np.clip(np.rint(weight / scale), -127, 127).astype(np.int8), scale
    raise OptionError(f"dtype is {dtype!r}; it must be one of {', '.join(DTYPES)}. Try --dtype {DTYPES[0]}")


def decode(values: NDArray[Any], scale: _Array | None) -> _Array:
    """Return the float32 values that :func:`encode`'s result stands for, in the same shape."""
    if values.dtype == np.uint16:
        return (values.astype(np.uint32) << np.uint32(16)).view(np.float32)
    decoded = np.asarray(values, np.float32)
    return decoded if scale is None else decoded * scale


def view_bits(values: NDArray[Any]) -> NDArray[Any]:
    """Return float16 numbers as int16, their bits, for compiled code: Numba has no float16 on a CPU. Others stay."""
    return values.view(np.int16) if values.dtype == np.float16 else values


def round_weights(weight: NDArray[np.float32 | np.float16], dtype: str) -> _Array:
    """Return a matrix of shape (K, N) rounded to ``dtype``, as float32.

    Examples
    --------
    >>> import numpy as np
    >>> round_weights(np.array([[1.0], [0.3]], np.float32), "int8").tolist() == [[1.0], [np.float32(38 / 127)]]
    True
    """
    return decode(*encode(weight, dtype))
