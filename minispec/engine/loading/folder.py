"""Loading: a name becomes a folder, a folder becomes a model."""

from __future__ import annotations

import difflib
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from minispec.engine.backends import BACKENDS, DTYPES, get_backend, settle_kv_dtype
from minispec.engine.backends.formats import AUTO
from minispec.engine.loading.bundled import bundled_folders, verify_checksums
from minispec.engine.loading.checkpoint import Checkpoint, read_json
from minispec.engine.loading.memory import check_memory
from minispec.engine.loading.tokenizer_files import read_tokenizer, settle_ends
from minispec.engine.model import GPT2, GPT2Config
from minispec.engine.model.weights import build_weights
from minispec.engine.tokenizer import Tokenizer
from minispec.errors import ModelFileError, ModelNotFoundError, OptionError, quote

_LIST = "`minispec models` lists what is bundled"


def find_folder(name: str | Path) -> Path:
    """Return the folder of a model: a folder's path (``~`` is home), a bundled name, or a hub name, in this order.

    Raises
    ------
    ModelNotFoundError
        If it is none of them.
    """
    if not isinstance(name, str | os.PathLike):
        raise ModelNotFoundError(f"the model is {quote(name)}; it must be a folder, a bundled or a hub name. {_LIST}")
    if not str(name).strip():
        raise ModelNotFoundError(f"the model's name is empty; it must be a folder, a bundled or a hub name. {_LIST}")
    try:
        folder = Path(name).expanduser()
        if folder.is_dir():
            return folder
        is_file = folder.is_file()
    except (OSError, RuntimeError, ValueError):  # too long for the file system, not permitted, no such ~user
        is_file = False
    if is_file:
        raise ModelNotFoundError(f"{folder} is a file; a model is a folder. Try its folder, {str(folder.parent)!r}")
    bundled = bundled_folders()
    if str(name) in bundled:
        return bundled[str(name)]
    close = difflib.get_close_matches(str(name), bundled, n=1)
    from minispec.engine.loading.hub import fetch, looks_like_hub_name

    if close or not looks_like_hub_name(str(name)):
        hint = f"Did you mean {close[0]!r}?" if close else _LIST
        raise ModelNotFoundError(f"{quote(str(name))} is no folder, no bundled model and no hub name. {hint}")
    return fetch(str(name))


def load_model(folder_or_name: str | Path, backend: str = BACKENDS[0], dtype: str = AUTO, kv_dtype: str = AUTO) -> GPT2:
    """Load a GPT-2-family model.

    Parameters
    ----------
    folder_or_name : str or Path
        A Hugging Face folder, a bundled name (``minispec models``), or a hub name, with ``@revision`` if you like.
    backend : str
        One of ``BACKENDS``.
    dtype : str
        One of ``DTYPES``: the number format of the matrices in memory. Norms, biases, positions and sums stay float32.
        "auto" is the format that they are stored in where the backend computes the same bits in it, and float32
        elsewhere.
    kv_dtype : str
        One of ``KV_DTYPES``: the number format of keys and values in caches. "auto" is float32 on a CPU, and the format
        of the weights on a GPU.

    Returns
    -------
    GPT2

    Raises
    ------
    InputError
        If the model is not found, a file is missing, broken or contradicts another, or an option is unknown.
    """
    runner = get_backend(backend)
    if dtype not in (AUTO, *runner.dtypes):
        raise OptionError(
            f"dtype is {dtype!r}; backend {backend} has {', '.join(runner.dtypes)} here. Try --dtype {DTYPES[0]}"
        )
    folder = find_folder(folder_or_name)
    config = GPT2Config.from_dict(read_json(folder / "config.json"), str(folder / "config.json"))
    checkpoint = Checkpoint(folder)
    config = checkpoint.check(config)
    if dtype == AUTO:
        stored = checkpoint.stored_dtype(config)
        dtype = stored if stored in runner.exact_dtypes else DTYPES[0]
    kv_dtype = settle_kv_dtype(runner, dtype, kv_dtype)
    check_memory(config, runner, dtype, kv_dtype, str(folder_or_name))
    with ThreadPoolExecutor(1) as beside:  # hashing takes as long as reading and packing
        verified = beside.submit(verify_checksums, folder)
        try:
            tokenizer = read_tokenizer(folder)
            if tokenizer is not None:
                check_tokenizer(tokenizer, config, folder)
            config = settle_ends(config, folder, tokenizer)
            weights = build_weights(checkpoint.read, config, runner, dtype)
        finally:
            verified.result()  # a file that has changed is the reason for whatever else is wrong with it
    return GPT2(str(folder_or_name), config, weights, runner, tokenizer, dtype, kv_dtype, folder=folder.resolve())


def check_tokenizer(tokenizer: Tokenizer, config: GPT2Config, folder: Path) -> None:
    """Refuse a tokenizer that has no tokens, or more than its model; a model may lack rows for tokens that were added.

    Raises
    ------
    ModelFileError
    """
    if not tokenizer.vocab_size:
        raise ModelFileError(f"{folder}: the tokenizer has no tokens, so no text can be encoded. Fetch the model again")
    if any(i >= config.vocab_size and i not in tokenizer.added_ids for i in tokenizer.tokens(tokenizer.vocab_size)):
        raise ModelFileError(
            f"{folder}: the tokenizer has {tokenizer.vocab_size} tokens, the model {config.vocab_size}; they belong to "
            "different models. Fetch both again"
        )


def load_tokenizer(folder_or_name: str | Path) -> Tokenizer:
    """Load the tokenizer of a model folder.

    Raises
    ------
    InputError
        If the model is not found, or has no tokenizer that can be read.
    """
    folder = find_folder(folder_or_name)
    tokenizer = read_tokenizer(folder)
    if tokenizer is None:
        raise ModelFileError(f"{folder} has no tokenizer.json, nor vocab.json and merges.txt. Fetch one of the two")
    return tokenizer
