"""Models by hub name, through ``huggingface_hub``: its cache, its offline mode, its progress bars."""

from __future__ import annotations

import re
from pathlib import Path

from minispec.errors import MissingDependencyError, ModelNotFoundError, reason, shown

_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?")
_FILES = (
    "config.json",
    "model.safetensors",
    "model-*.safetensors",
    "model.safetensors.index.json",
    "tokenizer.json",
    "vocab.json",
    "merges.txt",
)
"""What a model needs; never a pickle."""


def looks_like_hub_name(name: str) -> bool:
    """Return whether ``name`` has the form ``model`` or ``owner/model``."""
    return _NAME.fullmatch(name) is not None and not name.startswith(".")


def fetch(name: str) -> Path:
    """Return the folder of a hub model, downloading what the cache lacks.

    Raises
    ------
    MissingDependencyError
        If ``huggingface_hub`` is not installed.
    ModelNotFoundError
        If the hub has no such model, or cannot be reached and the cache lacks it.
    """
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        raise MissingDependencyError(
            f"{shown(name)} is no folder and no bundled model, and huggingface_hub, which asks the hub, is not "
            "installed. Try: pip install huggingface_hub; `minispec models` lists what is bundled"
        ) from None
    try:
        return Path(snapshot_download(name, allow_patterns=list(_FILES)))
    except Exception as error:  # its errors share no base class: HTTP, cache, offline, validation, connection
        raise ModelNotFoundError(
            f"{shown(name)} is no folder and no bundled model, and the hub did not give it "
            f"({type(error).__name__}: {reason(error)}). Check the name; `minispec models` lists what is bundled"
        ) from None
