"""What is wrong with an answer, in words, when it is none of a step's own mistakes.

A diagnosis is a sentence that explains the answer on *every* case: it is always twice too large, it is what comes out
if two arguments are swapped, it never looks at one of its arguments. What explains only some of the cases is not said,
nor what fails on cases drawn anew, whose arguments come from different cases.
"""

from __future__ import annotations

import copy
import inspect
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from minispec.course.teaching.compare import difference

Case = tuple[Any, ...]
_MAX_CASES, _MAX_DRAWN = 40, 100


def diagnose(
    attempt: Callable[..., Any],
    reference: Callable[..., Any],
    cases: Sequence[Case],
    alike: Callable[[Any, Any], bool],
) -> str | None:
    """Return one sentence that explains a wrong answer on every case, or None.

    Parameters
    ----------
    attempt, reference : callable
        Called with copies of the arguments.
    cases : sequence of tuple
    alike : callable
        Whether two results are the same to within the step's tolerance.
    """
    calls = [(case, _call(attempt, case), _call(reference, case)) for case in cases]
    if any(isinstance(found, _Raised) for _, found, _ in calls):
        return None
    results = [(found, expected) for _, found, expected in calls]
    part = _part(attempt, reference, cases, results, alike)
    if part is not None:
        return part
    factor = _factor(results, alike)
    if factor is not None:
        return factor
    for sentence, fits in _RELATIONS:
        if all(_holds(fits, found, expected, alike) for found, expected in results):
            return sentence
    names = list(inspect.signature(reference).parameters)
    drawn = _draw(cases)
    anew = [_call(attempt, case) for case in drawn]
    for (sentence, other), (_, again) in zip(
        _other_arguments(names, cases), _other_arguments(names, [*cases, *drawn]), strict=True
    ):
        changed = [_call(reference, case) for case in other]
        if any(isinstance(result, _Raised) for result in changed):
            continue
        if all(alike(found, result) for (found, _), result in zip(results, changed, strict=True)):
            pairs = [(found, _call(reference, case)) for found, case in zip(anew, again[len(cases) :], strict=True)]
            if all(alike(*pair) for pair in pairs if not any(isinstance(one, _Raised) for one in pair)):
                return sentence
    return _find_ignored(attempt, reference, names, cases, alike)


def _draw(cases: Sequence[Case]) -> list[Case]:
    """Draw cases whose arguments come from different cases of one length; some of them may be no sensible calls."""
    rng = random.Random(0)
    by_length: dict[int, list[Case]] = {}
    for case in cases:
        by_length.setdefault(len(case), []).append(case)
    few = [group for group in by_length.values() if len(group) > 1]
    return [tuple(rng.choice(group)[i] for i in range(len(group[0]))) for group in few for _ in range(_MAX_DRAWN)]


class _Raised:
    """Stands for the result of a call that failed."""


def _call(function: Callable[..., Any], case: Case) -> Any:
    try:
        with np.errstate(all="ignore"):
            return function(*copy.deepcopy(case))
    except Exception:  # whatever a learner's function may raise
        return _Raised()


def _holds(
    fits: Callable[[Any, Any], tuple[Any, Any]], found: Any, expected: Any, alike: Callable[[Any, Any], bool]
) -> bool:
    try:
        with np.errstate(all="ignore"):
            return alike(*fits(found, expected))
    except (TypeError, ValueError, IndexError, AttributeError, ZeroDivisionError, OverflowError):
        return False


def _number(value: Any) -> Any:
    """Return a number, or numbers; refuse a truth value, of which 1 − value would be a number, too."""
    if isinstance(value, (bool, np.bool_, str, list, tuple)):
        raise TypeError
    return value


def _array(value: Any) -> Any:
    if not isinstance(value, np.ndarray) or value.ndim == 0:
        raise TypeError
    return value


def _sequence(value: Any) -> list[Any]:
    if isinstance(value, (str, bytes)):
        raise TypeError
    return list(value)


