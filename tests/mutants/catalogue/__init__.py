"""Wrong decoders: the real engine with one mistake, made on purpose, and the check that must notice.

Each entry is a function that returns a context manager; inside it the engine has the mistake its docstring describes.
The families are those in which such mistakes are found in public code. ``EQUIVALENT`` holds changes that are no
mistakes, each with the reason: they are outside the score.
"""

from __future__ import annotations

from . import (  # noqa: F401 - they add to the lists
    batching,
    decoding,
    drafting,
    ending,
    equivalent,
    figures,
    formulas,
    heads,
    kernels,
    loading,
    policies,
    sampling,
    verifying,
)
from .tools import EQUIVALENT, FAMILIES, MUTANTS, Mutant, rule

__all__ = ["EQUIVALENT", "FAMILIES", "MUTANTS", "Mutant", "rule"]
