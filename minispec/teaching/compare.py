"""Where two values first differ, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

MAX_SHOWN = 160


def shown(value: Any) -> str:
    """Return a value as a learner would type it, shortened."""
    if isinstance(value, np.ndarray):
        text = np.array2string(value, precision=4, separator=", ", threshold=12, suppress_small=True)
        text = " ".join(text.split())
    elif isinstance(value, (float, np.floating)):
        text = f"{value:.6g}"
    elif isinstance(value, (tuple, list)) and len(value) <= 12:
        inside = ", ".join(shown(item) for item in value)
        text = f"[{inside}]" if isinstance(value, list) else f"({inside})"
    else:
        text = getattr(value, "__name__", "") or repr(value)
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"


def difference(found: Any, expected: Any, rtol: float = 1e-6, atol: float = 1e-9) -> str | None:
    """Say where ``found`` first differs from ``expected``; None if it does not.

    Numbers are compared with a tolerance, arrays by shape and then element by element, containers item by item; a list
    and a tuple are alike, and so are Python's numbers and NumPy's.

    Examples
    --------
    >>> difference([1.0, 2.5], [1.0, 2.0])
    'item 1 is 2.5, expected 2'
    >>> difference(0.1 + 0.2, 0.3) is None
    True
    """
    if found is None and expected is not None:
        return f"it returns None, expected {shown(expected)}: is a return missing?"
    if isinstance(expected, Mapping):
        return _mapping(found, expected, rtol, atol)
    if isinstance(expected, (list, tuple)):
        return _sequence(found, expected, rtol, atol)
    if isinstance(expected, np.ndarray):
        return _array(found, expected, rtol, atol)
    if callable(expected):
        return None if found is expected else f"it is {shown(found)}, expected {shown(expected)}"
    if isinstance(expected, (bool, np.bool_, str, bytes, type(None))):
        same = type(found) in (bool, np.bool_, str, bytes, type(None)) and found == expected
        return None if same else f"it is {shown(found)}, expected {shown(expected)}"
    return _number(found, expected, rtol, atol)


def _number(found: Any, expected: Any, rtol: float, atol: float) -> str | None:
    if isinstance(found, np.ndarray) and found.ndim == 0:
        found = found.item()
    if isinstance(found, (bool, np.bool_)) or not isinstance(found, (int, float, np.number)):
        return f"it is {shown(found)}, expected a number, {shown(expected)}"
    close = bool(np.isclose(found, expected, rtol=rtol, atol=atol, equal_nan=True))
    return None if close else f"it is {shown(found)}, expected {shown(expected)}"


def _sequence(found: Any, expected: Any, rtol: float, atol: float) -> str | None:
    if isinstance(found, np.ndarray):
        found = found.tolist()
    if not isinstance(found, (list, tuple)):
        return f"it is {shown(found)}, expected a sequence, {shown(expected)}"
    for i, (a, b) in enumerate(zip(found, expected, strict=False)):
        inside = difference(a, b, rtol, atol)
        if inside is not None:
            return inside.replace("it ", f"item {i} ", 1)
    if len(found) != len(expected):
        return f"it has {len(found)} items, expected {len(expected)}: {shown(found)} instead of {shown(expected)}"
    return None


def _mapping(found: Any, expected: Mapping[Any, Any], rtol: float, atol: float) -> str | None:
    if not isinstance(found, Mapping):
        return f"it is {shown(found)}, expected a dict with the keys {shown(list(expected))}"
    for key, value in expected.items():
        if key not in found:
            return f"it lacks the key {key!r}"
        inside = difference(found[key], value, rtol, atol)
        if inside is not None:
            return inside.replace("it ", f"entry {key!r} ", 1)
    extra = [key for key in found if key not in expected]
    return f"it has a key {extra[0]!r} that nobody asked for" if extra else None


def _array(found: Any, expected: np.ndarray[Any, Any], rtol: float, atol: float) -> str | None:
    try:
        array = np.asarray(found)
    except ValueError:
        return f"it is {shown(found)}, expected an array of shape {expected.shape}"
    if array.shape != expected.shape:
        return f"its shape is {array.shape}, expected {expected.shape}"
    if array.dtype == object or array.dtype.kind in "USV":
        return f"it holds {array.dtype}, expected {expected.dtype}"
    close = np.isclose(array, expected, rtol=rtol, atol=atol, equal_nan=True)
    if close.all():
        return None
    where = tuple(int(i) for i in np.argwhere(~close)[0])
    place = f"element {list(where)}" if where else "it"
    count = int((~close).sum())
    others = f" ({count} of {close.size} elements differ)" if close.size > 1 else ""
    return f"{place} is {shown(array[where].item())}, expected {shown(expected[where].item())}{others}"
