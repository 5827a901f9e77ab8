"""``minispec doctor``: what this machine offers and what is in force."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
from pathlib import Path

import click
import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from minispec import __version__
from minispec.cli.sections import Command
from minispec.engine.loading.bundled import bundled_folders
from minispec.lab.viz.terminal import QUIET

_ELSEWHERE = {"MINISPEC_ASSIGNMENTS", "MINISPEC_GRADE_SECRET", "MINISPEC_REPORT", "MINISPEC_STATIC"}
"""Variables of the grader and the lessons, which are no command's options."""


@click.command(cls=Command)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
@click.pass_context
def doctor(context: click.Context, as_json: bool) -> None:
    """Show versions, threads, CPU features, GPU, caches, and the settings in effect."""
    from minispec.engine.backends.cuda import describe_gpu  # imports CuPy, if there is one

    settings = {name: value for name, value in sorted(os.environ.items()) if name.startswith("MINISPEC_")}
    known = _ELSEWHERE | _find_variables(context.find_root().command)
    unread = [name for name in settings if name not in known]
    facts = {
        "minispec": __version__,
        "python": f"{platform.python_version()} ({platform.python_implementation()})",
        "system": f"{platform.system()} {platform.machine()}",
        "numpy": np.__version__,
        **_describe_compiler(),
        "gpu": describe_gpu(),
        "bundled models": ", ".join(bundled_folders()) or "none",
        "hub": _find_version("huggingface_hub"),
        "hub cache": os.environ.get("HF_HUB_CACHE")
        or str(Path(os.environ.get("HF_HOME", "~/.cache/huggingface")) / "hub"),
        "settings": ", ".join(f"{name}={value}" for name, value in settings.items()) or "none",
    }
    if unread:
        facts["settings that no command reads"] = ", ".join(unread)
    if as_json:
        click.echo(json.dumps(facts, indent=2))
        return
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style=QUIET, no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts.items():
        table.add_row(name, Text(str(value)))  # as it is: brackets are no markup
    Console().print(table)


def _describe_compiler() -> dict[str, str]:
    try:
        from minispec.engine.backends.compiled import describe  # imports Numba
    except ValueError as error:  # of a variable of its own
        return {"numba": f"cannot be imported: {error} Check {', '.join(sorted(_find_numba())) or 'its install'}"}
    return describe()


def _find_numba() -> list[str]:
    return [f"{name}={value}" for name, value in os.environ.items() if name.startswith("NUMBA_")]


def _find_variables(command: click.Command) -> set[str]:
    """Return the variables that a command's options may be set by, and those of its subcommands."""
    found = {str(parameter.envvar) for parameter in command.params if parameter.envvar}
    for inner in command.commands.values() if isinstance(command, click.Group) else ():
        found |= _find_variables(inner)
    return found


def _find_version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
