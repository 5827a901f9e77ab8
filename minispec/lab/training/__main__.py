"""``python -m minispec.lab.training``: each stage of the recipe as a command, and ``all`` of them in order.

Every command can be run again: finished stages are skipped, a stopped one goes on from its checkpoint.
"""

from __future__ import annotations

import json
import shlex
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import chain
from pathlib import Path
from typing import Any

import click
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from minispec.engine.drafters.spec import HEADS as HEAD_KINDS
from minispec.engine.files import hold_folder
from minispec.engine.loading.folder import find_folder
from minispec.errors import MinispecError, MissingDependencyError, OptionError

try:
    import tokenizers
    import torch
except ImportError as error:  # one clear line instead of a traceback
    click.echo(f"error: {error.name} is not installed; training needs it. Install the extra train", err=True)
    sys.exit(MissingDependencyError.exit_code)

from minispec.lab.training import stages
from minispec.lab.training.cards import bars_table, figures_table
from minispec.lab.training.checkpoint import require_room
from minispec.lab.training.checks import check
from minispec.lab.training.data import pack
from minispec.lab.training.export import export_model, load_exported
from minispec.lab.training.head_card import RATES, Ablations, Acceptance, HeadPlan, acceptance_table
from minispec.lab.training.head_stage import HeadStage, make_head_folder
from minispec.lab.training.mixture import read_corpus, word_list
from minispec.lab.training.prompts import draw_prompts, write_prompts
from minispec.lab.training.recipe import PRESETS, TARGET
from minispec.lab.training.report import make_report
from minispec.lab.training.stages import BUNDLED, STAGES, Workshop
from minispec.lab.training.tokenize import train_tokenizer
from minispec.lab.training.trainer import Stage, Tick

VOCAB_SIZE = 8192

Command = Callable[..., Any]


def options(*names: str) -> Callable[[Command], Command]:
    """Add the named shared options to a command."""
    known = {
        "preset": click.option(
            "--preset", type=click.Choice(sorted(PRESETS)), default="cpu", show_default=True, help="Which recipe."
        ),
        "work": click.option(
            "--work",
            type=click.Path(path_type=Path),
            default=Path(".work/training"),
            show_default=True,
            help="Folder for tokens and checkpoints.",
        ),
        "corpus": click.option(
            "--corpus",
            type=click.Path(path_type=Path),
            required=True,
            help="Folder of the corpus files (.txt or .txt.xz).",
        ),
        "code": click.option(
            "--code",
            type=click.Path(path_type=Path, exists=True, file_okay=False),
            help="Folder of Python files to learn code from, instead of this interpreter's standard library.",
        ),
        "weights": click.option(
            "--weights",
            type=click.Path(path_type=Path),
            default=Path("weights"),
            show_default=True,
            help="Folder of the exported models.",
        ),
        "max_minutes": click.option(
            "--max-minutes",
            type=click.FloatRange(min=0, min_open=True),
            help="Save and stop after this long; run again to go on.",
        ),
        "finish_by": click.option(
            "--finish-by", metavar="HH:MM", help="Shorten the run so that it is finished by this time of day."
        ),
        "threads": click.option("--threads", type=click.IntRange(min=1), help="CPU threads for PyTorch."),
        "compile": click.option(
            "--compile/--no-compile", "compiled", default=None, help="Override the preset's torch.compile."
        ),
        "init": click.option(
            "--init",
            type=click.Path(path_type=Path, exists=True, file_okay=False),
            help="Start the stage's models from the exported ones in this folder, with the usual warm-up.",
        ),
        "new_vocabulary": click.option(
            "--new-vocabulary", is_flag=True, help="Carry the weights of --init over from another vocabulary."
        ),
        "max_shard_mb": click.option(
            "--max-shard-mb",
            type=click.FloatRange(min=0, min_open=True),
            help="Largest weight file; larger models are split.",
        ),
        "rows": click.option(
            "--rows", type=click.IntRange(min=1), default=48, show_default=True, help="Rows measured per domain."
        ),
        "tokens": click.option(
            "--tokens",
            type=click.IntRange(min=16),
            default=128,
            show_default=True,
            help="Tokens the target writes a row.",
        ),
    }

    def add(command: Command) -> Command:
        for name in reversed(names):
            command = known[name](command)
        return command

    return add


class Group(click.Group):
    """A click group that turns an error made on purpose into one line and its exit code."""

    def invoke(self, context: click.Context) -> Any:
        """Run the command; see the class."""
        try:
            return super().invoke(context)
        except MinispecError as error:
            click.echo(f"error: {error}", err=True)
            context.exit(error.exit_code)


