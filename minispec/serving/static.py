"""The page as a folder that needs no server: its files, an engine in JavaScript, weights, tokenizer and licence."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from minispec.engine.control import DEFAULT_GAMMA
from minispec.engine.files import new_folder
from minispec.engine.generation.options import Options
from minispec.engine.generation.result import MEANING
from minispec.engine.loading.bundled import DEFAULT_TARGET, TOKENIZER, bundled_folders, file_of
from minispec.engine.loading.checkpoint import read_json
from minispec.engine.verifiers import get_verifier
from minispec.errors import MinispecError

DRAFTS = ("draft-1.6m", "draft-0.6m")
RULES = ("rejection", "match", "gumbel")
_MAX_GAMMA = 32
_MAX_LOGPROBS = 5
_ROOT = Path(__file__).resolve().parents[2]
_HERE = Path(__file__).parent
_PAGE = _HERE / "page"
_BROWSER = _HERE / "browser"


def write_page(folder: Path) -> int:
    """Write the folder; any web server can hold it, and every address in it is relative.

    Parameters
    ----------
    folder : Path
        Made; it is there as a whole or not at all.

    Returns
    -------
    int
        Bytes that a visitor loads.

    Raises
    ------
    OutputError
        If it exists already, or cannot be made.
    """
    with new_folder(folder) as partial:
        return _fill(partial)


def _fill(folder: Path) -> int:
    for source in (_PAGE, _BROWSER / "page"):  # the second has another stream.js
        shutil.copytree(source, folder, dirs_exist_ok=True, copy_function=shutil.copyfile)
    shutil.copytree(_BROWSER / "engine", folder / "engine", copy_function=shutil.copyfile)
    index = (folder / "index.html").read_text(encoding="utf-8")
    head = '<link rel="stylesheet" href="alone.css">\n<script type="module" src="alone.js"></script>\n</head>'
    (folder / "index.html").write_text(index.replace("</head>", head), encoding="utf-8")
    for name, text in _read_licences().items():
        (folder / name).write_text(text, encoding="utf-8")
    weights = _copy_weights(folder)
    (folder / "options.json").write_text(json.dumps(_describe(weights), indent=1), encoding="utf-8")
    light = sorted(path for path in folder.rglob("*") if path.is_file() and "weights" not in path.parts)
    version = hashlib.sha256(b"".join(path.read_bytes() for path in light)).hexdigest()[:16]
    files = ["./", *(path.relative_to(folder).as_posix() for path in light if path.name != "offline.js")]
    offline = folder / "offline.js"
    names = f"const VERSION = {json.dumps(version)};\nconst FILES = {json.dumps(files)};\n"
    offline.write_text(names + offline.read_text(encoding="utf-8"), encoding="utf-8")
    return sum(path.stat().st_size for path in light) + sum(int(entry["bytes"]) for entry in weights.values())


def _copy_weights(folder: Path) -> dict[str, dict[str, Any]]:
    """Copy the bundled models; return size and hash of every file that the engine fetches."""
    listed = {}
    for name in (DEFAULT_TARGET, *DRAFTS):
        source, target = bundled_folders()[name], folder / "weights" / name
        target.mkdir(parents=True)
        for part in ("README.md", "config.json", "model.safetensors"):
            shutil.copyfile(source / part, target / part)
        shutil.copyfile(file_of(source, TOKENIZER), folder / "weights" / TOKENIZER)
    for path in sorted((folder / "weights").rglob("*")):
        if path.is_file() and path.suffix != ".md":
            content = path.read_bytes()
            digest = hashlib.sha256(content).hexdigest()
            listed[path.relative_to(folder).as_posix()] = {"bytes": len(content), "sha256": digest}
    return listed


def _describe(weights: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return what ``GET /v1/options`` answers, and the files of the weights."""
    config = bundled_folders()[DEFAULT_TARGET] / "config.json"
    context = int(read_json(config)["n_positions"])
    rules = [get_verifier(name) for name in RULES]
    return {
        "model": DEFAULT_TARGET,
        "context": context,
        "drafts": [{"name": name, "tree": False} for name in (*DRAFTS, "ngram")],
        "rules": [
            {"name": rule.name, "lossless": rule.lossless, "same_seed": rule.same_seed, "trees": False}
            for rule in rules
        ],
        "gamma": {"min": 0, "max": _MAX_GAMMA, "default": DEFAULT_GAMMA, "policies": []},
        "temperature": {"min": 0, "max": 2, "default": 1},
        "top_p": {"exclusiveMinimum": 0, "max": 1, "default": 1},
        "max_tokens": {"min": 0, "max": context - 1, "default": 16},
        "n": {"min": 1, "max": 1, "default": 1},
        "logprobs": {"min": 0, "max": _MAX_LOGPROBS},
        "defaults": {"draft": DRAFTS[0], "gamma": DEFAULT_GAMMA, "verify": str(Options.verify)},
        "guarantees": dict(MEANING),
        "needs_key": False,
        "files": weights,
    }


def _read_licences(names: Sequence[str] = ("LICENSE", "NOTICE")) -> dict[str, str]:
    """Return the texts that must travel with the weights: of the repository, or of the installed package."""
    if (_ROOT / "pyproject.toml").is_file():
        return {name: (_ROOT / name).read_text(encoding="utf-8") for name in names}
    files = metadata.files("minispec-decoding") or []
    found = {path.name: path.read_text(encoding="utf-8") for path in files if path.name in names}
    if set(found) != set(names):
        raise MinispecError("the installed package lacks LICENSE or NOTICE; install it again")
    return found
