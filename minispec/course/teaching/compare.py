"""Where two values first differ, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

MAX_SHOWN = 160
MAX_WHOLE = 10**100


def show(value: Any) -> str:
    """Return a value as a learner would type it, shortened."""
    if isinstance(value, np.ndarray):
        text = np.array2string(value, precision=4, separator=", ", threshold=12, suppress_small=True)
        text = " ".join(text.split())
    elif isinstance(value, (float, np.floating)):
        text = f"{value:.6g}"
    elif isinstance(value, (tuple, list)) and len(value) <= 12:
        inside = ", ".join(show(item) for item in value)
        text = f"[{inside}]" if isinstance(value, list) else f"({inside})"
    elif isinstance(value, np.generic):
        text = show(value.item())
    elif isinstance(value, int) and abs(value) > MAX_WHOLE:
        text = "a number of hundreds of digits"  # which Python may refuse to write out
    else:
        text = getattr(value, "__name__", "") or repr(value)
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"


def difference(
    found: Any, expected: Any, rtol: float = 1e-6, atol: float = 1e-9, *, same_dtype: bool = False
) -> str | None:
    """Say where ``found`` first differs from ``expected``; None if it does not.

    Numbers are compared with a tolerance, arrays by shape and then element by element, containers item by item. A list
    and a tuple are alike, and so are Python's numbers and NumPy's, and 0 or 1 and a truth value. A list is not an
    array: what is done with an array later would fail on it.

    Parameters
    ----------
    found, expected : object
    rtol, atol : float
    same_dtype : bool
        Arrays must hold the same type of number, too.

    Examples
    --------
    >>> difference([1.0, 2.5], [1.0, 2.0])
    'item 1 is 2.5, expected 2'
    >>> difference(0.1 + 0.2, 0.3) is None
    True
    """
    return _Comparison(rtol, atol, same_dtype).difference(found, expected)


@dataclass(frozen=True)
class _Comparison:
    rtol: float
    atol: float
    same_dtype: bool

    def difference(self, found: Any, expected: Any) -> str | None:
        if found is None and expected is not None:
            return f"it returns None, expected {show(expected)}: is a return missing?"
        if isinstance(expected, Mapping):
            return self._mapping(found, expected)
        if isinstance(expected, (list, tuple)):
            return self._sequence(found, expected)
        if isinstance(expected, np.ndarray):
            return self._array(found, expected)
        if isinstance(found, np.ndarray) and found.ndim == 0:
            found = found.item()
        if callable(expected):
            same = found is expected
        elif isinstance(expected, (bool, np.bool_)):
            same = isinstance(found, (bool, np.bool_, int, np.integer)) and found == expected
        elif isinstance(expected, (str, bytes, type(None))):
            same = type(found) is type(expected) and found == expected
        else:
            return self._number(found, expected)
        return None if same else f"it is {show(found)}, expected {show(expected)}"

    def _number(self, found: Any, expected: Any) -> str | None:
        if isinstance(found, (bool, np.bool_)) or not isinstance(found, (int, float, np.number)):
            return f"it is {show(found)}, expected a number, {show(expected)}"
        try:
            close = bool(np.isclose(found, expected, rtol=self.rtol, atol=self.atol, equal_nan=True))
        except (OverflowError, TypeError):  # an integer of Python's that is too large for NumPy
            close = found == expected
        return None if close else f"it is {show(found)}, expected {show(expected)}"

    def _sequence(self, found: Any, expected: Sequence[Any]) -> str | None:
        if isinstance(found, np.ndarray):
            found = found.tolist()
        if not isinstance(found, (list, tuple)):
            return f"it is {show(found)}, expected a sequence, {show(expected)}"
        for i, (a, b) in enumerate(zip(found, expected, strict=False)):
            inside = self.difference(a, b)
            if inside is not None:
                return _locate(f"item {i}", inside)
        if len(found) != len(expected):
            return f"it has {len(found)} items, expected {len(expected)}: {show(found)} instead of {show(expected)}"
        return None

    def _mapping(self, found: Any, expected: Mapping[Any, Any]) -> str | None:
        if not isinstance(found, Mapping):
            return f"it is {show(found)}, expected a dict with the keys {show(list(expected))}"
        for key, value in expected.items():
            if key not in found:
                return f"it lacks the key {key!r}"
            inside = self.difference(found[key], value)
            if inside is not None:
                return _locate(f"entry {key!r}", inside)
        extra = [key for key in found if key not in expected]
        return f"it has a key {extra[0]!r} that nobody asked for" if extra else None

    def _array(self, found: Any, expected: np.ndarray[Any, Any]) -> str | None:
        if isinstance(found, (list, tuple)):
            return f"it is a {type(found).__name__}, expected an array: wrap it in np.array(...)"
        if not isinstance(found, (np.ndarray, np.generic, int, float)):
            return f"it is {show(found)}, expected an array of shape {expected.shape}"
        array = np.asarray(found)
        if array.shape != expected.shape:
            return f"its shape is {array.shape}, expected {expected.shape}"
        wrong_dtype = self.same_dtype and array.dtype != expected.dtype
        if array.dtype.kind not in "biuf" or wrong_dtype:
            return f"it holds {array.dtype}, expected {expected.dtype}"
        close = np.isclose(array, expected, rtol=self.rtol, atol=self.atol, equal_nan=True)
        if close.all():
            return None
        where = tuple(int(i) for i in np.argwhere(~close)[0])
        place = f"element {list(where)}" if where else "it"
        count = int((~close).sum())
        others = f" ({count} of {close.size} elements differ)" if close.size > 1 else ""
        return f"{place} is {show(array[where].item())}, expected {show(expected[where].item())}{others}"


def _locate(place: str, inside: str) -> str:
    """Say of which part of a container a difference speaks."""
    subject, rest = inside.split(" ", 1)
    return f"{place} {rest}" if subject == "it" else f"{place}: {inside}"
