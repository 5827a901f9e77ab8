"""``minispec measure``: plain and speculative decoding, like for like."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from minispec.cli.cluster import on_cluster, on_option
from minispec.cli.lists import Several
from minispec.cli.options import (
    DRAFTING,
    FileName,
    Gamma,
    ModelName,
    check_spared,
    generation_options_without,
    option,
)
from minispec.cli.sections import Command
from minispec.engine.files import HeldFile, check_apart, check_writable, write_text
from minispec.engine.generation.options import Options
from minispec.engine.loading.bundled import DEFAULT_DRAFT, DEFAULT_TARGET
from minispec.errors import OptionError
from minispec.lab.measure import against as earlier
from minispec.lab.measure.mistakes import find_mistakes, surprise
from minispec.lab.measure.record import Record
from minispec.lab.measure.report import (
    INTERVALS,
    NOTES,
    OVERVIEW_NOTE,
    count_of,
    format_figure,
    label,
    likeness,
    overview,
    prompt_table,
    remarks,
    tables,
    to_csv,
    to_dict,
    to_markdown,
)
from minispec.lab.measure.report import Table as Columns
from minispec.lab.measure.summary import Summary, summarise
from minispec.lab.measure.sweep import Journal, Sweep, check_sweep_jobs, check_units, fingerprints, run_units
from minispec.lab.prompts import PRESETS, Form, Prompt, bundled_prompts, read_prompts
from minispec.lab.roofline.machine import describe_cpu
from minispec.lab.viz.plots import style
from minispec.lab.viz.plots.bench import sweep_figure
from minispec.lab.viz.terminal import QUIET

_DEFAULTS = Options()
_FIXED = ("--target", "--draft", "--gamma", "--temperature", "--verify", "--min-tokens", "--max-tokens", "--stop",
          "--regex", "--json-schema", "--audit", "--seed")  # fmt: skip


_Command = TypeVar("_Command", bound=Callable[..., Any])


def _output(flag: str, what: str) -> Callable[[_Command], _Command]:
    name = flag.removeprefix("--") + "_file"
    return click.option(flag, name, type=FileName(), help=f"Write {what} to this file.")


@click.command(cls=Command)
@click.argument("prompts", required=False, type=FileName())
@click.option("--preset", type=click.Choice(tuple(PRESETS)), help="Read PROMPTS in this collection's published format.")
@click.option("--prompt-key", metavar="KEY", help="Read PROMPTS as JSON lines with the prompt under this key.")
@option("--target", type=Several(ModelName()), default=DEFAULT_TARGET, help="Targets, separated by commas.")
@option(
    "--draft",
    type=Several(ModelName(*DRAFTING)),
    default=DEFAULT_DRAFT,
    help="Drafts, separated by commas: models, or KIND[:key=value,...].",
)
@option("--gamma", type=Several(Gamma()), default=str(_DEFAULTS.gamma), help="Draft lengths or policies.")
@option("--temperature", type=Several(click.FLOAT), default=str(_DEFAULTS.temperature), help="0 is greedy.")
@option("--verify", type=Several(click.STRING), default=_DEFAULTS.verify, help="Rules that judge drafts.")
@option("--max-tokens", type=int, default=64, help="Generate exactly this many tokens in every run.")
@option("--seed", type=int, default=_DEFAULTS.seed, help="Seed of the first prompt; the next prompt has the next seed.")
@generation_options_without(*_FIXED)
@click.option("--domain", help="Use only the prompts of this domain.")
@click.option("--domains", is_flag=True, help="Print each domain's figures too.")
@click.option("--details", is_flag=True, help="Print every table: acceptance, time, latency, tokens, quality.")
@click.option("--by-prompt", is_flag=True, help="Print a row per prompt.")
@click.option("--limit", type=click.IntRange(min=1), help="Use only the first N prompts of each domain.")
@click.option("--repeats", type=click.IntRange(min=1), default=3, show_default=True, help="Timed rounds per prompt.")
@click.option("--no-timing", is_flag=True, help="Measure acceptance and quality only; then --jobs may be used.")
@click.option("--jobs", type=int, default=1, show_default=True, help="Prompts to run at a time; -1 is one per core.")
@on_option("prompts")
@click.option(
    "--journal",
    type=FileName(),
    show_default="measure-KEY.jsonl",
    help="Keep finished prompts in this file, so that the same command can carry on.",
)
@click.option(
    "--against",
    type=FileName(),
    metavar="OLD.json",
    help="Compare with an earlier --json: what changed by more than noise. Exit code 1 if acceptance or speed fell.",
)
@click.option("--validate", is_flag=True, help="Name the common mistakes of such a benchmark where they are seen.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with every run, and nothing else.")
@_output("--csv", "a row for each prompt and setting")
@_output("--markdown", "the tables")
@_output("--plot", "a plot (.png, .svg, .pdf)")
def measure(
    prompts: Path | None,
    preset: str | None,
    prompt_key: str | None,
    domain: str | None,
    domains: bool,
    details: bool,
    by_prompt: bool,
    limit: int | None,
    repeats: int,
    no_timing: bool,
    jobs: int,
    address: str | None,
    journal: Path | None,
    against: Path | None,
    validate: bool,
    as_json: bool,
    csv_file: Path | None,
    markdown_file: Path | None,
    plot_file: Path | None,
    **options: Any,
) -> None:
    """Decode PROMPTS plainly and with drafts, under otherwise equal settings, and compare.

    PROMPTS is a file: JSON lines ({"prompt": …, "answer": …, "domain": …, "id": …}, name ending in .jsonl) or one
    prompt per line; it may be compressed (.gz). --preset reads HumanEval, GSM8K and MT-bench as they are published.
    Without a file, the 24 bundled prompts are used: stories, code and questions.

    After an interruption, the same command carries on.
    """
    if no_timing and click.get_current_context().get_parameter_source("repeats") is not ParameterSource.DEFAULT:
        raise OptionError(
            f"repeats is {repeats}; they are timed rounds, and --no-timing has none. Leave one of them out"
        )
    if "none" in options["draft"]:
        raise OptionError("draft is 'none'; plain decoding is measured anyway. Leave it out, or try --draft ngram")
    for path in (csv_file, markdown_file):
        check_writable(path)
    if plot_file is not None:
        style.check_output(plot_file)
    outputs = {"--csv": csv_file, "--markdown": markdown_file, "--plot": plot_file}
    check_apart({"PROMPTS": prompts, "--journal": journal, "--against": against, **outputs})
    check_spared({"--journal": journal, **outputs}, options)
    old = None if against is None else earlier.read_report(against)
    notes = Console(stderr=True, highlight=False)
    varied = {name + "s": options.pop(name) for name in ("target", "draft", "gamma", "temperature")}
    sweep = Sweep(
        _choose(_read(prompts, preset, prompt_key), domain, limit),
        **varied,
        verifies=options.pop("verify"),
        max_tokens=options.pop("max_tokens"),
        seed=options.pop("seed"),
        repeats=0 if no_timing else repeats,
        options=options,
    )
    if address is not None and jobs == 1:
        jobs = -1  # as many as the cluster takes
    check_sweep_jobs(sweep, jobs)
    with on_cluster(address):
        records, kept = _run(sweep, journal, jobs, notes)
    machine = describe_cpu()
    everything, by_domain = summarise(records), summarise(records, by_domain=True)
    shown = by_domain if domains else everything
    comparison = None if old is None else earlier.compare(old[0], records, old[1], sweep.settings())
    mistakes = find_mistakes(sweep, records, surprise(sweep.targets[0], sweep.prompts)) if validate else []
    if as_json:
        report = to_dict(sweep, records, by_domain, machine)
        if validate:
            report["mistakes"] = mistakes
        if comparison is not None:
            report["against"] = earlier.to_dict(comparison)
        click.echo(json.dumps(report))
    else:
        _show(sweep, shown, tables(shown) if details else {}, prompt_table(records) if by_prompt else None)
        if comparison is not None:
            _show_comparison(comparison)
        if validate:
            for line in mistakes or ["none of the common mistakes is seen"]:
                click.echo(line)
    if csv_file is not None:
        write_text(csv_file, to_csv(records))
    if markdown_file is not None:
        write_text(markdown_file, to_markdown(sweep, by_domain, machine))
    if plot_file is not None:
        prompts_read, length = count_of(len(sweep.prompts), "prompt"), count_of(sweep.max_tokens, "token")
        remark = f"{prompts_read}, {length} each; bars: 95 % over prompts"
        style.save(sweep_figure(everything, remark), plot_file)
    if journal is None:  # only now: what could not be written after all would have to be measured again
        kept.remove()
    if comparison is not None and comparison.fell:
        click.get_current_context().exit(1)


def _read(prompts: Path | None, preset: str | None, prompt_key: str | None) -> tuple[Prompt, ...]:
    if preset is not None and prompt_key is not None:
        raise OptionError(f"preset is {preset!r} and prompt-key {prompt_key!r}; both name the key. Leave one out")
    if prompts is None:
        if preset is not None or prompt_key is not None:
            raise OptionError("a preset or a prompt key is for a file, and there is none. Try minispec measure FILE")
        return bundled_prompts()
    if preset is not None:
        return read_prompts(prompts, PRESETS[preset])
    return read_prompts(prompts, None if prompt_key is None else Form(prompt=prompt_key))


def _choose(prompts: tuple[Prompt, ...], domain: str | None, limit: int | None) -> tuple[Prompt, ...]:
    domains = sorted({prompt.domain for prompt in prompts})
    if domain is not None and domain not in domains:
        raise OptionError(f"no prompt has the domain {domain!r}; there are {', '.join(map(repr, domains))}. Try one")
    kept = []
    for name in domains if domain is None else [domain]:
        kept += [prompt for prompt in prompts if prompt.domain == name][:limit]
    return tuple(prompt for prompt in prompts if prompt in kept)


def _run(sweep: Sweep, journal: Path | None, jobs: int, notes: Console) -> tuple[list[Record], HeldFile]:
    """Return the records of every unit in order, taking from the journal what it has; and the journal."""
    with notes.status("loading models …"):
        key = sweep.key(fingerprints(sweep))
        check_units(sweep)
    path = journal or Path(f"measure-{key[:8]}.jsonl")
    file = click.get_current_context().with_resource(HeldFile(path))
    kept = Journal(file, key)
    units = list(sweep.units())
    missing = kept.missing(units)
    if len(missing) < len(units):
        notes.print(f"{len(units) - len(missing)} of {len(units)} prompts are in {path} already", markup=False)
    columns = (TextColumn("measuring"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    try:
        with Progress(*columns, console=notes, transient=True) as bar:
            task = bar.add_task("", total=len(units), completed=len(units) - len(missing))
            for records in run_units(sweep, missing, jobs):
                kept.add(records)
                bar.advance(task)
    except BaseException:
        notes.print(f"{len(kept.units)} of {len(units)} prompts are kept in {path}", markup=False)
        raise
    return [record for unit in units for record in kept.units[unit.name]], file


def _show(sweep: Sweep, summaries: list[Summary], details: Mapping[str, Columns], by_prompt: Columns | None) -> None:
    out = Console(highlight=False)
    out.print(likeness(sweep), markup=False)
    _print(out, overview(summaries), OVERVIEW_NOTE)
    for title, columns in details.items():
        _print(out, columns, NOTES[title], title)
    if by_prompt is not None:
        _print(out, by_prompt, "", "Prompts")
    out.print("\n" + INTERVALS, markup=False)
    for remark in remarks(summaries):
        out.print(remark, markup=False)
    if not details:
        out.print("--details prints acceptance, latency, tokens and quality, --by-prompt a row per prompt.")


_NAMES = ("target", "draft", "text", "prompt")
"""Columns whose values may take several lines."""


def fold(name: str, width: int) -> str:
    """Break a long name after its colons and commas, so that no line is wider than ``width`` if that can be.

    Examples
    --------
    >>> fold("tree:draft=draft-1.6m,shape=3x1", 18).splitlines()
    ['tree:', 'draft=draft-1.6m,', 'shape=3x1']
    """
    lines = [""]
    for piece in re.split(r"(?<=[:,/])", name):
        if lines[-1] and len(lines[-1]) + len(piece) > width:
            lines.append("")
        lines[-1] += piece
    return "\n".join(lines)


def _show_comparison(comparison: earlier.Comparison) -> None:
    """Print what changed, or the overall figures where nothing did; the JSON has every figure."""
    out = Console(highlight=False)
    shown = [each for each in comparison.changes if each.verdict != "unchanged"] or [
        each for each in comparison.changes if not each.domain and each.what in ("α", "speedup")
    ]
    rows: list[tuple[str, ...]] = [
        (label(c.variant), str(c.variant.gamma), c.domain or "all", c.what, f"{c.old:.3f}", f"{c.new:.3f}",
         format_figure(c.difference, "{:+.3f}"), c.verdict)
        for c in shown
    ]  # fmt: skip
    _print(
        out, (("draft", "γ", "text", "figure", "old", "new", "new - old", ""), rows), "", "Against the earlier report"
    )
    out.print(f"\n{comparison.sentence}", markup=False, soft_wrap=True)
    if comparison.settings:
        out.print(f"settings that differ: {', '.join(comparison.settings)}", markup=False, soft_wrap=True)


def _print(out: Console, columns: Columns, note: str, title: str | None = None) -> None:
    """Print a table; where it is too wide, names are folded and figures are not."""
    heads, rows = columns
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    spare = out.width - sum(widths) - 2 * (len(heads) - 1)
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for head in heads:
        name = head in _NAMES
        table.add_column(head, no_wrap=not name, overflow="fold", justify="left")
    longest = max((width for head, width in zip(heads, widths, strict=True) if head in _NAMES), default=0)
    for row in rows:
        cells = zip(heads, row, strict=True)
        table.add_row(*(Text(fold(cell, longest + min(0, spare)) if head in _NAMES else cell) for head, cell in cells))
    out.print()
    out.print(table)
    if note:
        out.print(Text(note, QUIET))
