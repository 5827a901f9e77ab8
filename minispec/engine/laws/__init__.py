"""Executable laws: what our tests hold every part to, and what a grader holds a learner's part to."""

from minispec.engine.laws.enumerator import Enumerator, Law
from minispec.engine.laws.outcomes import Outcome, ending, outcome, speculative_stream, target_law, total_variation
from minispec.engine.laws.parts import check_drafter, check_rule

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
