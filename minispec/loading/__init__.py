"""From a folder, a bundled name or a hub name to a model that is ready to run."""

from minispec.loading.bundled import BundledModel, bundled_models
from minispec.loading.folder import load_model, load_tokenizer

__all__ = ["BundledModel", "bundled_models", "load_model", "load_tokenizer"]
