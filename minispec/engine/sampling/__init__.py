"""From logits to the distribution of the next token: one order of processors, for draft and target alike."""

import importlib
from typing import TYPE_CHECKING, Any

from minispec.engine.sampling.draw import distribution
from minispec.engine.sampling.params import SamplingParams
from minispec.engine.sampling.sampler import Sampler

if TYPE_CHECKING:
    from minispec.engine.sampling.constraint import Constraint

__all__ = ["Constraint", "Sampler", "SamplingParams", "distribution"]

_MODULES = {
    "Constraint": "minispec.engine.sampling.constraint",
}
"""What a default run does not need, and where it is."""


def __getattr__(name: str) -> Any:
    """Import it when it is asked for."""
    if name in _MODULES:
        return getattr(importlib.import_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
