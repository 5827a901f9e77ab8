"""``minispec lessons``: the course's notebooks, listed, copied and opened."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote as quote_url

import click
from rich.console import Console
from rich.table import Table

from minispec.cli.sections import Group
from minispec.course.teaching.find import Files, checkout, find
from minispec.course.teaching.find import lessons as all_lessons
from minispec.course.teaching.quiz import CANVAS, write_quiz
from minispec.course.teaching.slides import make_slides
from minispec.engine.files import replace_whole, write_text
from minispec.errors import OptionError, OutputError, explain, missing, quote
from minispec.lab.viz.terminal import QUIET

_FOLDER = "minispec-lessons"


@click.group(cls=Group, invoke_without_command=True)
@click.pass_context
def lessons(context: click.Context) -> None:
    """List the lessons; copy them to a folder; open them in JupyterLab."""
    if context.invoked_subcommand is not None:
        return
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True, style=QUIET)
    table.add_column(overflow="fold")
    for files in all_lessons():
        table.add_row(files.number, files.title.removeprefix(f"{int(files.number)} · "))
    console = Console()
    console.print(table)
    console.print(f"\n`minispec lessons open` copies them to ./{_FOLDER} and opens JupyterLab there.", style=QUIET)


@lessons.command(short_help="Copy lessons to a folder.")
@click.argument("numbers", nargs=-1, metavar="[LESSON]...")
@click.option(
    "--to",
    "folder",
    type=click.Path(path_type=Path),
    default=Path(_FOLDER),
    show_default=True,
    help="Folder for the copies; existing notebooks are left alone.",
)
def copy(numbers: tuple[str, ...], folder: Path) -> None:
    """Copy the named lessons, or all of them, to a folder; existing notebooks are never overwritten."""
    for path, is_new in _copy(numbers, folder):
        click.echo(f"{path}" if is_new else f"{path} (there already, left alone)")


@lessons.command(name="open", short_help="Copy them, and open JupyterLab.")
@click.argument("number", required=False, metavar="[LESSON]")
@click.option(
    "--to",
    "folder",
    type=click.Path(path_type=Path),
    default=Path(_FOLDER),
    show_default=True,
    help="Folder of the copies.",
)
@click.option(
    "--browser/--no-browser", default=True, show_default=True, help="Open a browser, or only print the address."
)
def open_lessons(number: str | None, folder: Path, browser: bool) -> None:
    """Copy the lessons to a folder, unless they are there already, and open JupyterLab."""
    if importlib.util.find_spec("jupyterlab") is None:
        raise missing("JupyterLab", "the lessons need", "lessons")
    copied = _copy((number,) if number else (), folder)
    what = copied[0][0] if number else folder
    raise SystemExit(run_until_told(jupyter_command(what, browser=browser)))


@lessons.command(short_help="Make a deck of slides per lesson.")
@click.argument("numbers", nargs=-1, metavar="[LESSON]...")
@click.option("-o", "--output", "folder", type=click.Path(path_type=Path), required=True, help="Folder for the slides.")
def slides(numbers: tuple[str, ...], folder: Path) -> None:
    """Run the named lessons, or all of them, and make a deck of slides of each (for instructors, in a clone)."""
    chosen = [replace(files, root=checkout()) for files in [find(number) for number in numbers] or all_lessons()]
    if not chosen[0].source.is_file():
        raise OptionError("an installed minispec holds no solved lessons; call it in the top folder of a clone")
    _make(folder)
    for files in chosen:
        path = folder / f"{files.source.stem}.slides.html"
        write_text(path, make_slides(files.source))
        click.echo(f"{path}")


@lessons.command(short_help="Write a quiz for Moodle and Canvas.")
@click.option("-o", "--output", "folder", type=click.Path(path_type=Path), required=True, help="Folder for the files.")
def quiz(folder: Path) -> None:
    """Write questions with answers for Moodle and Canvas (for instructors, in a clone)."""
    _make(folder)
    for path in write_quiz(checkout(), folder):
        click.echo(f"{path}")
    click.echo(f"Moodle imports the first as GIFT. For Canvas: pip install text2qti && text2qti {folder / CANVAS}")


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"{quote(str(folder))} cannot be made ({explain(error)}). Try -o with another folder"
        ) from None


def run_until_told(command: list[str]) -> int:
    """Run a command; whoever ends us by SIGTERM ends it too, with all that it started. Return its exit code."""
    process = subprocess.Popen(command)

    def end(*_: object) -> None:
        process.terminate()

    before = signal.signal(signal.SIGTERM, end)
    try:
        while True:
            with contextlib.suppress(KeyboardInterrupt):  # it got the same key, and asks whether to end
                return process.wait()
    finally:
        signal.signal(signal.SIGTERM, before)


def jupyter_command(what: Path, *, browser: bool) -> list[str]:
    """Return the command that opens a notebook or a folder in JupyterLab.

    Parameters
    ----------
    what : Path
    browser : bool
        Whether JupyterLab opens a browser; if not, it only prints the address.
    """
    command = [sys.executable, "-m", "jupyterlab", str(what)]
    if not browser:
        command.append("--no-browser")
        folder = what if what.is_dir() else what.parent
        command[3:4] = [str(folder)]
        if what != folder:  # the address that is printed is that of the default page
            command.append(f"--LabApp.default_url=/lab/tree/{quote_url(what.name)}")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")  # a container's only user: JupyterLab would refuse to start
    return command


def _copy(numbers: tuple[str, ...], folder: Path) -> list[tuple[Path, bool]]:
    chosen: list[Files] = [find(number) for number in numbers] or all_lessons()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        copied = []
        for files in chosen:
            path = folder / files.notebook.name
            copied.append((path, not path.exists()))
            if not path.exists():
                with replace_whole(path) as partial:  # half a notebook would be left alone for ever
                    shutil.copyfile(files.notebook, partial)
    except OSError as error:
        raise OutputError(
            f"{quote(str(folder))} cannot be written ({explain(error)}). Try --to with another folder"
        ) from None
    return copied