def parse_clock(text: str | None, now: datetime) -> float | None:
    """Turn ``HH:MM`` into the next such moment, in seconds since the epoch.

    Raises
    ------
    OptionError
        Not a time of day.
    """
    if text is None:
        return None
    try:
        clock = datetime.strptime(text, "%H:%M")
    except ValueError as error:
        raise OptionError(f"--finish-by is {text!r}; it must be a time of day. Try --finish-by 18:30") from error
    moment = now.replace(hour=clock.hour, minute=clock.minute, second=0, microsecond=0)
    return (moment if moment > now else moment + timedelta(days=1)).timestamp()


def parse_layers(text: str | None) -> tuple[int, ...]:
    """Turn ``2,4,8`` into numbers; nothing into none.

    Raises
    ------
    OptionError
        If it is no such list.
    """
    try:
        return () if text is None else tuple(int(part) for part in text.split(","))
    except ValueError as error:
        raise OptionError(f"--layers is {text!r}; it must be layers' numbers. Try --layers 2,4,8") from error


def describe(tick: Tick) -> str:
    """Write one tick as one line."""
    parts = [f"step {tick.step}/{tick.end}", f"{tick.tokens / 1e6:.2f}M tokens", f"{tick.tokens_per_s:,.0f} tokens/s"]
    parts += [f"{name} {loss:.3f}" for name, loss in tick.losses.items()]
    for name, domains in (tick.validation or {}).items():
        parts.append(f"held-out {name}: " + ", ".join(f"{domain} {loss:.3f}" for domain, loss in domains.items()))
    return " | ".join(parts)


def show(stage: Stage, name: str, deadline: float | None, stop_at: float | None) -> None:
    """Run a stage, with a progress bar on a terminal and plain lines elsewhere; a signal stops it after a step."""

    def stop(signum: int, frame: object) -> None:
        stage.stop_requested = True

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    ticks = stage.run(deadline=deadline, stop_at=stop_at)
    if not sys.stderr.isatty():
        for tick in ticks:
            click.echo(f"{datetime.now():%H:%M:%S} {name} | {describe(tick)}", err=True)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns) as progress:
        task = progress.add_task(name, total=stage.schedule.end, completed=stage.step)
        for tick in ticks:
            losses = ", ".join(f"{key} {loss:.3f}" for key, loss in tick.losses.items())
            progress.update(task, completed=tick.step, total=tick.end, description=f"{name} ({losses})")
            if tick.validation:
                progress.console.print(describe(tick))


def run_stage(
    workshop: Workshop,
    name: str,
    compiled: bool | None,
    deadline: float | None,
    stop_at: float | None,
    init: Path | None = None,
    new_vocabulary: bool = False,
) -> bool:
    """Run or resume one stage; return whether it is finished."""
    if workshop.is_finished(name):
        click.echo(f"stage {name} is finished already")
        return True
    stage = workshop.stage(name, compiled, init, new_vocabulary)
    show(stage, name, deadline, stop_at)
    if stage.finished:
        click.echo(f"stage {name} finished after {stage.step} steps, {stage.tokens:,} tokens")
    else:
        click.echo(f"stage {name} stopped at step {stage.step} of {stage.schedule.end}; resume with the same command")
    return stage.finished


def hold(work: Path) -> None:
    """Keep the folder of tokens and checkpoints to this command until it ends, also for the commands it invokes."""
    root = click.get_current_context().find_root()
    if __name__ not in root.meta:
        root.meta[__name__] = root.with_resource(hold_folder(work))


def use_threads(threads: int | None) -> None:
    """Limit PyTorch's threads, if asked to."""
    if threads is not None:
        torch.set_num_threads(threads)


@click.group(cls=Group)
def main() -> None:
    """Train the bundled weights, or your own."""


@main.command()
@options("corpus", "code", "work")
def tokenizer(corpus: Path, code: Path | None, work: Path) -> None:
    """Train the shared tokenizer."""
    texts = read_corpus(corpus, code)
    hold(work)
    train_tokenizer(texts, VOCAB_SIZE).save(str(work / "tokenizer.json"))
    click.echo(f"wrote {work / 'tokenizer.json'}")


@main.command("pack")
@options("corpus", "code", "work")
def pack_command(corpus: Path, code: Path | None, work: Path) -> None:
    """Encode the corpus into rows of tokens, with a manifest of checksums."""
    texts = read_corpus(corpus, code)
    if not (work / "tokenizer.json").is_file():
        raise OptionError(f"{work} has no tokenizer.json; packing needs it. Run the tokenizer stage first")
    require_room(work, 2 * sum(text.num_chars for text in texts))  # two bytes a token, at most a token per character
    hold(work)
    tokenizer = tokenizers.Tokenizer.from_file(str(work / "tokenizer.json"))
    manifest = pack(tokenizer, texts, word_list(corpus), work / "packed")
    click.echo(json.dumps(manifest, indent=2))


