"""From a folder, a bundled name or a hub name to a model that is ready to run."""

from minispec.engine.loading.bundled import BundledModel, bundled_models
from minispec.engine.loading.folder import load_model, load_tokenizer

__all__ = ["BundledModel", "bundled_models", "load_model", "load_tokenizer"]
