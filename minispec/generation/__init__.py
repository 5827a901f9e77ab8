"""Decoding: the loop, the end of a text, the events on the way, and the Python surface."""

from minispec.generation.api import generate, stream
from minispec.generation.events import Drafted, Emitted, Event, Finished, Prefilled, Verified
from minispec.generation.options import Options
from minispec.generation.result import Generation
from minispec.generation.stream import Stream

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
