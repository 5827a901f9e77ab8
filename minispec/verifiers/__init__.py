"""Rules that decide which drafted tokens stay. Mathematics only: no model, no backend, no I/O."""

from minispec.verifiers import rejection
from minispec.verifiers.base import Verify

__all__ = ["Verify", "rejection"]
