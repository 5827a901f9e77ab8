"""From figures to a verdict: the words there are, and when a figure is clear enough for one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

Word = Literal["holds", "holds here", "depends", "at best depends", "false", "undecided", "not testable here"]
"""holds: by arithmetic, anywhere. holds here: measured, on this machine and pair. depends: true or false according to
something the claim does not mention, which the verdict names. at best depends: it does not hold, as some cases clearly
say no; whether any says yes cannot be told. undecided: the figures vary more than the effect."""

MEANINGS: dict[Word, str] = {
    "holds": "true by arithmetic, or wherever it can be measured",
    "holds here": "measured with this pair on this machine",
    "depends": "true or false according to something the claim leaves out, which is named",
    "at best depends": "some cases clearly contradict it; of the others the figures cannot tell",
    "false": "the arithmetic or the measurement says otherwise",
    "undecided": "the figures vary more than the effect they should show",
    "not testable here": "needs what this project does not have, which is named",
}

Side = Literal["above", "below", "unclear"]


class Interval(NamedTuple):
    """A figure and how far it can be trusted: a 95 % confidence interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        """Write it with as many decimals as its size asks for."""
        digits = 3 if abs(self.value) < 1 else 2
        return f"{self.value:.{digits}f} ({self.low:.{digits}f} to {self.high:.{digits}f})"


class Finding(NamedTuple):
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


def tally(answers: Sequence[bool | None]) -> Word:
    """Return the verdict of a claim about several cases: each True, False, or None where its figure is unclear.

    One clear counterexample is enough to exclude "holds"; one clear confirmation is enough to exclude "false".

    Examples
    --------
    >>> tally([True, True]), tally([False]), tally([True, False, None])
    ('holds here', 'false', 'depends')
    >>> tally([True, None]), tally([False, None])
    ('undecided', 'at best depends')
    """
    if True in answers and False in answers:
        return "depends"
    if None in answers:
        return "at best depends" if False in answers else "undecided"
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
