"""What one check is, and how two observations are compared."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minispec.errors import quote

Case = dict[str, Any]
Same = Callable[[Any, Any], str | None]
"""Takes what was observed and what was expected; the difference in words, or None."""


@dataclass(frozen=True)
class Close:
    """Equal structure, and numbers equal up to rounding.

    Lists, tuples and arrays are alike; whole numbers may stand for floats, floats for whole numbers that they equal,
    and 0 and 1 for False and True; but a bool is no number, and NaN equals NaN only (no solution gives one, but a
    mistake of the catalogue may). A dictionary ``{"law": {...}}`` is compared by total variation.

    Parameters
    ----------
    rtol, atol : float
        ``|observed - expected| <= atol + rtol * |expected|``.
    ignore : tuple of str
        Keys of dictionaries that are not compared.

    Examples
    --------
    >>> Close()([1, 2.0], np.array([1.0, 2.0])) is None
    True
    >>> Close()({"tokens": [1, 2]}, {"tokens": [1, 3]})
    'tokens[1] is 2, expected 3'
    """

    rtol: float = 1e-9
    atol: float = 1e-12
    ignore: tuple[str, ...] = ()

    def __call__(self, observed: Any, expected: Any) -> str | None:
        """Compare."""
        return self._differ(observed, expected, "")

    def _differ(self, observed: Any, expected: Any, path: str) -> str | None:
        observed, expected = (x.item() if isinstance(x, np.generic) else x for x in (observed, expected))
        if isinstance(expected, dict):
            return self._differ_dict(observed, expected, path)
        if isinstance(expected, np.ndarray) or isinstance(observed, np.ndarray):
            flat = self._differ_arrays(observed, expected, path)
            if flat is not NotImplemented:
                return flat  # type: ignore[no-any-return]
        if isinstance(expected, (list, tuple, np.ndarray)):
            if not isinstance(observed, (list, tuple, np.ndarray)):
                return f"{path or 'the result'} is {kind(observed)}, expected a list"
            if _is_scalar(observed) or _is_scalar(expected) or len(observed) != len(expected):
                return (
                    f"{path or 'the result'} has {_entries(observed)}, expected {_entries(expected)}: {quote(observed)}"
                )
            pairs = zip(observed, expected, strict=True)
            return next((d for i, (a, b) in enumerate(pairs) if (d := self._differ(a, b, f"{path}[{i}]"))), None)
        return self._differ_scalar(observed, expected, path)

    def _differ_dict(self, observed: Any, expected: dict[Any, Any], path: str) -> str | None:
        if not isinstance(observed, dict):
            return f"{path or 'the result'} is {kind(observed)}, expected a dictionary"
        keys = [key for key in expected if key not in self.ignore]
        if "law" in expected and "law" in observed:
            if difference := _differ_law(observed, expected, path):
                return difference
            keys.remove("law")
        for key in keys:
            where = f"{path}.{key}" if path else str(key)  # a key of ours
            if key not in observed:
                return f"{where} is missing"
            if difference := self._differ(observed[key], expected[key], where):
                return difference
        extra = [key for key in observed if key not in expected and key not in self.ignore]
        return f"{path or 'the result'} has an entry {quote(extra[0])} too many" if extra else None

    def _differ_arrays(self, observed: Any, expected: Any, path: str) -> Any:
        try:
            a, b = np.asarray(observed), np.asarray(expected)
        except ValueError:  # ragged lists
            return NotImplemented
        name = path or "the result"
        if a.shape != b.shape:
            return f"{name} has shape {a.shape}, expected {b.shape}"
        if a.dtype.kind != b.dtype.kind and (a.dtype.kind == "b" or (b.dtype.kind == "b" and a.dtype.kind not in "iu")):
            return f"{name} has dtype {a.dtype}, expected {b.dtype}"
        if a.dtype.kind not in "biuf" or b.dtype.kind not in "biuf":
            return NotImplemented
        with np.errstate(all="ignore"):
            x, y = a.astype(np.float64), b.astype(np.float64)
            near = np.abs(x - y) <= self.atol + self.rtol * np.abs(y)
            must_equal = a.dtype.kind == "f" and b.dtype.kind in "iu"
            right = (x == y) | (np.isnan(x) & np.isnan(y)) | (near & (not must_equal))
        if right.all():
            return None
        at = tuple(int(i) for i in np.argwhere(~right)[0])
        index = f"[{', '.join(map(str, at))}]" if at else ""
        return f"{name}{index} is {number(x[at])}, expected {number(y[at])}"

    def _differ_scalar(self, observed: Any, expected: Any, path: str) -> str | None:
        words = f"{path or 'the result'} is {show_value(observed)}, expected {show_value(expected)}"
        if isinstance(expected, bool) or isinstance(observed, bool):
            same = observed is expected or (type(observed) is int and observed == expected)
            return None if same else words
        if isinstance(expected, (int, float)) and isinstance(observed, (int, float)):
            if isinstance(expected, int) and isinstance(observed, float):
                return None if float(expected) == observed else words
            near = observed == expected or abs(observed - expected) <= self.atol + self.rtol * abs(expected)
            return None if near or (math.isnan(observed) and math.isnan(expected)) else words
        return None if type(observed) is type(expected) and observed == expected else words


def _is_scalar(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == 0


def _entries(value: Any) -> str:
    return "no axis" if _is_scalar(value) else f"{len(value)} entries"


def _differ_law(observed: dict[Any, Any], expected: dict[Any, Any], path: str) -> str | None:
    if "broken" in observed or "broken" in expected:
        same = observed.get("broken") == expected.get("broken")
        return None if same else f"no law could be found: {observed.get('broken')}"
    a, b = observed["law"], expected["law"]
    gaps = {key: a.get(key, 0.0) - b.get(key, 0.0) for key in sorted({*a, *b})}
    distance = 0.5 * sum(map(abs, gaps.values()))
    if distance <= 1e-9:
        return None
    worst = max(gaps, key=lambda key: abs(gaps[key]))
    return (
        f"the law of {path or 'the result'} is wrong by {distance:.3g} (total variation): "
        f"{shorten(worst, 120)} has probability "
        f"{a.get(worst, 0.0):.6g}, expected {b.get(worst, 0.0):.6g}"
    )


def number(x: float) -> str:
    """Write a number short."""
    return f"{x:.10g}"


def kind(value: Any) -> str:
    """Name a value's type in words."""
    names = {bool: "True or False", int: "a whole number", float: "a number", str: "a text", list: "a list"}
    return "None" if value is None else names.get(type(value), f"a {type(value).__name__}")


