"""``minispec models``: what is bundled."""

from __future__ import annotations

import json

import click
from rich.console import Console
from rich.table import Table

from minispec.loading import bundled_models


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON array and nothing else.")
def models(as_json: bool) -> None:
    """List the bundled models."""
    bundled = bundled_models()
    if as_json:
        click.echo(
            json.dumps(
                [
                    {
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
                    }
                    for model in bundled
                ],
                indent=2,
            )
        )
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("name", "parameters", "size", "shape", "context", "licence"):
        table.add_column(heading, no_wrap=True)
    trained_on: dict[str, list[str]] = {}
    for model in bundled:
        config = model.config
        table.add_row(
            model.name,
            f"{model.num_parameters / 1e6:.1f} M",
            f"{model.weights_bytes / 1e6:.1f} MB",
            f"{config.n_layer} x {config.n_embd}",
            str(config.n_positions),
            model.licence,
        )
        trained_on.setdefault(model.data, []).append(model.name)
    out = Console(highlight=False)
    if not bundled:
        out.print("no models are bundled with this installation")
        return
    out.print(table)
    for data, names in trained_on.items():
        out.print(f"\n{', '.join(names)}: trained on {data}", markup=False)
