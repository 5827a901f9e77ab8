"""minispec: speculative decoding for GPT-2-family models, to be understood, measured and trusted.

>>> import minispec
>>> model = minispec.load_model("draft-1.6m", backend="numpy")
>>> model.logits([1, 2, 3]).shape
(3, 8192)
"""

from typing import TYPE_CHECKING, Any

from minispec.engine.generation import Generation, Stream, generate, stream
from minispec.engine.loading import load_model, load_tokenizer

__version__ = "0.1.0"

__all__ = [
    "Engine",
    "Generation",
    "Stream",
    "__version__",
    "generate",
    "generate_many",
    "load_model",
    "load_tokenizer",
    "stream",
]

if TYPE_CHECKING:
    from minispec.engine.batching import Engine, generate_many


def __getattr__(name: str) -> Any:
    """Import what serves many requests when it is asked for: one request should not wait for it."""
    if name in ("Engine", "generate_many"):
        from minispec.engine import batching

        return getattr(batching, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
