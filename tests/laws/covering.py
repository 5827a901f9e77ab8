"""Every compatible pair of levels in few cases: a greedy covering array, the same one each time."""

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


def pairs(case: Case) -> list[tuple[tuple[str, str], tuple[str, str]]]:
    """The pairs of levels that one case covers."""
    return list(itertools.combinations(case.items(), 2))


def pairwise(cases: Sequence[Case]) -> list[Case]:
    """Cases that together cover every pair which any of ``cases`` covers.

    Greedy: always the case with the most pairs that are not covered yet, the first one on ties.
    """
    number: dict[object, int] = {}
    covers = np.array([[number.setdefault(pair, len(number)) for pair in pairs(case)] for case in cases])
    missing = np.ones(len(number), np.bool_)
    chosen = []
    while missing.any():
        best = int(np.argmax(missing[covers].sum(axis=1)))
        missing[covers[best]] = False
        chosen.append(cases[best])
    return chosen
