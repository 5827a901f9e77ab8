"""The GPT-2 forward, its weights, its cache, and sessions that remember what the cache has seen."""

from minispec.engine.model.cache import KVCache
from minispec.engine.model.config import GPT2Config
from minispec.engine.model.gpt2 import GPT2
from minispec.engine.model.language_model import LanguageModel
from minispec.engine.model.session import Session

__all__ = ["GPT2", "GPT2Config", "KVCache", "LanguageModel", "Session"]
