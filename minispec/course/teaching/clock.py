"""Times that a lesson may draw a conclusion from, or a sentence that says to run the cell again."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minispec.course.teaching.lesson import Outcome
from minispec.course.teaching.steps import RIGHT, TODO
from minispec.lab.timer import interleave

BUSY = 0.25
"""A machine is busy if half of the times of one candidate differ by more than this share of their median."""


@dataclass(frozen=True)
class Times:
    """Seconds of several candidates, taken in turns.

    Parameters
    ----------
    seconds : mapping of a candidate to its times
    """

    seconds: Mapping[str, Sequence[float]]

    def median(self, name: str) -> float:
        """Return the median seconds of one candidate."""
        return float(np.median(self.seconds[name]))

    def spread(self) -> tuple[str, float]:
        """Return the candidate whose times vary most, and the middle half of them over their median."""
        spreads = {}
        for name, values in self.seconds.items():
            low, middle, high = np.percentile(values, [25, 50, 75])
            spreads[name] = float((high - low) / middle)
        worst = max(spreads, key=spreads.__getitem__)
        return worst, spreads[worst]

    def conclude(self, sentence: str, *, possible: bool = True) -> Outcome:
        """Show a sentence about these times, unless the machine was busy while they were taken.

        Parameters
        ----------
        sentence : str
        possible : bool
            False if the figures contradict what is known, such as a program that is faster than memory.
        """
        worst, spread = self.spread()
        if not possible:
            return Outcome(TODO, "Busy machine, run again: these figures cannot be right together.")
        if spread > BUSY:
            return Outcome(TODO, f"Busy machine, run again: the times of `{worst}` vary by {spread:.0%}.")
        return Outcome(RIGHT, sentence)


def time_all(runs: Mapping[str, Callable[[], Any]], rounds: int = 9) -> Times:
    """Time each candidate ``rounds`` times, in turns; its first call, which may compile, is left out.

    Parameters
    ----------
    runs : mapping of a candidate to what it does
    rounds : int
    """
    for run in runs.values():
        run()
    return Times(interleave({name: _stopwatch(run) for name, run in runs.items()}, rounds))


def _stopwatch(run: Callable[[], Any]) -> Callable[[], float]:
    def seconds() -> float:
        started = time.perf_counter()
        run()
        return time.perf_counter() - started

    return seconds