@main.command("prompts")
@options("corpus", "code")
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), required=True, help="File to write.")
def prompts_command(corpus: Path, code: Path | None, output: Path) -> None:
    """Draw the held-out prompts of the experiments that count."""
    lines = draw_prompts(corpus, code)
    write_prompts(lines, output)
    click.echo(f"wrote {len(lines)} prompts to {output}")


def train_stage(
    stage: str,
    preset: str,
    work: Path,
    max_minutes: float | None,
    finish_by: str | None,
    threads: int | None,
    compiled: bool | None,
    init: Path | None,
    new_vocabulary: bool,
) -> None:
    """Train a stage as the options of its command say."""
    use_threads(threads)
    stop_at = None if max_minutes is None else time.time() + 60 * max_minutes
    finish = parse_clock(finish_by, datetime.now())
    workshop = Workshop(PRESETS[preset], work)
    workshop.require_device()  # before a folder is made
    hold(work)
    run_stage(workshop, stage, compiled, finish, stop_at, init, new_vocabulary)


@main.command()
@click.argument("stage", type=click.Choice(("target", "drafts")))
@options("preset", "work", "max_minutes", "finish_by", "threads", "compile", "init", "new_vocabulary")
def train(**given: Any) -> None:
    """Train a stage on text alone: the target, or the drafts."""
    train_stage(**given)


@main.command()
@click.argument("stage", type=click.Choice(("distilled", "control", "code")))
@options("preset", "work", "max_minutes", "finish_by", "threads", "compile", "init", "new_vocabulary")
def distill(**given: Any) -> None:
    """Train a stage that starts from the drafts, or from what --init gives."""
    train_stage(**given)


@main.command()
@options("preset", "work", "weights", "max_shard_mb")
@click.option(
    "--only", multiple=True, type=click.Choice(sorted(BUNDLED)), help="A model; may be repeated. Default: all."
)
@click.option("--checkpoint", "which", type=click.Choice(("best", "last")), default="best", show_default=True)
@click.option("--stage", type=click.Choice(STAGES), help="Take the model from this stage instead of its own.")
def export(
    preset: str,
    work: Path,
    weights: Path,
    max_shard_mb: float | None,
    only: tuple[str, ...],
    which: str,
    stage: str | None,
) -> None:
    """Write model folders for Hugging Face and minispec."""
    workshop = Workshop(PRESETS[preset], work)
    for name in only or tuple(BUNDLED):
        model = workshop.load(stage or BUNDLED[name], name, which)
        require_room(weights, 3 * model.num_parameters)  # two bytes each, and the small files
        export_model(model, workshop.tokenizer_file, weights / name, max_shard_mb)
        click.echo(f"wrote {weights / name}")


@main.command("check")
@options("preset", "work", "weights", "threads")
def check_command(preset: str, work: Path, weights: Path, threads: int | None) -> None:
    """Measure what the exported target can do: stories, sums, Python, repetition."""
    use_threads(threads)
    workshop = Workshop(PRESETS[preset], work)
    model = load_exported(weights / TARGET).to(workshop.device)
    checked = check(model, tokenizers.Tokenizer.from_file(str(weights / TARGET / "tokenizer.json")), workshop)
    click.echo(figures_table(checked))
    click.echo()
    click.echo(bars_table(checked))


@main.command("report")
@options("preset", "work", "weights", "threads", "rows", "tokens")
def report_command(preset: str, work: Path, weights: Path, threads: int | None, rows: int, tokens: int) -> None:
    """Measure the exported models, compare with the bars, and write the models' cards."""
    use_threads(threads)
    report = make_report(Workshop(PRESETS[preset], work), weights, rows, tokens)
    click.echo(json.dumps({key: report[key] for key in ("stages", "perplexity", "agreement")}, indent=2))
    click.echo(figures_table(report["checks"]))
    click.echo()
    click.echo(bars_table(report["checks"]))


