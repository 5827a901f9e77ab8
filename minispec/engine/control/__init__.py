"""How many tokens to draft, and when not to draft at all."""

import importlib
from typing import TYPE_CHECKING, Any

from minispec.engine.control.fallback import Fallback, recall_fallback
from minispec.engine.control.gamma import (
    DEFAULT_GAMMA,
    ConfidenceGamma,
    FixedGamma,
    GammaPolicy,
    HeuristicGamma,
    ReplayedGamma,
)
from minispec.engine.control.registry import get_policy

if TYPE_CHECKING:
    from minispec.engine.control.auto import AutoGamma

__all__ = [
    "DEFAULT_GAMMA",
    "AutoGamma",
    "ConfidenceGamma",
    "Fallback",
    "FixedGamma",
    "GammaPolicy",
    "HeuristicGamma",
    "ReplayedGamma",
    "get_policy",
    "recall_fallback",
]

_MODULES = {
    "AutoGamma": "minispec.engine.control.auto",
}
"""What a default run does not need, and where it is."""


def __getattr__(name: str) -> Any:
    """Import it when it is asked for."""
    if name in _MODULES:
        return getattr(importlib.import_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
