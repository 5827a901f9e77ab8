"""Loads heads from their own folders or from the target's; each is read once for a target."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from minispec.engine.drafters.heads.block import BlockHead
from minispec.engine.drafters.heads.eagle import EagleHead
from minispec.engine.drafters.heads.folder import Head
from minispec.engine.drafters.heads.medusa import MedusaHead
from minispec.engine.drafters.spec import EXAMPLES
from minispec.engine.loading.checkpoint import WEIGHTS
from minispec.engine.model.gpt2 import GPT2
from minispec.engine.model.language_model import LanguageModel
from minispec.errors import ModelFileError, OptionError, explain, quote

_KINDS: Mapping[str, type[Head]] = {kind.kind: kind for kind in (MedusaHead, EagleHead, BlockHead)}
_read: WeakKeyDictionary[LanguageModel, dict[tuple[Any, ...], Head]] = WeakKeyDictionary()


def load_head(folder: str | None, kind: str, target: LanguageModel) -> Head:
    """Return the head of a folder, read once for all drafters of a target, and again where its files have changed.

    Parameters
    ----------
    folder : str or None
        None: the head of this kind that lies in the target's own folder.
    kind : str
    target : LanguageModel

    Raises
    ------
    InputError
        If the target has no hidden states to read, or no such head; and see :class:`Head`.
    """
    model = _require_states(kind, target)
    if folder is None:
        folder = _find_own(kind, model)
    try:
        path = Path(folder).expanduser()
        ages = [(path / name).stat().st_mtime_ns for name in ("config.json", WEIGHTS)]
    except (OSError, RuntimeError, ValueError) as error:  # too long for the file system, no such ~user
        what = getattr(error, "strerror", None) or explain(error)
        raise ModelFileError(
            f"{kind}: {quote(folder)} holds no head ({what}); its folder has config.json and {WEIGHTS}. Train one: "
            f"python -m minispec.lab.training head {kind} --help"
        ) from None
    known, key = _read.setdefault(model, {}), (kind, folder, *ages)
    if key not in known:
        known[key] = _KINDS[kind](path, model)
    return known[key]


def find_heads(folder: Path | None) -> dict[str, Path]:
    """Return the folders of the heads in a target's folder, by kind: each is called after its kind."""
    if folder is None:
        return {}
    return {kind: folder / kind for kind in _KINDS if (folder / kind / "config.json").is_file()}


def _find_own(kind: str, target: GPT2) -> str:
    heads = find_heads(target.folder)
    if kind not in heads:
        others = f"its heads are {', '.join(heads)}" if heads else "it has no head of any kind"
        raise OptionError(
            f"{kind}: no {kind} head comes with {target.name}; {others}. Train one "
            f"(python -m minispec.lab.training head "
            f"{kind} --target {target.name} --help), then try {EXAMPLES[kind]}"
        )
    return str(heads[kind])


def _require_states(kind: str, target: LanguageModel) -> GPT2:
    if not isinstance(target, GPT2):
        raise OptionError(f"{kind}: {target.name} has no hidden states to read. Try --draft ngram")
    return target