def _truth(value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError
    return bool(value)


def _not_integer(value: Any) -> Any:
    if isinstance(value, (int, np.integer)):
        raise TypeError
    return _number(value)


_RELATIONS: list[tuple[str, Callable[[Any, Any], tuple[Any, Any]]]] = [
    ("Always one too many.", lambda found, right: (_number(found) - 1, _number(right))),
    ("Always one too few.", lambda found, right: (_number(found) + 1, _number(right))),
    ("Upside down: that is 1 divided by what is asked for.", lambda found, right: (1 / _number(found), _number(right))),
    ("That is 1 minus what is asked for.", lambda found, right: (1 - _number(found), _number(right))),
    ("That is the square of what is asked for: a root is missing.", lambda f, r: (np.sqrt(_number(f)), _number(r))),
    ("That is the logarithm of what is asked for.", lambda found, right: (np.exp(_number(found)), _number(right))),
    ("Exactly the opposite: True where it should be False.", lambda found, right: (not _truth(found), _truth(right))),
    (
        "The digits behind the point are cut off: is there a `//` or an `int`?",
        lambda found, right: (_number(found), np.floor(_not_integer(right))),
    ),
    (
        "The digits behind the point are cut off: is there a `//` or an `int`?",
        lambda found, right: (_number(found), np.trunc(_not_integer(right))),
    ),
    ("That is the running sum of what is asked for.", lambda f, r: (_array(f), np.cumsum(_array(r), axis=-1))),
    ("Rounded: return the number as it is.", lambda found, right: (found, np.round(_not_integer(right), 2))),
    ("It is transposed: rows and columns are swapped.", lambda found, right: (_array(found).T, _array(right))),
    ("The right values in the opposite order.", lambda found, right: (found[::-1], right)),
    (
        "It does not sum to 1: divide by the sum.",
        lambda found, right: (_array(found) / found.sum(-1, keepdims=True), _array(right)),
    ),
    ("The first item is missing.", lambda found, right: (_sequence(found), _sequence(right)[1:])),
    ("The last item is missing.", lambda found, right: (_sequence(found), _sequence(right)[:-1])),
    ("One item too many at the beginning.", lambda found, right: (_sequence(found)[1:], _sequence(right))),
    ("One item too many at the end.", lambda found, right: (_sequence(found)[:-1], _sequence(right))),
    (
        "The items stand in a container of their own: take one pair of brackets away.",
        lambda found, right: (_sequence(found)[0] if len(found) == 1 else ..., right),
    ),
    ("The two items of the result are swapped.", lambda f, r: (_sequence(f)[::-1] if len(r) == 2 else ..., r)),
]


_ORDINALS = ("first", "second", "third")


def _part(
    attempt: Callable[..., Any],
    reference: Callable[..., Any],
    cases: Sequence[Case],
    results: Sequence[tuple[Any, Any]],
    alike: Callable[[Any, Any], bool],
) -> str | None:
    """Explain a result of a few parts of which only one is wrong."""
    sizes = {len(part) if isinstance(part, (list, tuple)) else 0 for pair in results for part in pair}
    if len(sizes) > 1 or not 2 <= (size := sizes.pop()) <= len(_ORDINALS):
        return None
    wrong = [i for i in range(size) if any(not alike(found[i], right[i]) for found, right in results)]
    if len(wrong) != 1:
        return None
    (i,) = wrong
    inside = diagnose(lambda *a: attempt(*a)[i], _rename(lambda *a: reference(*a)[i], reference), cases, alike)
    return f"Only the {_ORDINALS[i]} part of the result is wrong." + (f" {inside}" if inside else "")


def _rename(function: Callable[..., Any], like: Callable[..., Any]) -> Callable[..., Any]:
    """Give a function the argument names of another one."""
    function.__signature__ = inspect.signature(like)  # type: ignore[attr-defined]
    return function


def _factor(results: Sequence[tuple[Any, Any]], alike: Callable[[Any, Any], bool]) -> str | None:
    """Recognise a result that is always the same number of times too large."""
    factor = None
    for found, right in results:
        if any(not isinstance(v, (int, float, np.number, np.ndarray)) for v in (found, right)):
            return None
        if any(np.asarray(v).dtype.kind not in "iufc" for v in (found, right)):  # truth values and texts have no factor
            return None
        if np.shape(found) != np.shape(right):
            return None
        flat = np.ravel(np.asarray(right, dtype=object))
        largest = max(range(flat.size), key=lambda i: abs(flat[i]), default=None)
        if factor is None and largest is not None and flat[largest] != 0:
            factor = np.ravel(np.asarray(found, dtype=object))[largest] / flat[largest]
        if factor is not None and (factor in (0, 1) or not alike(found, right * factor)):
            return None
    if factor is None:
        return None
    if factor == -1:
        return "The sign is the wrong way round."
    return f"Always {factor:.6g} times what is asked for: is there a factor too many, or one missing?"


def _other_arguments(names: list[str], cases: Sequence[Case]) -> Iterator[tuple[str, list[Case]]]:
    """Yield explanations of the kind "as if the arguments were others", with the arguments that they speak of."""
    shortest = min(len(case) for case in cases)
    for i in range(shortest):
        for j in range(i + 1, shortest):
            yield (
                f"That is what comes out if `{names[i]}` and `{names[j]}` are swapped.",
                [(*case[:i], case[j], *case[i + 1 : j], case[i], *case[j + 1 :]) for case in cases],
            )
            for into, out_of in ((i, j), (j, i)):
                yield (
                    f"You use `{names[out_of]}` where `{names[into]}` belongs.",
                    [(*case[:into], case[out_of], *case[into + 1 :]) for case in cases],
                )
    for i in range(shortest):
        if all(isinstance(case[i], int) and not isinstance(case[i], bool) for case in cases):
            for step, word in ((1, "larger"), (-1, "smaller")):
                yield (
                    f"That is what comes out if `{names[i]}` is one {word}.",
                    [(*case[:i], case[i] + step, *case[i + 1 :]) for case in cases],
                )
        if all(isinstance(case[i], (list, np.ndarray)) for case in cases):
            for part, where in ((slice(1, None), "first"), (slice(None, -1), "last")):
                yield (
                    f"You leave out the {where} item of `{names[i]}`.",
                    [(*case[:i], case[i][part], *case[i + 1 :]) for case in cases],
                )
            yield (
                f"You go through `{names[i]}` from the wrong end.",
                [(*case[:i], case[i][::-1], *case[i + 1 :]) for case in cases],
            )


def _find_ignored(
    attempt: Callable[..., Any],
    reference: Callable[..., Any],
    names: list[str],
    cases: Sequence[Case],
    alike: Callable[[Any, Any], bool],
) -> str | None:
    """Name an argument on which the right answer depends and the attempt does not, if there is one."""
    cases = cases[:: -(-len(cases) // _MAX_CASES)]  # tried with each other's arguments; the first few are too alike
    ignored = []
    for i in range(max(len(case) for case in cases)):
        matters = False
        for case in cases:
            for other in cases:
                if len(case) <= i or len(other) <= i or difference(case[i], other[i]) is None:
                    continue
                changed = (*case[:i], other[i], *case[i + 1 :])
                found = [_call(attempt, arguments) for arguments in (case, changed)]
                right = [_call(reference, arguments) for arguments in (case, changed)]
                if any(isinstance(result, _Raised) for result in right):
                    continue
                if any(isinstance(result, _Raised) for result in found) or not alike(*found):
                    break
                matters = matters or not alike(*right)
            else:
                continue
            break
        else:
            if matters:
                ignored.append(f"`{names[i]}`")
    if not ignored:
        return None
    return f"Your result does not depend on {' or '.join(ignored)}, and it should."
