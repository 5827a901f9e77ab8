"""The GPT-2 forward, its weights, its cache, and sessions that remember what the cache has seen."""

from minispec.model.cache import KVCache
from minispec.model.config import GPT2Config
from minispec.model.gpt2 import GPT2
from minispec.model.language_model import LanguageModel
from minispec.model.session import Session

__all__ = ["GPT2", "GPT2Config", "KVCache", "LanguageModel", "Session"]
