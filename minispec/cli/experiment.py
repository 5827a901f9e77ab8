"""``minispec experiment``: run the experiments behind the claims ledger and write its page."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from minispec.cli.cluster import on_cluster, on_option
from minispec.cli.options import FileName
from minispec.cli.sections import Group
from minispec.engine.files import check_apart, hold_folder, write_text
from minispec.errors import OptionError, quote
from minispec.lab.ledger.book import (
    check_experiment_jobs,
    compare_scale,
    judge_again,
    load,
    load_all,
    load_checked,
    measure_all,
    refuse_damaged,
    report,
    save,
)
from minispec.lab.ledger.framework import FULL, NAMES, TINY, Experiment, Setting, get_experiment

RESULTS = Path("docs/claims")


@click.group(cls=Group)
def experiment() -> None:
    """Test claims about speculative decoding, each with an experiment."""


_results = click.option(
    "--results",
    type=click.Path(path_type=Path, file_okay=False),
    default=RESULTS,
    show_default=True,
    help="Folder of the results, one JSON file and one plot each.",
)


@experiment.command("list", short_help="List the experiments and their verdicts.")
@_results
def list_(results: Path) -> None:
    """List the experiments: how each is measured, and its verdict if it has one."""
    table = Table(box=None, pad_edge=False)
    for heading in ("name", "kind", "verdict", "claim"):
        table.add_column(heading, no_wrap=heading != "claim", overflow="fold")
    for name in NAMES:
        found, known = get_experiment(name), load(results, name)
        table.add_row(name, found.about.kind, "" if known is None else str(known["verdict"]), found.about.title)
    Console().print(table)


@experiment.command(short_help="Run experiments, and keep their results.")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--all", "everything", is_flag=True, help="Run all of them; those that train need --packed.")
@click.option(
    "--timed/--untimed",
    default=None,
    help="With --all: run only the experiments that measure time, or only the others.",
)
@click.option(
    "--since",
    metavar="TIME",
    help="Run again those whose result is older than this: HH:MM (today), YYYY-MM-DDTHH:MM, or now; in UTC.",
)
@click.option("--quick", is_flag=True, help="Use tiny settings, to see that it runs; the figures mean nothing.")
@click.option(
    "--packed",
    type=click.Path(path_type=Path),
    help="Folder of packed training text, made by `python -m minispec.lab.training pack`.",
)
@click.option(
    "--work",
    type=click.Path(path_type=Path),
    default=Path(".work/experiments"),
    show_default=True,
    help="Folder for the drafts that experiments train.",
)
@click.option(
    "--jobs", type=int, default=1, show_default=True, help="Experiments to run at a time; -1 is one per core."
)
@on_option("experiments")
@_results
def run(
    names: tuple[str, ...],
    everything: bool,
    timed: bool | None,
    since: str | None,
    quick: bool,
    packed: Path | None,
    work: Path,
    jobs: int,
    address: str | None,
    results: Path,
) -> None:
    """Run experiments by NAME, or with --all those that have no result yet.

    Each result is written as soon as it is ready. After an interruption, the same command carries on. Experiments that
    measure time run alone; the workers of a cluster must see the folders of --packed and --work.
    """
    chosen = _choose(names, everything, timed, packed)
    jobs = -1 if address is not None and jobs == 1 else jobs  # as many as the cluster takes
    check_experiment_jobs(chosen, jobs)
    oldest = None if since is None else parse_moment(since, datetime.now(UTC))
    setting = Setting(TINY if quick else FULL, packed, work)
    if quick:
        _refuse_ledger(results, chosen)
    _hold(results)
    if packed is not None:
        _hold(work)
    out = Console(stderr=True)
    left = []
    for found in chosen:
        known = None if names and since is None else load(results, found.name)
        if known is None or compare_scale(known, setting.scale) or (oldest and str(known["date"]) < oldest):
            left.append(found)
        else:
            out.print(f"{found.name}: is there already, {known['verdict']}", highlight=False)
    if not left:
        return
    with on_cluster(address), out.status("") as status:
        status.update(_describe_next(0, left, jobs))
        started = time.perf_counter()
        for number, (found, result) in enumerate(measure_all(left, setting, jobs), 1):
            save(result, results)
            took = time.perf_counter() - started
            out.print(f"{number}/{len(left)} {found.name}: {result['verdict']} (after {took:.0f} s)", highlight=False)
            status.update(_describe_next(number, left, jobs))


def _refuse_ledger(results: Path, chosen: Sequence[Experiment]) -> None:
    """Keep tiny settings away from the ledger, by whatever name, and from any result that took hours."""
    where = "the ledger" if results.resolve() == RESULTS.resolve() else ""
    for found in chosen:
        known = load(results, found.name)
        if not where and known is not None and not compare_scale(known, FULL):
            where = f"{results}, where {found.name} was measured in full"
    if where:
        raise OptionError(f"--quick results mean nothing and would go into {where}; give another folder: --results DIR")


def _describe_next(done: int, left: Sequence[Experiment], jobs: int) -> str:
    """Say what runs while ``done`` of these have ended."""
    if jobs != 1:
        return f"{done} of {len(left)}, several at a time …"
    return f"{done + 1}/{len(left)} {left[done].name} …" if done < len(left) else ""


@experiment.command(short_help="Judge the kept figures again; measure nothing.")
@_results
def judge(results: Path) -> None:
    """Judge the existing figures again by today's rules and texts, and redraw the plots; measure nothing."""
    _hold(results)
    for known in load_all(results):
        with refuse_damaged(known):
            again = judge_again(known)
            save(again, results)
        if again["verdict"] != known["verdict"]:
            click.echo(f"{known['name']}: {known['verdict']} -> {again['verdict']}")