@main.command("head")
@click.argument("kind", type=click.Choice(HEAD_KINDS))
@click.option(
    "--target",
    required=True,
    help="The target: a folder, a bundled name or a hub name.",
)
@click.option(
    "--text",
    "texts",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    multiple=True,
    help="A text file to read along; may be repeated. The last twentieth is held out.",
)
@click.option(
    "--work",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Folder of the recipe's packed text, to read along instead: as much of each domain.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    help="Folder for the head; as TARGET/KIND, in the target's own folder, it is what `--draft KIND` takes.",
)
@click.option(
    "--layers", help="Layers to read, such as 2,4,8 [default: a low, a middle and the top one; medusa: the top one]."
)
@click.option("--length", type=click.IntRange(1, 64), default=HeadPlan.length, show_default=True, help="Longest draft.")
@click.option("--width", type=click.IntRange(8), default=HeadPlan.width, show_default=True, help="Width of its layers.")
@click.option(
    "--words",
    type=click.IntRange(0),
    default=HeadPlan.num_words,
    show_default=True,
    help="Likeliest tokens of the text, which it can draft; 0 for all. A medusa drafts all.",
)
@click.option(
    "--write",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Tokens that the target writes itself, behind beginnings of the texts, to train along; 0: the texts as given.",
)
@click.option(
    "--ablate",
    type=click.IntRange(1),
    metavar="STEPS",
    help="Also train it, and it without each of what sets it apart, for so many steps, and put that on its card.",
)
@click.option("--steps", type=click.IntRange(1), default=HeadPlan.steps, show_default=True)
@click.option("--seed", type=click.IntRange(0), default=HeadPlan.seed, show_default=True)
@options("threads")
def head_command(
    kind: str,
    target: str,
    texts: tuple[Path, ...],
    work: Path | None,
    output: Path,
    layers: str | None,
    length: int,
    width: int,
    words: int,
    write: int,
    ablate: int | None,
    steps: int,
    seed: int,
    threads: int | None,
) -> None:
    """Train a head that drafts from the target's hidden states."""
    use_threads(threads)
    plan = HeadPlan(kind, parse_layers(layers), length, width, inner=4 * width, num_words=words, written=write)
    stage = HeadStage(replace(plan, steps=steps, rate=RATES[kind], seed=seed), target, texts, work)
    ablations = stage.make_ablations(ablate) if ablate else []
    make_head_folder(output)
    if write:
        stage.write()
        click.echo(f"the target wrote {sum(map(len, stage.text.train.values())):,} tokens", err=True)
    measured: list[list[Acceptance]] = []
    for variant in [stage, *ablations]:
        variant.text = stage.text
        for tick in variant.run():
            click.echo(f"step {tick.step}/{variant.plan.steps} | loss {tick.loss:.3f} | {tick.seconds:.0f} s", err=True)
        measured.append(variant.measure())
    acceptance, *compared = measured
    stage.export(output, acceptance, Ablations(ablate, [*chain(*compared)]) if ablate else None)
    click.echo("acceptance by place, along held-out text:")
    click.echo(acceptance_table(acceptance))
    own = output.resolve() == (find_folder(target) / kind).resolve()
    draft = kind if own else f"{kind}:head={output}"
    click.echo(f"wrote {output}; try --target {shlex.quote(target)} --draft {shlex.quote(draft)}")


@main.command("all")
@options("corpus", "code", "preset", "work", "weights", "max_minutes", "finish_by", "threads", "compile")
@options("max_shard_mb", "rows", "tokens")
@click.pass_context
def everything(
    context: click.Context,
    corpus: Path,
    code: Path | None,
    preset: str,
    work: Path,
    weights: Path,
    max_minutes: float | None,
    finish_by: str | None,
    threads: int | None,
    compiled: bool | None,
    max_shard_mb: float | None,
    rows: int,
    tokens: int,
) -> None:
    """Run every stage that is not finished yet, in order."""
    use_threads(threads)
    stop_at = None if max_minutes is None else time.time() + 60 * max_minutes
    finish = parse_clock(finish_by, datetime.now())
    workshop = Workshop(PRESETS[preset], work)
    workshop.require_device()  # before a folder is made
    hold(work)
    if not (work / "tokenizer.json").is_file():
        context.invoke(tokenizer, corpus=corpus, code=code, work=work)
    if not (work / "packed" / "manifest.json").is_file():
        context.invoke(pack_command, corpus=corpus, code=code, work=work)
    for number, name in enumerate(STAGES):
        share = stages.TIME_SHARES[name] / sum(stages.TIME_SHARES[later] for later in STAGES[number:])
        deadline = None if finish is None else time.time() + share * (finish - time.time())
        if not run_stage(workshop, name, compiled, deadline, stop_at):
            return
    context.invoke(export, preset=preset, work=work, weights=weights, max_shard_mb=max_shard_mb)
    context.invoke(report_command, preset=preset, work=work, weights=weights, threads=threads, rows=rows, tokens=tokens)


if __name__ == "__main__":
    main()
