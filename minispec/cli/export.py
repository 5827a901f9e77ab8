"""``minispec export``: a pair for another engine."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console

from minispec.cli.options import FileName, ModelName, option
from minispec.cli.sections import Command
from minispec.engine.control import DEFAULT_GAMMA
from minispec.engine.drafters.spec import parse_draft
from minispec.engine.export import FORMS, export_pair
from minispec.engine.loading.bundled import DEFAULT_DRAFT
from minispec.errors import OptionError


@click.command(cls=Command)
@click.argument("target", type=ModelName())
@option("--draft", type=ModelName("none"), default=DEFAULT_DRAFT, help="The draft model to export with it, or `none`.")
@click.option(
    "--to",
    "form",
    type=click.Choice(tuple(FORMS)),
    required=True,
    help="hf: Transformers; gguf: llama.cpp and Ollama (extra `export`); vllm: vLLM.",
)
@click.option("--output", "-o", "folder", type=FileName(), required=True, metavar="DIR", help="The folder to create.")
@option(
    "--gamma",
    type=click.IntRange(min=1),
    default=DEFAULT_GAMMA,
    help="The draft length to use in the printed commands.",
)
def export(target: str, draft: str, form: str, folder: Path, gamma: int) -> None:
    """Export TARGET and its draft for another engine, and print the commands that run them there."""
    spec = None if draft == "none" else parse_draft(draft)
    if spec is not None and spec.name != draft:  # another kind, or a model with options
        raise OptionError(f"draft is {draft!r}; what can be exported is a model. Try --draft {DEFAULT_DRAFT}")
    with Console(stderr=True).status("writing …"):
        lines = export_pair(target, None if spec is None else spec.name, form, folder, gamma)
    click.echo(lines, nl=False)
