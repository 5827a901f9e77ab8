"""Named checks: what tells a wrong decoder from a right one. Each returns how far the engine is from what it must be.

0 (to ``EXACT``) is right. The mutants are put in place around the whole check; what a check compares *with* is computed
without the engine (slow oracles, theorems, hand-worked numbers), before the mutant is in place.
"""

from __future__ import annotations

from . import (  # noqa: F401 - they add to the list
    batching,
    drafting,
    ending,
    engine,
    figures,
    formulas,
    heads,
    kernels,
    loading,
    policies,
    sampling,
    sessions,
    verifying,
)
from .base import CHECKS

__all__ = ["CHECKS"]
