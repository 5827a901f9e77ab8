"""``minispec train-draft``: a draft model for a target of one's own."""

from __future__ import annotations

import os
import shlex
import signal
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from minispec.cli.options import FileName, ModelName, option
from minispec.cli.sections import Command
from minispec.engine.files import check_apart, hold_folder
from minispec.errors import OutputError, missing, quote

if TYPE_CHECKING:
    from minispec.lab.training.trainer import Stage


@click.command("train-draft", cls=Command)
@click.option("--target", type=ModelName(), required=True, help="The target: a folder, a bundled or a hub name.")
@click.option(
    "--text", "texts", type=FileName(), multiple=True, required=True,
    help="A text file like what you will decode; may be repeated. The last twentieth is held out.",
)  # fmt: skip
@option("--size", default="2x128", metavar="LAYERSxWIDTH", help="Of the draft.")
@option("--write", type=click.IntRange(min=0), default=100_000, help="Tokens that the target writes to train along.")
@option("--minutes", type=click.FloatRange(min=0, min_open=True), default=20.0, help="Train for so long.")
@option("--steps", type=click.IntRange(min=1), default=20_000, help="Train for so many steps at most.")
@click.option("--threads", type=click.IntRange(min=1), help="CPU threads for PyTorch.")
@click.option("--output", "-o", "folder", type=FileName(), required=True, metavar="DIR", help="Folder for the draft.")
def train_draft(
    target: str,
    texts: tuple[Path, ...],
    size: str,
    write: int,
    minutes: float,
    steps: int,
    threads: int | None,
    folder: Path,
) -> None:
    """Train a small GPT-2 that drafts for TARGET (extra `train`).

    It has the target's vocabulary, and learns the target's distribution along text that the target writes and along
    your text. Ctrl-C keeps what was learnt; the same command goes on, for as many minutes again.
    """
    try:
        import torch
    except ImportError:
        raise missing("torch", "train-draft needs", "train") from None
    from minispec.lab.training.own_draft import NAME, OUTPUT, WORK, OwnDraft, measure

    if threads is not None:
        torch.set_num_threads(threads)
    for text in texts:
        check_apart({"--output": folder, "--text": text})
    own = OwnDraft(target, texts, folder, size, write, steps)
    ours = {
        WORK,
        *(OUTPUT if os.path.isdir(folder / WORK / "last") else ()),
    }  # an end that was interrupted left some of it
    if os.path.exists(folder) and (not folder.is_dir() or any(not _is_ours(each, ours) for each in folder.iterdir())):
        raise OutputError(f"{quote(str(folder))} holds something else than a draft in training. Name a new folder")
    with _new_or_ours(folder):
        click.echo("reading; the target writes its part once …", err=True)
        stage = own.open()
        with _stopping(stage):
            for tick in stage.run(deadline=time.time() + 60 * minutes):
                if tick.validation:
                    found = {each.temperature: each.shares[0] for each in measure(stage, stage.models[NAME], 4)}
                    click.echo(
                        f"step {tick.step}/{tick.end} | loss {tick.losses[NAME]:.3f} | α on held-out text "
                        f"{found[1]:.3f}, at temperature 0 {found[0]:.3f}",
                        err=True,
                    )
        if not stage.finished:
            click.echo(f"stopped at step {stage.step} of {stage.schedule.end}; the same command goes on", err=True)
            raise KeyboardInterrupt
        promise = own.finish(stage)
    click.echo(f"wrote {folder}: {promise}")
    command = ["minispec", "measure", str(texts[0]), "--target", target, "--draft", str(folder), "--limit", "8"]
    click.echo(f"what it gains here: {shlex.join(command)}")


def _is_ours(path: Path, ours: Collection[str]) -> bool:
    return path.name in ours or path.name.startswith(".minispec")


@contextmanager
def _new_or_ours(folder: Path) -> Iterator[None]:
    """Hold the folder; where nothing came of it, it is gone again."""
    try:
        with hold_folder(folder):
            yield
    except BaseException:
        with suppress(OSError):
            folder.rmdir()  # it is empty
        raise


@contextmanager
def _stopping(stage: Stage) -> Iterator[None]:
    """Let Ctrl-C end the training behind its step, with a checkpoint."""

    def stop(signum: int, frame: object) -> None:
        stage.stop_requested = True

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
