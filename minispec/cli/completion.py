"""``minispec completion``: the shell's side of completion."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from minispec.cli.sections import Command


@click.command(cls=Command)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print a shell's completion script.

    For bash: add `eval "$(minispec completion bash)"` to ~/.bashrc.
    """
    found = get_completion_class(shell)
    assert found is not None  # click has all three of the choice above
    click.echo(found(ctx.find_root().command, {}, "minispec", "_MINISPEC_COMPLETE").source())
