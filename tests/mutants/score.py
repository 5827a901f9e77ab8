"""Put each mistake in place, run the check that must notice, and write down what it saw."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from minispec.errors import InvariantError

from .catalogue import EQUIVALENT, FAMILIES, MUTANTS, Mutant
from .checks import CHECKS

RIGHT = 1e-12
"""What a check may return for a right engine: rounding of a few dozen float64 factors."""
TOLD_APART = 1e-6
"""What counts as noticed: a million times the rounding, a hundredth of the smallest distance in the catalogue."""
REFUSALS = (AssertionError, InvariantError, IndexError)
"""Exceptions that count as noticed: a test's, the engine's or the enumerator's own, and an index into a row that is not
there."""

PUBLISHED = Path(__file__).parents[2] / "docs" / "mutation-score.md"


@functools.cache
def distance(name: str) -> float:
    """Return what a check says of the engine as it is."""
    return CHECKS[name].run()


def evidence(mutant: Mutant) -> float | str:
    """Return what the check saw with the mistake in place: a distance, or the name of an exception.

    Hypothesis raises a group where its examples fail in several ways; one that counts is enough.
    """
    right = distance(mutant.killed_by)  # also computes, and keeps, what the check compares with
    if not right <= RIGHT:
        raise AssertionError(f"{mutant.killed_by} does not pass without a mistake: {right}")
    patch = mutant.patch()  # where the passage to be changed is not there, this is no evidence
    try:
        with patch, np.errstate(all="ignore"):
            return float(CHECKS[mutant.killed_by].run())
    except REFUSALS as refusal:
        return type(refusal).__name__
    except ExceptionGroup as several:
        if (refusals := several.subgroup(REFUSALS)) is None:
            raise
        return type(refusals.exceptions[0]).__name__


def is_killed(seen: float | str) -> bool:
    return isinstance(seen, str) or seen > TOLD_APART


def show(seen: float | str) -> str:
    return f"raises {seen}" if isinstance(seen, str) else f"{seen:.2g}"


def report(seen: Sequence[float | str]) -> str:
    """Return the page; ``seen`` is the evidence of each mutant, in the catalogue's order."""
    killed = sum(map(is_killed, seen))
    lines = [
        "# Mutation score",
        "",
        "A test suite is worth what it notices. Each row is the real engine with one mistake made on purpose, and the",
        "one named check that must notice it; all are in `tests/mutants/`. `python -m tests.mutants` runs them and",
        "writes this page.",
        "",
        f"**{killed} of {len(seen)} mistakes noticed ({killed / len(seen):.0%}).**",
        "",
        "| family | mistakes | noticed |",
        "|---|---|---|",
    ]
    for number, title in FAMILIES.items():
        own = [is_killed(s) for mutant, s in zip(MUTANTS, seen, strict=True) if mutant.family == number]
        lines.append(f"| {number}. {title} | {len(own)} | {sum(own)} |")
    lines += [
        "",
        "Evidence is the total variation from the right law (*law* and *sources*, by exact enumeration: a right",
        "engine is within 1e-12), the share of texts that differ (*seed*), the number of figures, rows or texts that",
        "are wrong (*counter*, *cost*, *trace*), the largest difference or the number of wrong values (*value*), or",
        "the exception with which a test of the suite fails, or the engine or the enumerator refuses.",
        "",
        "## Mistakes",
        "",
        "| mistake | what it does | noticed by | evidence |",
        "|---|---|---|---|",
    ]
    for number, title in FAMILIES.items():
        lines.append(f"| **{number}. {title}** | | | |")
        lines += [
            f"| {mutant.name} | {_cell(mutant.what)} | {mutant.killed_by} | {show(s)} |"
            for mutant, s in zip(MUTANTS, seen, strict=True)
            if mutant.family == number
        ]
    lines += [
        "",
        "## No mistakes",
        "",
        "Changes that look like mistakes and are none. They are not counted; the check named here passes with them.",
        "",
        "| change | what it does | why it is right | passes |",
        "|---|---|---|---|",
    ]
    lines += [f"| {m.name} | {_cell(m.what)} | {_cell(m.proof)} | {m.killed_by} |" for m in EQUIVALENT]
    used = sorted({mutant.killed_by for mutant in [*MUTANTS, *EQUIVALENT]})
    lines += ["", "## Checks", "", "| check | kind | what it compares |", "|---|---|---|"]
    lines += [f"| {name} | {CHECKS[name].kind} | {_cell(CHECKS[name].what)} |" for name in used]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
