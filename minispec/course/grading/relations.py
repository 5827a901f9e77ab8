"""How a wrong result stands to the right one, in words: where no mistake is known that gives what was seen.

One plain law may make the wrong results of the right ones (a factor, a gap, a list that is cut or turned round), or
they would be right for other arguments. A sentence is told only if it is true of every case.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minispec.course.grading.check import Case, Check, kind, number, show_value

TOLD = "told_in_words"
"""Stands for the name of a mistake that has none, where a sentence is told nevertheless."""


def in_words(
    check: Check, cases: Sequence[Case], observed: Sequence[Any], expected: Sequence[Any]
) -> tuple[str, str] | None:
    """Say what one plain law makes of the right results those that were observed, whatever the reason.

    Parameters
    ----------
    check : Check
    cases, observed, expected : sequence
        Some of the observed ones are wrong; none of them is a failure.

    Returns
    -------
    (str, str) or None
        A name, and a sentence that is true of all cases.
    """
    shapes = {len(right) if isinstance(right, (list, tuple)) else 0 for right in expected}
    is_record = len(shapes) == 1 and 2 <= next(iter(shapes)) <= _MAX_RECORD
    rows = [
        (case, dict(_parts(one, is_record=is_record)), dict(_parts(right, is_record=is_record)))
        for case, one, right in zip(cases, observed, expected, strict=True)
    ]
    if any(a.keys() != b.keys() for _, a, b in rows):
        return None
    if is_record and all(_is_exchanged(check, list(a.values()), list(b.values())) for _, a, b in rows):
        return TOLD, "You give the entries [0] and [1] in each other's place."
    for key in dict.fromkeys(key for _, _, b in rows for key in b):
        some = [(case, a[key], b[key]) for case, a, b in rows if key in b]
        bad = [one for one in some if check.same(*one[1:])]
        if bad and (words := _part_in_words(check, key, some, bad)):
            return TOLD, words
        if bad and (words := _instead(key, rows)):
            return TOLD, words
    return None


_Row = tuple[Case, Any, Any]
"""A case, what was observed of it, and what is right."""
_Law = Callable[[Case, float], float]
"""Makes the wrong number of the right one."""
_MAX_RECORD = 3
"""So many entries, at most, has a list that is one thing of several parts; a longer one is a list of things."""
_ENOUGH = 3
"""Different right results, at least, on which a law that any two might follow by chance has to hold."""


def other_arguments(check: Check) -> list[tuple[str, Callable[[Case], Case]]]:
    """Return in words what a function may take for what it is given, and what makes such a case of a case."""

    def changed(name: str, change: Callable[[Any], Any]) -> Callable[[Case], Case]:
        return lambda case: case | {name: change(case[name])}

    def exchanged(one: str, other: str) -> Callable[[Case], Case]:
        return lambda case: case | {one: case[other], other: case[one]}

    def fixed(name: str, value: int) -> Callable[[Case], Case]:
        return lambda case: case | {name: value}

    def shifted(name: str, by: int) -> Callable[[Case], Case]:
        return lambda case: case | {name: case[name] + by}

    told: list[tuple[str, Callable[[Case], Case]]] = []
    for i, name in enumerate(check.arguments):
        value = check.cases[0][name]
        told += [(f"with {name} and {other} exchanged", exchanged(name, other)) for other in check.arguments[:i]]
        if _is_number(value):
            told += [(f"for {name} = {n}, whatever it is", fixed(name, n)) for n in (0, 1)]
            told += [(f"for {name} + 1", shifted(name, 1)), (f"for {name} - 1", shifted(name, -1))]
            told += [(f"for 1 - {name}", changed(name, lambda x: 1 - x))]
        elif isinstance(value, (list, str, np.ndarray)):
            told += [(f"for {name} {words}", changed(name, change)) for words, change in _OTHER_LISTS]
    return told


_OTHER_LISTS: list[tuple[str, Callable[[Any], Any]]] = [
    ("without the last entry", lambda x: x[:-1]),
    ("without the first entry", lambda x: x[1:]),
    ("cut to the first entry", lambda x: x[:1]),
    ("cut to the last entry", lambda x: x[-1:]),
    ("turned round", lambda x: x[::-1]),
]


def _parts(value: Any, *, is_record: bool) -> list[tuple[str, Any]]:
    """Return the parts of a result by name; one that is a single thing, or a list of any length, has one part."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, dict):
        return [(str(key), item) for key, item in value.items()]
    if is_record and isinstance(value, (list, tuple)):
        return [(f"entry [{i}]", item) for i, item in enumerate(value)]
    return [("result", value)]