@experiment.command("report", short_help="Print the page of claims.")
@click.option("--write", type=FileName(), help="Write the page here instead.")
@click.option("--partial", is_flag=True, help="Take the results as they are, unchecked; for results of your own.")
@_results
def report_command(write: Path | None, partial: bool, results: Path) -> None:
    """Print the claims page made from the results, as Markdown; fail if an entry is missing, edited or stale."""
    check_apart({**{f"the result of {name}": results / f"{name}.json" for name in NAMES}, "--write": write})
    found = load_all(results) if partial else load_checked(results)
    if not found:
        raise OptionError(f"{results} holds no result; run some first: minispec experiment run tau")
    page = report(found)
    if write is None:
        click.echo(page, nl=False)
        return
    write_text(write, page)


def _choose(names: tuple[str, ...], everything: bool, timed: bool | None, packed: Path | None) -> list[Experiment]:
    if bool(names) == everything:
        raise OptionError("give names of experiments, or --all; `minispec experiment list` shows them")
    if names:
        if timed is not None:
            raise OptionError("--timed and --untimed choose among all; leave them out with names, or use --all")
        return [get_experiment(name) for name in dict.fromkeys(names)]
    found = [get_experiment(name) for name in NAMES]
    return [
        one
        for one in found
        if (timed is None or (one.about.kind == "timed") == timed)
        and (one.about.kind != "trained" or packed is not None)
    ]


def parse_moment(text: str, now: datetime) -> str:
    """Return a moment as results write it.

    Raises
    ------
    OptionError
        If it is none.
    """
    if text == "now":
        return now.strftime("%Y-%m-%dT%H:%M:%SZ")
    whole = f"{now:%Y-%m-%d}T{text}" if "T" not in text else text
    try:
        moment = datetime.strptime(whole, "%Y-%m-%dT%H:%M")
    except ValueError:
        raise OptionError(
            f"--since is {quote(text)}; it must be HH:MM, YYYY-MM-DDTHH:MM or now. Try --since 10:30"
        ) from None
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _hold(folder: Path) -> None:
    """Keep a folder to this command until it ends."""
    click.get_current_context().with_resource(hold_folder(folder))
