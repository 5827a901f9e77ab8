"""Every compatible pair (or triple) of levels in few cases: a greedy covering array, the same one each time."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence

import numpy as np

Case = dict[str, str]
"""A level for each axis."""


def product(axes: Mapping[str, Sequence[str]], compatible: Callable[[Case], bool]) -> list[Case]:
    """Every compatible case."""
    cases = (dict(zip(axes, levels, strict=True)) for levels in itertools.product(*axes.values()))
    return [case for case in cases if compatible(case)]


def combinations(case: Case, strength: int) -> list[tuple[tuple[str, str], ...]]:
    """The pairs (triples, ...) of levels that one case covers."""
    return list(itertools.combinations(case.items(), strength))


def covering(cases: Sequence[Case], strength: int) -> list[Case]:
    """Cases that together cover every combination of ``strength`` levels which any of ``cases`` covers.

    Greedy: always the case with the most combinations that are not covered yet, the first one on ties.
    """
    number: dict[object, int] = {}
    covers = np.array(
        [[number.setdefault(levels, len(number)) for levels in combinations(case, strength)] for case in cases]
    )
    missing = np.ones(len(number), np.bool_)
    chosen = []
    while missing.any():
        best = int(np.argmax(missing[covers].sum(axis=1)))
        missing[covers[best]] = False
        chosen.append(cases[best])
    return chosen
