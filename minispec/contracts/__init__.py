"""Executable laws: what our tests hold every part to, and what a grader holds a learner's part to."""

from minispec.contracts.enumerator import Enumerator, Law
from minispec.contracts.laws import Outcome, ending, outcome, speculative_stream, target_law, total_variation

__all__ = [
    "Enumerator",
    "Law",
    "Outcome",
    "ending",
    "outcome",
    "speculative_stream",
    "target_law",
    "total_variation",
]
