"""Drafts that look inside the target: small heads on its hidden states, trained for it and of use with no other.

``medusa`` guesses each of the next places by itself, ``eagle`` one token after the other from its own states, ``block``
all places in one pass. Each is a file; ``folder`` reads what training has written, and ``session`` lets heads be asked
as draft models are.
"""

from minispec.drafters.heads.block import BlockDrafter
from minispec.drafters.heads.config import HeadConfig
from minispec.drafters.heads.eagle import EagleDrafter, EagleSource
from minispec.drafters.heads.folder import Head, compute_fingerprint, hash_arrays
from minispec.drafters.heads.load import find_heads, load_head
from minispec.drafters.heads.medusa import MedusaDrafter
from minispec.drafters.heads.parallel import ParallelSource
from minispec.drafters.heads.session import HeadSession

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
