"""Executable laws: what our tests hold every part to, and what a grader holds a learner's part to."""

from minispec.contracts.enumerator import Enumerator, Law
from minispec.contracts.laws import Outcome, ending, outcome, speculative_stream, target_law, total_variation
from minispec.contracts.oracle import finite_language, slow_law, slow_logits, slow_row

__all__ = [
    "Enumerator",
    "Law",
    "Outcome",
    "ending",
    "finite_language",
    "outcome",
    "slow_law",
    "slow_logits",
    "slow_row",
    "speculative_stream",
    "target_law",
    "total_variation",
]
