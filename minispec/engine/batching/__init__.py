"""Many readers at once: continuous batching over pages, each text bit for bit what it is alone."""

from minispec.engine.batching.api import generate_many
from minispec.engine.batching.engine import Engine
from minispec.engine.batching.scheduler import Scheduler

__all__ = ["Engine", "Scheduler", "generate_many"]
