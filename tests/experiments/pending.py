"""Entries that nobody can measure before the heads they draft with are bundled."""

from __future__ import annotations

from minispec.drafters.heads import find_heads
from minispec.experiments.framework import NAMES
from minispec.loading.bundled import DEFAULT_TARGET, bundled_folders

HEADS = {"hidden-states": {"eagle"}, "one-pass-drafts": {"eagle", "block"}, "trees-pay": {"eagle"}}
"""By entry."""

_BUNDLED = set(find_heads(bundled_folders()[DEFAULT_TARGET]))

MEASURABLE = tuple(name for name in NAMES if HEADS.get(name, set()) <= _BUNDLED)
"""What the ledger must hold today, in its order."""
