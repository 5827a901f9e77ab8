"""Rules that decide which drafted tokens stay. Mathematics only: no model, no backend, no I/O.

=========== ============================================== ===================================================
rule        emits                                          keeps a draft x with probability
=========== ============================================== ===================================================
rejection   the target's law                               min(1, p/q)
block       the target's law                               as a block: longer prefixes than rejection
tree        the target's law                               min(1, wanted/q), several candidates per position
traversal   the target's law                               as a tree: what block is to a chain
kseq        the target's law                               min(1, p/(rho q)), independent candidates
match       the tokens of plain sampling, seed for seed    p
gumbel      the tokens of plain sampling, seed for seed    P(both draw x) / q, by shared noise
lenient     LOSSY                                          min(1, p/(l q))
typical     LOSSY                                          1 if p > min(epsilon, delta exp(-H)), else 0
=========== ============================================== ===================================================

:func:`get_verifier` turns ``--verify NAME[:key=value,...]`` into one of them.
"""

import importlib
from typing import TYPE_CHECKING, Any

from minispec.engine.verifiers.base import Verifier, Verify
from minispec.engine.verifiers.registry import VERIFIER_NAMES, get_verifier

if TYPE_CHECKING:
    from minispec.engine.verifiers.expected import expected_accepted

__all__ = [
    "VERIFIER_NAMES",
    "Verifier",
    "Verify",
    "expected_accepted",
    "get_verifier",
]

_MODULES = {
    "expected_accepted": "minispec.engine.verifiers.expected",
}
"""What a default run does not need, and where it is."""


def __getattr__(name: str) -> Any:
    """Import it when it is asked for."""
    if name in _MODULES:
        return getattr(importlib.import_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
