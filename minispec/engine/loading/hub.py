"""Models by hub name, through ``huggingface_hub``: its cache, its offline mode, its progress bars.

A name is ``owner/model`` or ``owner/model@revision``; a revision is a branch, a tag or a commit.
"""

from __future__ import annotations

import re
from pathlib import Path

from minispec.errors import MissingDependencyError, ModelFileError, ModelNotFoundError, explain, quote

_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?(@[\w./-]+)?")
MODEL_FILES = (
    "config.json",
    "generation_config.json",
    "model.safetensors",
    "model-*.safetensors",
    "model.safetensors.index.json",
    "tokenizer.json",
    "vocab.json",
    "merges.txt",
    "tokenizer_config.json",
    "added_tokens.json",
    "special_tokens_map.json",
)
"""What a model needs; never a pickle."""
_UNREACHABLE = ("LocalEntryNotFoundError", "OfflineModeIsEnabled", "ConnectionError", "ConnectError", "ConnectTimeout")
"""Errors of huggingface_hub, and of what it asks through, that say nothing of the model."""


def looks_like_hub_name(name: str) -> bool:
    """Return whether ``name`` has the form ``model`` or ``owner/model``, with or without ``@revision``."""
    return _NAME.fullmatch(name) is not None and not name.startswith(".")


def fetch(name: str) -> Path:
    """Return the folder of a hub model, downloading what the cache lacks.

    Parameters
    ----------
    name : str
        ``@`` is followed by a branch, a tag or a commit.

    Raises
    ------
    MissingDependencyError
        If ``huggingface_hub`` is not installed.
    ModelNotFoundError
        If the hub has no such model or revision, or cannot be reached and the cache lacks it.
    ModelFileError
        If the model is published as pickles only.
    """
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        raise MissingDependencyError(
            f"{quote(name)} is no folder and no bundled model, and huggingface_hub, which asks the hub, is not "
            "installed. Try: pip install huggingface_hub; `minispec models` lists what is bundled"
        ) from None
    repository, _, revision = name.partition("@")
    try:
        folder = Path(snapshot_download(repository, revision=revision or None, allow_patterns=list(MODEL_FILES)))
    except Exception as error:  # its errors share no base class: HTTP, cache, offline, validation, connection
        kind = type(error).__name__
        if kind in _UNREACHABLE:
            told, way_out = (
                "cannot be reached, and its cache here does not hold it",
                "Check the connection and the name",
            )
        else:
            told, way_out = f"did not give it ({kind}: {explain(error)})", "Check the name"
        raise ModelNotFoundError(
            f"{quote(name)} is no folder and no bundled model, and the hub {told}. {way_out}; `minispec models` lists "
            "what is bundled"
        ) from None
    if not any(folder.glob("*.safetensors")):
        pickles = _pickles(repository, revision)
        if pickles:
            raise ModelFileError(
                f"{quote(name)} is published only as a pickle ({pickles[0]}), which can run code when it is read; "
                "minispec reads safetensors alone. Look for a revision that has them (NAME@refs/pr/1, say), or convert "
                "it with transformers: model.save_pretrained(FOLDER)"
            )
    return folder


def _pickles(repository: str, revision: str) -> list[str]:
    """Return the pickled weights that a repository lists; none where it cannot be asked."""
    from huggingface_hub import list_repo_files

    try:
        files = list_repo_files(repository, revision=revision or None)
    except Exception:  # as in fetch
        return []
    return sorted(file for file in files if file.endswith((".bin", ".pt", ".pth", ".ckpt")))
