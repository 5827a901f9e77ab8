"""What a stopped run leaves behind: tensors as safetensors, everything else as JSON, nothing pickled.

A checkpoint folder is replaced whole: the new one is written beside it and renamed, so a run killed while saving still
finds the old one.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.optim import Optimizer

from minispec.errors import CheckpointError, OutputError, explain


def require_room(folder: Path, num_bytes: int, flag: str = "--work") -> None:
    """Refuse to start what cannot be saved; `flag` names another folder.

    Raises
    ------
    OutputError
        The disk of `folder` has less than `num_bytes` free.
    """
    existing = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    free = shutil.disk_usage(existing).free
    if free < num_bytes:
        raise OutputError(
            f"{folder} has {free / 1e6:.0f} MB free; this stage writes up to {num_bytes / 1e6:.0f} MB. "
            f"Free some space or give another folder with {flag}"
        )


def optimizer_tensors(optimizers: Mapping[str, list[Optimizer]], names: Mapping[Tensor, str]) -> dict[str, Tensor]:
    """Collect optimizer state as ``MODEL/PARAMETER/KEY`` -> tensor."""
    tensors = {}
    for model, group in optimizers.items():
        for optimizer in group:
            for parameter, state in optimizer.state.items():
                for key, value in state.items():
                    tensors[f"{model}/{names[parameter]}/{key}"] = torch.as_tensor(value)
    return tensors


def restore_optimizers(optimizers: Mapping[str, list[Optimizer]], names: Mapping[Tensor, str], path: Path) -> None:
    """Put the tensors of :func:`optimizer_tensors` back."""
    tensors = load_file(path)
    for model, group in optimizers.items():
        for optimizer in group:
            for parameters in optimizer.param_groups:
                for parameter in parameters["params"]:
                    prefix = f"{model}/{names[parameter]}/"
                    state = {key[len(prefix) :]: value for key, value in tensors.items() if key.startswith(prefix)}
                    optimizer.state[parameter] = {
                        key: value if key == "step" else value.to(parameter.device) for key, value in state.items()
                    }


def save(
    folder: Path, models: Mapping[str, nn.Module], optimizer_state: Mapping[str, Tensor], state: Mapping[str, Any]
) -> None:
    """Write a checkpoint folder, replacing an older one in one step.

    Raises
    ------
    OutputError
        If it cannot be written; the older one stays.
    """
    fresh, old = folder.with_name(folder.name + ".new"), folder.with_name(folder.name + ".old")
    for leftover in (fresh, old):
        shutil.rmtree(leftover, ignore_errors=True)
    parts = {**{name: model.state_dict() for name, model in models.items()}, "optimizer": optimizer_state}
    try:
        fresh.mkdir(parents=True)
        for name, tensors in parts.items():
            save_file({key: value.contiguous() for key, value in tensors.items()}, fresh / f"{name}.safetensors")
        (fresh / "state.json").write_text(json.dumps(state, indent=2) + "\n")
    except (OSError, SafetensorError) as error:
        shutil.rmtree(fresh, ignore_errors=True)
        raise OutputError(
            f"{folder} cannot be written: {explain(error)}. Free some space; the same command goes on"
        ) from None
    if folder.exists():
        folder.rename(old)
    fresh.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def require_same_inputs(
    folder: Path, state: Mapping[str, Any], inputs: Mapping[str, str], flag: str = "--work"
) -> Mapping[str, str]:
    """Compare what a run is made from, digests or short texts by name, with what it began with, which is returned.

    Raises
    ------
    CheckpointError
        They differ; `flag` names another folder.
    """
    began_with: Mapping[str, str] = state.get("inputs", {})
    for name, digest in inputs.items():
        if began_with.get(name) != digest:
            kind = "SHA-256 " if len(digest) == 64 else ""  # what is short is the thing itself
            raise CheckpointError(
                f"{folder} began with another {name} ({kind}{str(began_with.get(name))[:12]}, not {digest[:12]}); "
                f"a run goes on with what it began with. Give a folder of its own with {flag}, or delete it"
            )
    return began_with


def require_same_shapes(model: nn.Module, tensors: Mapping[str, Tensor], path: Path, flag: str = "--work") -> None:
    """Compare tensors read from `path` with what a model needs; `flag` names another folder.

    Raises
    ------
    CheckpointError
        A tensor is missing, left over, or of another shape.
    """
    wanted = {key: tuple(value.shape) for key, value in model.state_dict().items()}
    found = {key: tuple(value.shape) for key, value in tensors.items()}
    for key in sorted(wanted.keys() | found.keys()):
        if wanted.get(key) != found.get(key):
            raise CheckpointError(
                f"{path} has {key} of shape {found.get(key)}; this model needs {wanted.get(key)}. "
                f"Give a folder of its own with {flag}, or delete the checkpoint"
            )


def load_model(model: nn.Module, path: Path, flag: str = "--work") -> None:
    """Fill `model` from one safetensors file of a checkpoint; `flag` names another folder.

    Raises
    ------
    CheckpointError
        The file is missing or damaged, or its tensors are not the model's.
    """
    if not path.is_file():
        raise CheckpointError(f"{path} does not exist; an earlier stage writes it. Run that stage first")
    try:
        tensors = load_file(path)
    except SafetensorError as error:
        raise CheckpointError(
            f"{path} is not a whole safetensors file ({error}); delete its folder and train again"
        ) from error
    require_same_shapes(model, tensors, path, flag)
    model.load_state_dict(tensors)


def read_state(folder: Path) -> dict[str, Any]:
    """Read the JSON half of a checkpoint.

    Raises
    ------
    CheckpointError
        It is missing or not JSON.
    """
    path = folder / "state.json"
    try:
        state: dict[str, Any] = json.loads(path.read_text())
    except FileNotFoundError as error:
        raise CheckpointError(
            f"{path} does not exist; every checkpoint has one. Run the training stage first"
        ) from error
    except ValueError as error:
        raise CheckpointError(f"{path} is not JSON ({error}); delete {folder} and train again") from error
    return state
