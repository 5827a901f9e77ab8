"""``minispec page``: speculative decoding in the browser, as a folder for any web server."""

from __future__ import annotations

from pathlib import Path

import click

from minispec.cli.options import FileName
from minispec.serving.static import write_page


@click.command()
@click.option("--output", "-o", "folder", type=FileName(), required=True, metavar="DIR", help="The folder to create.")
def page(folder: Path) -> None:
    """Write a page that runs the bundled models in the browser: a folder that any web server can hold."""
    size = write_page(folder)
    click.echo(f"{folder}: {size / 1e6:.0f} MB. To see it: python -m http.server -d {folder}")
