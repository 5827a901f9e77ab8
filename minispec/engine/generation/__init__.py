"""Decoding: the loop, the end of a text, the events on the way, and the Python surface."""

from minispec.engine.generation.api import generate, stream
from minispec.engine.generation.events import Drafted, Emitted, Event, Finished, Prefilled, Verified
from minispec.engine.generation.options import Options
from minispec.engine.generation.result import Generation
from minispec.engine.generation.run import Stream

__all__ = [
    "Drafted",
    "Emitted",
    "Event",
    "Finished",
    "Generation",
    "Options",
    "Prefilled",
    "Stream",
    "Verified",
    "generate",
    "stream",
]
