"""minispec: speculative decoding for GPT-2-family models, to be understood, measured and trusted.

>>> import minispec
>>> model = minispec.load_model("draft-1.6m", backend="numpy")
>>> model.logits([1, 2, 3]).shape
(3, 8192)
"""

from minispec.batching import Engine, generate_many
from minispec.generation import Generation, Stream, generate, stream
from minispec.loading import load_model, load_tokenizer

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
