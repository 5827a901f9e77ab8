"""A trained model as a folder Hugging Face and minispec both load: float16 weights, config, tokenizer, checksums."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from minispec.errors import CheckpointError, OptionError
from minispec.lab.training.checkpoint import require_same_shapes
from minispec.lab.training.data import END_ID
from minispec.lab.training.model import GPT2, Shape
from minispec.lab.training.tokenize import write_tokenizer_config

#: What the checksums cover: everything that decides what the model says.
CHECKED = ("config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json")


def config_of(shape: Shape) -> dict[str, object]:
    """Return the ``config.json`` of a shape."""
    return {
        "activation_function": "gelu_new",
        "architectures": ["GPT2LMHeadModel"],
        "attn_pdrop": 0.0,
        "bos_token_id": END_ID,
        "dtype": "float16",
        "embd_pdrop": 0.0,
        "eos_token_id": END_ID,
        "initializer_range": 0.02,
        "layer_norm_epsilon": 1e-05,
        "model_type": "gpt2",
        "n_ctx": shape.context,
        "n_embd": shape.width,
        "n_head": shape.num_heads,
        "n_inner": shape.inner,
        "n_layer": shape.num_layers,
        "n_positions": shape.context,
        "resid_pdrop": 0.0,
        "scale_attn_weights": True,
        "tie_word_embeddings": True,
        "torch_dtype": "float16",
        "use_cache": True,
        "vocab_size": shape.vocab_size,
    }


def hugging_face_tensors(model: GPT2) -> dict[str, Tensor]:
    """Return the parameters under Hugging Face's names, rounded to float16; the tied head is not repeated."""
    return {
        f"transformer.{key}": value.detach().to("cpu", torch.float16).contiguous()
        for key, value in model.state_dict().items()
    }


def shards_of(tensors: dict[str, Tensor], max_bytes: int) -> list[dict[str, Tensor]]:
    """Distribute tensors over files of at most `max_bytes`, in order.

    Raises
    ------
    OptionError
        One tensor alone is larger.
    """
    shards: list[dict[str, Tensor]] = [{}]
    room = max_bytes
    for key, value in tensors.items():
        if value.nbytes > max_bytes:
            raise OptionError(
                f"--max-shard-mb {max_bytes / 1e6:g} is too small; {key} has {value.nbytes / 1e6:.1f} MB. Give more"
            )
        if value.nbytes > room:
            shards.append({})
            room = max_bytes
        shards[-1][key] = value
        room -= value.nbytes
    return shards


def _save(tensors: dict[str, Tensor], path: Path) -> None:
    save_file(tensors, path, metadata={"format": "pt"})
    path.chmod(0o644)  # safetensors leaves the file to its owner alone


def write_weights(tensors: dict[str, Tensor], folder: Path, max_shard_mb: float | None) -> None:
    """Write ``model.safetensors``, or numbered shards with their index when a file would be too large."""
    for stale in folder.glob("model*.safetensors*"):
        stale.unlink()
    total = sum(value.nbytes for value in tensors.values())
    shards = [tensors] if max_shard_mb is None else shards_of(tensors, int(max_shard_mb * 1e6))
    if len(shards) == 1:
        _save(tensors, folder / "model.safetensors")
        return
    where = {}
    for number, shard in enumerate(shards, 1):
        name = f"model-{number:05}-of-{len(shards):05}.safetensors"
        _save(shard, folder / name)
        where.update(dict.fromkeys(shard, name))
    index = {"metadata": {"total_size": total}, "weight_map": where}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=2) + "\n")


def load_exported(folder: Path) -> GPT2:
    """Read an exported folder back (float16 values, float32 arithmetic): the report measures what ships.

    Raises
    ------
    CheckpointError
        The folder is no exported model.
    """
    try:
        config = json.loads((folder / "config.json").read_text())
    except FileNotFoundError as error:
        raise CheckpointError(
            f"{folder} has no config.json; the report reads exported models. Run the export stage first"
        ) from error
    shape = Shape(
        config["n_layer"],
        config["n_embd"],
        config["n_head"],
        config["n_inner"],
        config["n_positions"],
        config["vocab_size"],
    )
    tensors: dict[str, Tensor] = {}
    for path in sorted(folder.glob("model*.safetensors")):
        try:
            tensors.update(load_file(path))
        except SafetensorError as error:
            raise CheckpointError(
                f"{path} is not a whole safetensors file ({error}); export or fetch it again"
            ) from error
    model = GPT2(shape)
    tensors = {key.removeprefix("transformer."): value.float() for key, value in tensors.items()}
    require_same_shapes(model, tensors, folder)
    model.load_state_dict(tensors)
    return model.eval()


def file_sha256(path: Path) -> str:
    """Return the checksum of a file.

    Raises
    ------
    CheckpointError
        It does not exist.
    """
    if not path.is_file():
        raise CheckpointError(f"{path} does not exist; its checksum tells what a run was trained on. Check the folder")
    return hashlib.sha256(path.read_bytes()).hexdigest()


def weights_sha256(folder: Path) -> str:
    """Return one checksum over the weight files of an exported folder."""
    return hashlib.sha256("".join(map(file_sha256, sorted(folder.glob("model*.safetensors")))).encode()).hexdigest()


def write_checksums(folder: Path) -> None:
    """Write ``SHA256SUMS``, readable by ``sha256sum --check``, over weights, config and tokenizer."""
    names = sorted({*CHECKED, *(path.name for path in folder.glob("model*.safetensors*"))})
    lines = [f"{file_sha256(folder / name)}  {name}\n" for name in names]
    (folder / "SHA256SUMS").write_text("".join(lines))


def export_model(model: GPT2, tokenizer_file: Path, folder: Path, max_shard_mb: float | None = None) -> None:
    """Write everything but the model card.

    Parameters
    ----------
    model : GPT2
        Trained.
    tokenizer_file : Path
        ``tokenizer.json``, copied.
    folder : Path
        Made if needed; earlier weights in it are replaced.
    max_shard_mb : float, optional
        Largest weight file in megabytes (10^6 bytes); larger models are written as shards.
    """
    folder.mkdir(parents=True, exist_ok=True)
    write_weights(hugging_face_tensors(model), folder, max_shard_mb)
    generation = {"bos_token_id": END_ID, "eos_token_id": END_ID, "pad_token_id": END_ID, "do_sample": False}
    (folder / "config.json").write_text(json.dumps(config_of(model.shape), indent=2) + "\n")
    (folder / "generation_config.json").write_text(json.dumps(generation, indent=2) + "\n")
    shutil.copyfile(tokenizer_file, folder / "tokenizer.json")
    write_tokenizer_config(folder, model.shape.context)
    write_checksums(folder)