def _is_exchanged(check: Check, one: Sequence[Any], right: Sequence[Any]) -> bool:
    return check.same([one[1], one[0], *one[2:]], list(right)) is None


def _part_in_words(check: Check, name: str, some: Sequence[_Row], bad: Sequence[_Row]) -> str:
    """Say it of one part, or of the only entry of it that is wrong."""
    words = (
        _nothing_in_words(bad)
        or _list_in_words(bad)
        or _kind_in_words(some, bad)
        or _law_in_words(some, bad)
        or _laws_of_wrong_ones(bad)
    )
    if not words and (place := _only_entry(check, bad)) is not None:
        lists = [(case, one[place], right[place]) for case, one, right in some if len(one) and len(right)]
        wrong = [one for one in lists if check.same(*one[1:])]
        inner = _law_in_words(lists, wrong) or _constant_in_words(wrong)
        name = f"{'last' if place else 'first'} entry of your {name}".replace("of your result", "")
        words = inner or "Of your result only this is wrong."
    words = words or _constant_in_words(bad) or _place_in_words(some, bad)
    return words.replace("Your result", f"Your {name.strip()}").replace(
        "Of your result only this", f"Only the {name.strip()}"
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _near(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-9)


def _differ_enough(values: Sequence[Any]) -> bool:
    return len({repr(value) for value in values}) >= _ENOUGH


def _kind_in_words(some: Sequence[_Row], bad: Sequence[_Row]) -> str:
    """Say that something of another kind is given."""
    found, wanted = ({_kind_of(row[i]) for row in rows} for i, rows in ((1, bad), (2, some)))
    numbers = {"a number", "a whole number"}
    if len(found) > 1 or found & wanted or "None" in found or (found <= numbers and numbers & wanted):
        return ""
    return f"Your result is {found.pop()}; it must be {' or '.join(sorted(wanted))}."


def _kind_of(value: Any) -> str:
    if isinstance(value, (tuple, np.ndarray)):
        return "a list"
    return kind(value.item() if isinstance(value, np.generic) else value)


def _nothing_in_words(bad: Sequence[_Row]) -> str:
    if all(right is None for _, _, right in bad):
        return "Your result is wrong only where None is wanted; give None there."
    if all(one is None for _, one, _ in bad):
        return "Your result is None in places where it must not be, and right wherever it is not None."
    return ""


def _law_in_words(some: Sequence[_Row], bad: Sequence[_Row], when: str = "in every case") -> str:
    """Name what a number, or each number of a list, is of the right one."""
    numbers = [(case, a, b) for case, one, right in some for a, b in _entries_of(one, right)]
    numbers = [(case, a, b) for case, a, b in numbers if a is not None or b is not None]
    if not numbers or not all((a is None or _is_number(a)) and _is_number(b) for _, a, b in numbers):
        return ""
    if not _differ_enough([right for _, _, right in bad]):
        return ""
    _, a, b = next((one for one in numbers if one[1] is not None and one[2] and not _near(*one[1:])), (None, 0.0, 0.0))
    factor, gap = (a / b, a - b) if b else (0.0, 0.0)
    arguments = [name for name, value in numbers[0][0].items() if _is_number(value)]
    laws = [*_plain_laws(factor, gap), *(law for name in arguments for law in _laws_of_argument(name))]
    case = next((one[0] for one in numbers if one[1] is not None and one[2] and not _near(*one[1:])), {})
    laws += [_law_of_gap(name, gap / case[name]) for name in arguments if case.get(name)]
    words = next((words for words, law in laws if _holds(law, numbers)), "")
    return f"Your result is the right one {words}, {when}." if words else ""


def _laws_of_wrong_ones(bad: Sequence[_Row]) -> str:
    """Name what the wrong ones are of the right ones, where others are right."""
    return _law_in_words(bad, bad, "wherever it is wrong") if len(bad) > _ENOUGH else ""


def _plain_laws(factor: float, gap: float) -> list[tuple[str, _Law]]:
    digits: list[tuple[str, _Law]] = [(f"rounded to {n} digits", _rounding(n)) for n in range(1, 6)]
    return [
        ("rounded to a whole number", _rounding(0)),
        ("cut to a whole number", lambda _, x: math.floor(x)),
        ("rounded up to a whole number", lambda _, x: math.ceil(x)),
        *digits,
        (f"{number(factor)} times as large", lambda _, x: factor * x),
        (f"{number(abs(gap))} too {'large' if gap > 0 else 'small'}", lambda _, x: x + gap),
        ("turned over, 1 / x", lambda _, x: 1 / x),
        ("taken from 1, 1 - x", lambda _, x: 1 - x),
        ("squared", lambda _, x: x * x),
        ("under a root", lambda _, x: math.sqrt(x)),
    ]


def _rounding(digits: int) -> _Law:
    return lambda _, x: round(x, digits)


def _laws_of_argument(name: str) -> list[tuple[str, _Law]]:
    return [
        (f"{name} times as large", lambda case, x: x * case[name]),
        (f"divided by {name}", lambda case, x: x / case[name]),
        (f"divided by {name} + 1", lambda case, x: x / (case[name] + 1)),
        (f"too large by {name}", lambda case, x: x + case[name]),
        (f"too small by {name}", lambda case, x: x - case[name]),
    ]


def _law_of_gap(name: str, share: float) -> tuple[str, _Law]:
    words = f"too {'large' if share > 0 else 'small'} by {number(abs(share))} times {name}"
    return words, lambda case, x: x + share * case[name]


def _holds(law: _Law, numbers: Sequence[tuple[Case, Any, float]]) -> bool:
    """Whether a law makes the wrong numbers of the right ones; where it divides by 0, None may stand."""
    for case, a, b in numbers:
        try:
            value = law(case, b)
        except ZeroDivisionError:
            if a is not None:
                return False
            continue
        except (ArithmeticError, ValueError):
            return False
        if a is None or not _near(a, value):
            return False
    return True


def _entries_of(one: Any, right: Any) -> list[tuple[Any, Any]]:
    if not all(isinstance(value, (list, tuple, np.ndarray)) for value in (one, right)):
        return [(one, right)]
    pair = [np.asarray(np.asarray(value).tolist(), dtype=object).ravel().tolist() for value in (one, right)]
    return list(zip(*pair, strict=True)) if len(pair[0]) == len(pair[1]) else [(None, pair[1])]


def _list_in_words(bad: Sequence[_Row]) -> str:
    """Say how a list or a text stands to the right one."""
    pairs = [
        tuple(value.tolist() if isinstance(value, np.ndarray) else value for value in (one, right))
        for _, one, right in bad
    ]
    if all(_together(right) is not None and _together(one) == _together(right) for one, right in pairs):
        return "The pieces of your result are together what they must be; they come in other places."
    if all(_is_number(one) and isinstance(right, list) and one == len(right) for one, right in pairs):
        return "Your result is how many there are; they themselves are wanted."
    if not all(isinstance(one, (list, str)) and type(one) is type(right) for one, right in pairs):
        return ""
    gaps = {len(one) - len(right) for one, right in pairs}
    by = f" by {abs(min(gaps))}" if len(gaps) == 1 else ""
    if all(len(one) > len(right) and one[: len(right)] == right for one, right in pairs):
        return f"Your result is too long{by} wherever it is wrong: it goes on where the right one ends."
    if all(len(one) < len(right) and right[: len(one)] == one for one, right in pairs):
        return f"Your result is too short{by} wherever it is wrong: it ends too early, and what it has is right."
    if all(len(one) == len(right) for one, right in pairs) and any(len(right) > 1 for _, right in pairs):
        for words, ours, theirs in (
            ("late", slice(1, None), slice(None, -1)),
            ("early", slice(None, -1), slice(1, None)),
        ):
            if all(_is_alike(one[ours], right[theirs]) for one, right in pairs):
                return f"Your result has the right entries, each one place too {words}."
    for words, law in _LIST_LAWS:
        if all(len(one) == len(right) and _is_alike(one, law(right)) for one, right in pairs):
            return f"Your result is {words}."
    return ""


def _is_alike(one: Any, other: Any) -> bool:
    numbers = [isinstance(value, list) and all(map(_is_number, value)) for value in (one, other)]
    return bool(np.allclose(one, other, rtol=1e-6, atol=1e-9)) if all(numbers) else one == other


def _together(pieces: Any) -> Any:
    return "".join(pieces) if isinstance(pieces, list) and all(isinstance(one, str) for one in pieces) else None


_LIST_LAWS: list[tuple[str, Callable[[Any], Any]]] = [
    ("the right one turned round", lambda x: x[::-1]),
    ("the right one added up from the front", lambda x: np.cumsum(x).tolist()),
    ("the right one added up from the back", lambda x: np.cumsum(x[::-1])[::-1].tolist()),
    ("the right one divided by its sum", lambda x: (np.asarray(x) / np.sum(x)).tolist()),
    ("the right one in the order of size", sorted),
]


def _only_entry(check: Check, bad: Sequence[_Row]) -> int | None:
    """Return the place of the only entry of lists that is wrong: the last, -1, or the first; None if it is none."""
    if not all(isinstance(value, (list, tuple, np.ndarray)) for row in bad for value in row[1:]):
        return None
    if any(len(one) != len(right) or not len(right) for _, one, right in bad) or all(len(r) == 1 for *_, r in bad):
        return None
    for place, rest in ((-1, slice(None, -1)), (0, slice(1, None))):
        if all(check.same(one[rest], right[rest]) is None for _, one, right in bad):
            return place
    return None


def _instead(key: str, rows: Sequence[tuple[Case, dict[str, Any], dict[str, Any]]]) -> str:
    """Say what else a number is: another part of the result, or made of one or two things that are given."""
    told = [(a[key], {**_given(case), **_rights(key, b)}) for case, a, b in rows if _is_number(a.get(key))]
    if len(told) < 2 * _ENOUGH or not _differ_enough([one for one, _ in told]):
        return ""
    names = [name for name in told[0][1] if all(name in given for _, given in told)]
    for name in names:
        if all(_near(one, given[name]) for one, given in told):
            return f"Your {key} is {name}."
    for first in names:
        for second in names:
            for sign, law in _PAIRS.items():
                if all(_near(one, law(given[first], given[second])) for one, given in told):
                    return f"Your {key} is {first}, {sign} {second}."
    return ""


_PAIRS: dict[str, Callable[[float, float], float]] = {
    "divided by": lambda a, b: a / b if b else math.nan,
    "times": lambda a, b: a * b,
    "plus": lambda a, b: a + b,
    "less": lambda a, b: a - b,
}


def _rights(key: str, right: dict[str, Any]) -> dict[str, float]:
    return {f"what {name} must be": value for name, value in right.items() if name != key and _is_number(value)}


def _given(case: Case) -> dict[str, float]:
    """Return what numbers a case gives: arguments; how long lists are; of numbers in them the sum and the largest."""
    found: dict[str, float] = {}
    for name, value in case.items():
        if _is_number(value):
            found[name] = value
        if isinstance(value, (list, np.ndarray)):
            entries = list(value)
            found[f"the number of {name}"] = len(entries)
            columns = {name: entries}
            if entries and all(isinstance(one, dict) for one in entries):
                columns = {column: [one.get(column) for one in entries] for column in entries[0]}
            for column, numbers in columns.items():
                if numbers and all(_is_number(one) for one in numbers):
                    found |= {f"the sum of {column}": sum(numbers), f"the largest {column}": max(numbers)}
    return found


def _constant_in_words(bad: Sequence[_Row]) -> str:
    if len({repr(one) for _, one, _ in bad}) == 1 and _differ_enough([right for _, _, right in bad]):
        return f"Your result is {show_value(bad[0][1])} wherever it is wrong, whatever is asked."
    return ""


def _place_in_words(some: Sequence[_Row], bad: Sequence[_Row]) -> str:
    """Name the value of an argument at which, and nowhere else, the result is wrong."""
    for name in bad[0][0]:
        value = repr(bad[0][0][name])
        if len(bad) < 2 and value not in ("0", "1", "0.0", "1.0", "[]", "''", "b''"):
            continue
        met = [case for case, *_ in some if repr(case[name]) == value]
        others = {repr(case[name]) for case, *_ in some} - {value}
        if len(met) == len(bad) and len(others) >= _ENOUGH and all(repr(case[name]) == value for case, *_ in bad):
            return f"Your result is wrong where {name} is {show_value(bad[0][0][name])}, and right wherever it is not."
        if isinstance(bad[0][0][name], list):
            even = [len(case[name]) % 2 == 0 for case, *_ in some]
            if (
                len(bad) == even.count(True) >= 2
                and even.count(False) >= _ENOUGH
                and all(len(case[name]) % 2 == 0 for case, *_ in bad)
            ):
                return f"Your result is wrong where the number of {name} is even, and right where it is odd."
    return ""
