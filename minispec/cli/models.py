"""``minispec models``: what is bundled."""

from __future__ import annotations

import json
import math
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from minispec.cli.sections import Command
from minispec.engine.drafters.heads import HeadConfig, find_heads
from minispec.engine.drafters.heads.config import expected_shapes
from minispec.engine.loading import BundledModel, bundled_models
from minispec.engine.loading.bundled import read_front_matter
from minispec.engine.loading.checkpoint import WEIGHTS, read_json


@click.command(cls=Command)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON array and nothing else.")
def models(as_json: bool) -> None:
    """List the bundled models, and under each the heads that draft for it."""
    bundled = [describe(model) for model in bundled_models()]
    if as_json:
        click.echo(json.dumps(bundled, indent=2))
        return
    out = Console(highlight=False)
    if not bundled:
        out.print("no models are bundled with this installation")
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("name", "parameters", "size", "shape", "context", "licence"):
        table.add_column(heading, no_wrap=True)
    trained_on: dict[str, list[str]] = {}
    for model in bundled:
        add_row(table, model, model["name"], str(model["context"]), model["licence"])
        for head in model["heads"]:
            add_row(table, head, f"  {head['kind']}", "", head["licence"])
        trained_on.setdefault(model["data"], []).append(model["name"])
    out.print(table)
    for model in bundled:
        for head in model["heads"]:
            cost = head["cost_per_token"]
            told = "" if cost is None else f"; a drafted token costs {cost:.3f} of a one-row pass of the target"
            out.print(f"\n{head['kind']}: a head for {model['name']}, --draft {head['kind']}{told}", markup=False)
    for data, names in trained_on.items():
        out.print(f"\n{', '.join(names)}: trained on {data}", markup=False)


def describe(model: BundledModel) -> dict[str, Any]:
    """Return what is told of a bundled model."""
    return {
        "name": model.name,
        "folder": str(model.folder),
        "parameters": model.num_parameters,
        "bytes": model.weights_bytes,
        "layers": model.config.n_layer,
        "width": model.config.n_embd,
        "context": model.config.n_positions,
        "vocabulary": model.config.vocab_size,
        "data": model.data,
        "licence": model.licence,
        "heads": describe_heads(model),
    }


def describe_heads(model: BundledModel) -> list[dict[str, Any]]:
    """Return what is told of the heads of a bundled model."""
    found = []
    for kind, folder in find_heads(model.folder).items():
        path = folder / "config.json"
        config, card = HeadConfig.from_dict(read_json(path), str(path)), read_front_matter(folder / "README.md")
        found.append(
            {
                "kind": kind,
                "folder": str(folder),
                "parameters": sum(math.prod(shape) for _, shape in expected_shapes(config, model.config)),
                "bytes": (folder / WEIGHTS).stat().st_size,
                "layers": config.num_layers,
                "width": config.width,
                "length": config.length,
                "vocabulary": len(config.words) or model.config.vocab_size,
                "licence": card.get("license", model.licence),  # the target's, of which it was made
                "cost_per_token": float(card["cost_per_token"]) if "cost_per_token" in card else None,
            }
        )
    return found


def add_row(table: Table, described: dict[str, Any], name: str, *rest: str) -> None:
    """Add a model or a head to the table."""
    table.add_row(
        name,
        f"{described['parameters'] / 1e6:.1f} M",
        f"{described['bytes'] / 1e6:.1f} MB",
        f"{described['layers']} x {described['width']}" if described["layers"] else "",
        *rest,
    )
