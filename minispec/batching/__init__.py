"""Many readers at once: continuous batching over pages, each text bit for bit what it is alone."""

from minispec.batching.api import generate_many
from minispec.batching.engine import Engine
from minispec.batching.scheduler import Scheduler

__all__ = ["Engine", "Scheduler", "generate_many"]
