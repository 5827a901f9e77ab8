"""Checks of the formulas' arguments. A refusal is one line: the value, the rule and the way out."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from minispec.errors import OptionError, quote

MAX_GAMMA = 4096
"""No context of a GPT-2 holds more drafts."""

_SUM_ROUNDING = 1e-4

ALPHA_WAY_OUT = "accepted / evaluated tokens of a run is an estimate"
COST_WAY_OUT = "it is a time over that of plain decoding per token"


def number(value: object) -> float:
    """Return ``value`` as a float, NaN if it is none: NaN passes no range."""
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return math.nan


def probability(name: str, value: float, way_out: str = ALPHA_WAY_OUT) -> float:
    """Return ``value`` if it lies in [0, 1]."""
    checked = number(value)
    if not 0.0 <= checked <= 1.0:
        raise OptionError(f"{name} is {quote(value)}; a probability lies in [0, 1]; {way_out}")
    return checked


def probabilities(name: str, values: Iterable[float], way_out: str = ALPHA_WAY_OUT) -> list[float]:
    """Return ``values`` if each lies in [0, 1]."""
    return [probability(f"{name}[{i}]", value, way_out) for i, value in enumerate(values)]


def distribution(name: str, probs: ArrayLike) -> NDArray[np.float64]:
    """Return ``probs`` as an array of float64 if they are one; float32 may round their sum."""
    try:
        row = np.asarray(probs, np.float64)
    except (TypeError, ValueError):
        row = np.empty((0, 0))
    if row.ndim != 1 or not (row >= 0.0).all() or not abs(float(row.sum()) - 1.0) <= _SUM_ROUNDING:
        total = f" with sum {row.sum():g}" if row.ndim == 1 else ""
        raise OptionError(
            f"{name} are {quote(probs)[:80]}{total}; they must be one row of numbers >= 0 with sum 1; divide them by "
            "their sum first"
        )
    return row


def at_least(name: str, value: float, bound: float, way_out: str) -> float:
    """Return ``value`` if it is finite and not below ``bound``."""
    checked = number(value)
    if not bound <= checked < math.inf:
        raise OptionError(f"{name} is {quote(value)}; it must be a finite number >= {bound:g}; {way_out}")
    return checked


def above_zero(name: str, value: float, way_out: str) -> float:
    """Return ``value`` if it is finite and greater than 0."""
    checked = number(value)
    if not 0.0 < checked < math.inf:
        raise OptionError(f"{name} is {quote(value)}; it must be a finite number > 0; {way_out}")
    return checked


def cost(name: str, value: float) -> float:
    """Return a cost in plain steps."""
    return at_least(name, value, 0, COST_WAY_OUT)


def whole(name: str, value: int, low: int, high: int, way_out: str) -> int:
    """Return ``value`` if it is an integer from ``low`` to ``high``."""
    try:
        checked = operator.index(value)
    except TypeError:
        checked = low - 1
    if not low <= checked <= high:
        raise OptionError(f"{name} is {quote(value)}; it must be a whole number from {low} to {high}; {way_out}")
    return checked


def drafts(gamma: int, low: int = 0) -> int:
    """Return the number of drafted tokens per step."""
    return whole("gamma", gamma, low, MAX_GAMMA, "it counts drafted tokens per step, try 4")


def smallest(increasing: Callable[[float], float], wanted: float) -> float:
    """Return the smallest x of [0, 1] with ``increasing(x) >= wanted``, by bisection down to neighbouring floats.

    The caller knows that ``increasing(1.0) >= wanted``.
    """
    low, high = 0.0, 1.0
    if increasing(low) >= wanted:
        return low
    while low < (middle := 0.5 * (low + high)) < high:
        if increasing(middle) >= wanted:
            high = middle
        else:
            low = middle
    return high
