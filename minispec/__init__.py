"""minispec: speculative decoding for GPT-2-family models, to be understood, measured and trusted.

>>> import minispec
>>> model = minispec.load_model("draft-1.6m", backend="numpy")
>>> model.logits([1, 2, 3]).shape
(3, 8192)
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from minispec.engine.batching import Engine, generate_many
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

_PACKAGES = {
    "Engine": "batching",
    "Generation": "generation",
    "Stream": "generation",
    "generate": "generation",
    "generate_many": "batching",
    "load_model": "loading",
    "load_tokenizer": "loading",
    "stream": "generation",
}


def __getattr__(name: str) -> Any:
    """Import a name when it is asked for: a command that prints a list need not wait for the engine."""
    if name in _PACKAGES:
        return getattr(importlib.import_module(f"minispec.engine.{_PACKAGES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