def show_value(value: Any) -> str:
    """Write a value for a message: one line, short."""
    if isinstance(value, float):
        return number(value)
    if isinstance(value, np.ndarray):
        with np.printoptions(precision=6, threshold=24, linewidth=10_000, floatmode="maxprec"):
            return shorten(" ".join(np.array2string(value, separator=", ").split()))
    if isinstance(value, dict):
        return shorten("{" + ", ".join(f"{_bare(key)}: {show_value(item)}" for key, item in value.items()) + "}")
    if isinstance(value, (list, tuple)) and len(value) <= 24:
        return shorten("[" + ", ".join(map(show_value, value)) + "]")
    return quote(value)


def _bare(key: object) -> str:
    return key if isinstance(key, str) and key.isidentifier() else quote(key)


def shorten(text: str, limit: int = 300) -> str:
    """Cut a text."""
    return text if len(text) <= limit else text[: limit - 3] + "..."


def show_case(case: Case) -> str:
    """Write a case as ``name = value, ...``."""
    return ", ".join(f"{name} = {show_value(value)}" for name, value in case.items())


def with_drawn(cases: Sequence[Case], draw: Callable[[np.random.Generator], Sequence[Case]]) -> list[Case]:
    """Return fixed cases and, behind them, twelve of the kind that is drawn for each submission, always the same.

    Cases that were thought of tell the mistakes apart that were thought of. On drawn ones two different mistakes hardly
    ever agree, so a name means more.
    """
    rng = np.random.default_rng(0)
    drawn: list[Case] = []
    while len(drawn) < 12:
        drawn += draw(rng)
    return [*cases, *drawn[:12]]


@dataclass(frozen=True)
class Check:
    """One thing a submission must do.

    Parameters
    ----------
    id : str
        As in the manifest: question, dot, name.
    observe : callable
        Takes a subject (see :mod:`minispec.course.grading.subject`) and a case; calls the subject's functions and
        returns a value. The same function, run on our solution, gives what is expected.
    cases : sequence of dict
        Fixed cases. They are also what tells the catalogue's mistakes apart.
    hidden : callable, optional
        Takes a generator seeded by the submission and a secret; returns more cases. A student's bundle may lack it,
        an assignment may not: what has fixed cases only is passed by a table of the answers.
    search : callable, optional
        Returns a hypothesis strategy of cases, in which the smallest failing example is looked for.
    same : callable
    show : callable
        Writes a case for the report.
    leaderboard : callable, optional
        Takes the observation of the first case; returns named figures.
    explain : callable, optional
        Takes the fixed cases, what was observed and what was expected of them; returns a name and a sentence that is
        true of what was observed, where no mistake of the catalogue is, or None.
    after : tuple of str
        Checks that must be right for ``explain`` to be asked: what is wrong there may be the reason here.
    arguments : tuple of str
        Entries of a case that our solution can be given others of, to see whether a submission does as if it had them.
    secret : bool
        Whether the hidden cases are made of something no student may see, so that a report tells nothing of them, as
        of a hidden check. Otherwise they are numbers that serve one submission only.
    """

    id: str
    observe: Callable[[Any, Case], Any]
    cases: Sequence[Case]
    hidden: Callable[[np.random.Generator], Sequence[Case]] | None = None
    search: Callable[[], Any] | None = None
    same: Same = Close()
    show: Callable[[Case], str] = show_case
    leaderboard: Callable[[Any], dict[str, float]] | None = None
    explain: Callable[[Sequence[Case], Sequence[Any], Sequence[Any]], tuple[str, str] | None] | None = None
    after: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    secret: bool = False
