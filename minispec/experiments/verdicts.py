"""From figures to a verdict: the words there are, and when a figure is clear enough for one of them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

Word = Literal["holds", "holds here", "depends", "false", "undecided", "not testable here"]
"""holds: by arithmetic, anywhere. holds here: measured, on this machine and pair. depends: true or false according to
something the claim does not mention, which the verdict names. undecided: the figures vary more than the effect."""

MEANINGS: dict[Word, str] = {
    "holds": "true by arithmetic, or wherever it can be measured",
    "holds here": "measured with this pair on this machine",
    "depends": "true or false according to something the claim leaves out, which is named",
    "false": "the arithmetic or the measurement says otherwise",
    "undecided": "the figures vary more than the effect they should show",
    "not testable here": "needs what this project does not have, which is named",
}

Side = Literal["above", "below", "unclear"]


class Interval(NamedTuple):
    """A figure and how far it can be trusted: a 95 % confidence interval, or the range of a few repetitions."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        """Write it with as many decimals as its size asks for."""
        digits = 3 if abs(self.value) < 1 else 2
        return f"{self.value:.{digits}f} ({self.low:.{digits}f} to {self.high:.{digits}f})"


class Verdict(NamedTuple):
    """A word, and the reason with its figures."""

    word: Word
    because: str


def side(figure: Sequence[float], bound: float) -> Side:
    """Say on which side of ``bound`` a figure lies, all of its interval counted.

    Examples
    --------
    >>> side(Interval(1.3, 1.2, 1.4), 1.0), side(Interval(1.3, 0.9, 1.4), 1.0)
    ('above', 'unclear')
    """
    _, low, high = figure
    return "above" if low > bound else "below" if high < bound else "unclear"


def above(figure: Sequence[float], bound: float) -> bool | None:
    """Whether a figure lies above ``bound``; None if its interval does not say."""
    return {"above": True, "below": False, "unclear": None}[side(figure, bound)]


def below(figure: Sequence[float], bound: float) -> bool | None:
    """Whether a figure lies below ``bound``; None if its interval does not say."""
    answer = above(figure, bound)
    return None if answer is None else not answer


def inside(figure: Sequence[float], low: float, high: float) -> bool | None:
    """Whether a figure lies in a claimed range; None if its interval does not say."""
    return {"inside": True, "outside": False, "unclear": None}[within(figure, low, high)]


def within(figure: Sequence[float], low: float, high: float) -> Literal["inside", "outside", "unclear"]:
    """Say whether a figure lies in a claimed range: all of its interval, none of it, or neither.

    Examples
    --------
    >>> within(Interval(0.72, 0.71, 0.73), 0.7, 0.8), within(Interval(0.72, 0.68, 0.76), 0.7, 0.8)
    ('inside', 'unclear')
    """
    if figure[1] >= low and figure[2] <= high:
        return "inside"
    return "outside" if figure[1] > high or figure[2] < low else "unclear"


def median_of(values: Sequence[float]) -> Interval:
    """Return the median of repetitions with its distribution-free 95 % interval; of five or fewer, their whole range.

    Notes
    -----
    Each repetition lies below the median with probability 1/2, so the k-th smallest and the k-th largest of n enclose
    it with probability 1 - 2 P(Bin(n, 1/2) < k): 96 % for the second of nine. One disturbed round decides nothing.

    Examples
    --------
    >>> median_of([1.2, 1.0, 1.1])
    Interval(value=1.1, low=1.0, high=1.2)
    >>> median_of([9.0, 1, 2, 3, 4, 5, 6, 7, 8])
    Interval(value=5, low=2, high=8)
    """
    ordered, n = sorted(values), len(values)
    k, outside = 1, 2 / 2**n
    while outside + 2 * math.comb(n, k) / 2**n <= 0.05:
        outside += 2 * math.comb(n, k) / 2**n
        k += 1
    return Interval(statistics.median(ordered), ordered[k - 1], ordered[-k])


def difference(a: Sequence[float], b: Sequence[float]) -> Interval:
    """Return a - b of two independent figures; the interval is as wide as both together in quadrature."""
    value = a[0] - b[0]
    down = ((a[0] - a[1]) ** 2 + (b[2] - b[0]) ** 2) ** 0.5
    up = ((a[2] - a[0]) ** 2 + (b[0] - b[1]) ** 2) ** 0.5
    return Interval(value, value - down, value + up)


def tally(answers: Sequence[bool | None]) -> Word:
    """Return the verdict of a claim about several cases: each True, False, or None where its figure is unclear.

    Examples
    --------
    >>> tally([True, True]), tally([False]), tally([True, False, None]), tally([True, None])
    ('holds here', 'false', 'depends', 'undecided')
    """
    if True in answers and False in answers:
        return "depends"
    if None in answers:
        return "undecided"
    return "holds here" if all(answers) else "false"


def spell(answers: Mapping[str, bool | None]) -> str:
    """Say which cases answered yes, which no, and which cannot be told.

    Examples
    --------
    >>> spell({"code": True, "stories": False, "questions": True})
    'yes: code, questions; no: stories'
    """
    groups = {"yes": True, "no": False, "unclear": None}
    found = {word: [name for name, answer in answers.items() if answer is value] for word, value in groups.items()}
    return "; ".join(f"{word}: {', '.join(names)}" for word, names in found.items() if names)
