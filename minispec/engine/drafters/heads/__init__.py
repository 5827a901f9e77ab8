"""Drafts that look inside the target: small heads on its hidden states, trained for it and of use with no other.

``medusa`` guesses each of the next positions by itself, ``eagle`` one token after the other from its own states, and
``block`` all positions in one pass. Each is a file. ``folder`` reads the files that training writes. ``session`` lets
the engine run heads and draft models in the same way.
"""

from minispec.engine.drafters.heads.block import BlockDrafter
from minispec.engine.drafters.heads.config import HeadConfig
from minispec.engine.drafters.heads.eagle import EagleDrafter, EagleSource
from minispec.engine.drafters.heads.folder import Head, compute_fingerprint, hash_arrays
from minispec.engine.drafters.heads.load import find_heads, load_head
from minispec.engine.drafters.heads.medusa import MedusaDrafter
from minispec.engine.drafters.heads.parallel import ParallelSource
from minispec.engine.drafters.heads.session import HeadSession

__all__ = [
    "BlockDrafter",
    "EagleDrafter",
    "EagleSource",
    "Head",
    "HeadConfig",
    "HeadSession",
    "MedusaDrafter",
    "ParallelSource",
    "compute_fingerprint",
    "find_heads",
    "hash_arrays",
    "load_head",
]
