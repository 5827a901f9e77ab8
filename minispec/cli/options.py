"""Options as the commands declare them: each can also be set by a ``MINISPEC_*`` variable; the flag wins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from minispec.loading.bundled import bundled_folders

_Command = TypeVar("_Command", bound=Callable[..., Any])


def option(flag: str, **attributes: Any) -> Callable[[_Command], _Command]:
    """Return ``click.option`` with its default shown and its environment variable named after the flag."""
    attributes.setdefault("show_default", True)
    attributes.setdefault("show_envvar", True)
    attributes.setdefault("envvar", "MINISPEC_" + flag.removeprefix("--").replace("-", "_").upper())
    return click.option(flag, **attributes)


class ModelName(click.ParamType):  # type: ignore[type-arg]  # generic only in newer releases
    """A folder, a bundled name or a hub name; completion knows the bundled ones."""

    name = "model"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Complete folders and bundled names."""
        names = [CompletionItem(name) for name in bundled_folders() if name.startswith(incomplete)]
        return [*names, CompletionItem(incomplete, type="dir")]
