"""Heads by their folders: each is read once for a target."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from minispec.drafters.heads.block import BlockHead
from minispec.drafters.heads.eagle import EagleHead
from minispec.drafters.heads.folder import Head
from minispec.drafters.heads.medusa import MedusaHead
from minispec.errors import ModelFileError, explain, quote
from minispec.loading.checkpoint import WEIGHTS
from minispec.model.language_model import LanguageModel

_KINDS: Mapping[str, type[Head]] = {kind.kind: kind for kind in (MedusaHead, EagleHead, BlockHead)}
_read: WeakKeyDictionary[LanguageModel, dict[tuple[Any, ...], Head]] = WeakKeyDictionary()


def load_head(folder: str, kind: str, target: LanguageModel) -> Head:
    """Return the head of a folder, read once for all drafters of a target, and again where its files have changed.

    Raises
    ------
    InputError
        See :class:`Head`.
    """
    try:
        path = Path(folder).expanduser()
        ages = [(path / name).stat().st_mtime_ns for name in ("config.json", WEIGHTS)]
    except (OSError, RuntimeError, ValueError) as error:  # too long for the file system, no such ~user
        what = getattr(error, "strerror", None) or explain(error)
        raise ModelFileError(
            f"{kind}: {quote(folder)} holds no head ({what}); its folder has config.json and {WEIGHTS}. Train one: "
            f"python -m minispec.training head {kind} --help"
        ) from None
    known, key = _read.setdefault(target, {}), (kind, folder, *ages)
    if key not in known:
        known[key] = _KINDS[kind](path, target)
    return known[key]
