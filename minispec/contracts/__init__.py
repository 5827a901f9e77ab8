"""Executable laws: what our tests hold every part to, and what a grader holds a learner's part to."""

from minispec.contracts.enumerator import Enumerator, Law
from minispec.contracts.laws import Outcome, ending, outcome, speculative_stream, target_law, total_variation
from minispec.contracts.parts import check_drafter, check_rule

__all__ = [
    "Enumerator",
    "Law",
    "Outcome",
    "check_drafter",
    "check_rule",
    "ending",
    "outcome",
    "speculative_stream",
    "target_law",
    "total_variation",
]
