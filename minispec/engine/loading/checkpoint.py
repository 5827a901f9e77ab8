"""The tensors of a model folder, under one set of names whatever the folder's form.

Published checkpoints differ in form only: one file or shards with an index, names with or without ``transformer.`` and
what training wraps a model in, causal-mask buffers among the weights, a matrix that is both the embedding and the head
under either name. Pickle files are never opened.
"""

from __future__ import annotations

import json
import logging
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from minispec.engine.backends.types import Tensor
from minispec.engine.loading.safetensors_file import SafetensorsFile
from minispec.engine.model.config import GPT2Config
from minispec.engine.model.weights import check_shapes, expected_shapes
from minispec.errors import ModelFileError, explain, quote

_log = logging.getLogger(__name__)

WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"
_PREFIX = re.compile(r"((_orig_mod|module|transformer)\.)*")  # of torch.compile, DistributedDataParallel, the model
_OWN_PREFIX = "transformer."
_EMBEDDING, _HEAD = "wte.weight", "lm_head.weight"
_BUFFER = re.compile(r"h\.\d+\.attn\.(bias|masked_bias)")
_LAYER = re.compile(r"h\.([0-9]{1,9})\.")
_MAX_JSON_BYTES = 8 * 2**20  # gpt2-xl's index has 50 kB; parsed, JSON takes some 20 times its size

_FORMATS = {"F16": "float16", "BF16": "bfloat16"}


class Checkpoint:
    """Every tensor of a folder.

    Parameters
    ----------
    folder : Path

    Attributes
    ----------
    is_wrapped : bool
        Names say what training wrapped the model in.

    Raises
    ------
    ModelFileError
        If there are no safetensors, or a file is missing or broken.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[str, tuple[SafetensorsFile, str]] = {}
        self.is_wrapped = False
        for path in self._paths():
            file = SafetensorsFile(path)
            for stored in file.shapes:
                name = _PREFIX.sub("", stored, count=1)
                self.is_wrapped |= stored not in (name, _OWN_PREFIX + name)
                if name in self._files:
                    raise ModelFileError(f"{path}: tensor {quote(name)} is there twice; which is meant? Fetch it again")
                self._files[name] = (file, stored)

    def _paths(self) -> list[Path]:
        single, index = self._folder / WEIGHTS, self._folder / INDEX
        if single.is_file():
            return [single]
        if index.is_file():
            weight_map = read_json(index).get("weight_map")
            if not isinstance(weight_map, dict) or not weight_map:
                raise ModelFileError(f"{index}: weight_map is missing; it must map tensors to files. Fetch it again")
            names = sorted({str(name) for name in weight_map.values()})
            for name in names:
                if Path(name).name != name:  # an index may name files of its own folder and nothing else
                    raise ModelFileError(f"{index}: {quote(name)} is not a file name of this folder. Fetch it again")
                if not _is_file(self._folder / name):
                    raise ModelFileError(f"{index} names {quote(name)}, which is missing. Fetch the model again")
            return [self._folder / name for name in names]
        pickles = sorted(path.name for path in self._folder.glob("*.bin")) + sorted(
            path.name for path in self._folder.glob("*.pt*")
        )
        if pickles:
            raise ModelFileError(
                f"{self._folder} has only pickle weights ({pickles[0]}), which can run code when read; minispec reads "
                f"{WEIGHTS} alone. Convert with transformers: model.save_pretrained(folder)"
            )
        raise ModelFileError(f"{single} is missing. A model folder holds config.json, {WEIGHTS} and tokenizer.json")

    def check(self, config: GPT2Config) -> GPT2Config:
        """Compare names and shapes with the config, before anything else is read.

        Returns
        -------
        GPT2Config
            The config that holds: a head that differs from the embedding is a head, whatever the config says of ties.

        Raises
        ------
        ModelFileError
            If they contradict each other.
        """
        config = self._settle_tie(config)
        shapes = {name: file.shapes[stored] for name, (file, stored) in self._files.items()}
        check_shapes(shapes, expected_shapes(config), str(self._folder))
        ignored = []
        for name in sorted(set(shapes) - {name for name, _ in expected_shapes(config)}):
            layer = _LAYER.match(name)
            if layer and int(layer[1]) >= config.n_layer:
                raise ModelFileError(
                    f"{self._folder}: there is a tensor {quote(name)}, but config.json says n_layer {config.n_layer}; "
                    "config and weights belong to different models. Fetch both again"
                )
            if not _BUFFER.fullmatch(name) and name != _HEAD:
                ignored.append(name)
        if ignored:
            _log.warning(
                "%s: %d tensors are no part of a GPT-2 language model and are ignored; the first is %s",
                self._folder,
                len(ignored),
                quote(ignored[0]),
            )
        return config

    def _settle_tie(self, config: GPT2Config) -> GPT2Config:
        """Say whether the head is the embedding, as transformers does: where a file has both, their values decide."""
        if not config.tie_word_embeddings or _HEAD not in self._files:
            return config
        if _EMBEDDING not in self._files:
            self._files[_EMBEDDING] = self._files[_HEAD]
            return config
        shapes = [file.shapes[stored] for file, stored in (self._files[_EMBEDDING], self._files[_HEAD])]
        if shapes[0] != shapes[1] or np.array_equal(self.read(_EMBEDDING), self.read(_HEAD)):
            return config
        _log.warning("%s: config.json ties the head to the embedding, but both are there and differ", self._folder)
        return replace(config, tie_word_embeddings=False)

    def stored_dtype(self, config: GPT2Config) -> str:
        """Return the format that all of the model's matrices are stored in; float32 where they differ."""
        matrices = [name for name, shape in expected_shapes(config) if len(shape) == 2]
        found = {file.dtypes[stored] for file, stored in (self._files[name] for name in matrices)}
        return _FORMATS.get(found.pop(), "float32") if len(found) == 1 else "float32"

    def read(self, name: str) -> Tensor:
        """Return a tensor by its name without prefix; see :meth:`SafetensorsFile.read`."""
        file, stored = self._files[name]
        return file.read(stored)


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object.

    Raises
    ------
    ModelFileError
        If the file is missing, too large to be what it should be, or not a JSON object.
    """
    if not path.is_file():
        raise ModelFileError(f"{path} is missing. A model folder holds config.json, {WEIGHTS} and a tokenizer")
    if path.stat().st_size > _MAX_JSON_BYTES:
        raise ModelFileError(f"{path} is larger than {_MAX_JSON_BYTES >> 20} MiB; that is no {path.name}")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ModelFileError(f"{path} is not JSON ({explain(error)}). Fetch it again") from None
    if not isinstance(content, dict):
        raise ModelFileError(f"{path} holds {quote(content)}, not a JSON object. Fetch it again")
    return content


def _is_file(path: Path) -> bool:
    """Return whether ``path`` is a file; a name that no file system accepts is none."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False
