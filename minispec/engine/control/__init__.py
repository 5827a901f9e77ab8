"""How many tokens to draft, and when not to draft at all."""

from minispec.engine.control.auto import AutoGamma
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
