"""Where two runs part ways, and why: a tie, a rounding, another draw, other options, an earlier end, or a bug."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from minispec.engine.model.language_model import LanguageModel

Cause = Literal["tie", "rounding", "cut short", "other options", "another draw", "bug"]

_ROUNDING = 1e-4
"""Logits closer than this times max(1, |logit|) may change places under another summation order in float32."""


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first position at which two token sequences differ.

    Attributes
    ----------
    position : int
        Counted from the first *generated* token.
    tokens : tuple of (int or None)
        What each run has there; None where it had ended.
    top2 : tuple of (int, float)
        The target's two likeliest tokens there, with their logits.
    margin : float
        The difference of the two logits.
    cause : {"tie", "rounding", "cut short", "other options", "another draw", "bug"}
        "cut short": one run had to end before the other; "other options": nothing was drawn, and nothing promised equal
        tokens.
    """

    position: int
    tokens: tuple[int | None, int | None]
    top2: tuple[tuple[int, float], tuple[int, float]]
    margin: float
    cause: Cause


def first_difference(a: Sequence[int], b: Sequence[int]) -> int | None:
    """Return the first index at which two sequences differ (one may have ended), None if they are equal."""
    for i in range(max(len(a), len(b))):
        if i >= len(a) or i >= len(b) or a[i] != b[i]:
            return i
    return None


def diverge(
    model: LanguageModel,
    prompt: Sequence[int],
    a: Sequence[int],
    b: Sequence[int],
    *,
    expected_equal: bool,
    same_end: bool,
    drawn: bool,
) -> Divergence | None:
    """Explain the first difference of two generations of one target.

    Parameters
    ----------
    model : LanguageModel
        The target.
    prompt : sequence of int
    a, b : sequence of int
        The generated tokens.
    expected_equal : bool
        Whether the guarantees of both runs together promise equal tokens, up to where one of them ends.
    same_end : bool
        Whether both runs were told to end at the same place.
    drawn : bool
        Whether tokens were drawn at random.

    Returns
    -------
    Divergence or None
        None if there is no difference.
    """
    position = first_difference(a, b)
    if position is None:
        return None
    prefix = [*prompt, *a[:position]]
    logits = model.forward(prefix, model.new_cache(capacity=len(prefix)), 1)[0]
    first, second = (int(token) for token in np.argsort(-logits, kind="stable")[:2]) if len(logits) > 1 else (0, 0)
    top2 = ((first, float(logits[first])), (second, float(logits[second])))
    margin = top2[0][1] - top2[1][1]
    tokens = (a[position] if position < len(a) else None, b[position] if position < len(b) else None)
    cause: Cause
    if None in tokens and not same_end:
        cause = "cut short"
    elif drawn and not expected_equal:
        cause = "another draw"
    else:
        cause = _find_rounding(tokens, top2, margin) or ("bug" if expected_equal else "other options")
    return Divergence(position=position, tokens=tokens, top2=top2, margin=margin, cause=cause)


def _find_rounding(
    tokens: tuple[int | None, int | None], top2: tuple[tuple[int, float], tuple[int, float]], margin: float
) -> Cause | None:
    """Say whether the two candidates changed places, and were close enough for that."""
    if set(tokens) != {top2[0][0], top2[1][0]}:
        return None
    if margin == 0.0:
        return "tie"
    return "rounding" if margin <= _ROUNDING * max(1.0, abs(top2[0][1])) else None
