"""``minispec batch``: a file of requests, decoded together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column

from minispec.cli.cluster import on_cluster, on_option
from minispec.cli.options import (
    FileName,
    Memory,
    check_spared,
    gamma_together_option,
    generation_options_without,
    option,
    verify_together_option,
)
from minispec.cli.sections import Command
from minispec.engine.batching import Engine
from minispec.engine.batching.defaults import FOLLOWING
from minispec.engine.batching.lines import BadLine, Request, add_requests, read_requests
from minispec.engine.batching.results import Results, error_line, run_requests
from minispec.engine.files import HeldFile, check_apart, check_writable
from minispec.engine.generation.events import Emitted, Event, Verified
from minispec.engine.generation.ready import make_ready
from minispec.errors import OptionError, PromptError
from minispec.lab.measure.sweep import sweep_library

_LOSS = 0.95
"""Times plain decoding, below which drafts have cost more than an estimate may err."""
_ROUNDS = 4
"""How many times as many requests as run together a worker of a cluster is given at once."""


@click.command(cls=Command)
@click.argument("requests", type=FileName())
@click.option("-o", "--output", required=True, type=FileName(), help="Write the results to this file, one per line.")
@option("--concurrency", type=click.IntRange(min=1), default=16, help="Requests to decode at the same time.")
@option(
    "--kv-memory",
    type=Memory(),
    default=None,
    show_default="enough for whole contexts",
    help="Memory for the target's keys and values, such as 64MB; drafts get as many slots in memory of their own.",
)
@option("--page-size", type=click.IntRange(min=1), default=16, help="Slots per page of that memory.")
@click.option("--keep-going", is_flag=True, help="Decode the other lines if some are invalid; the exit code is then 2.")
@on_option("lines")
@gamma_together_option
@verify_together_option
@generation_options_without("--gamma", "--verify")
def batch(
    requests: Path,
    output: Path,
    concurrency: int,
    kv_memory: int | None,
    page_size: int,
    keep_going: bool,
    address: str | None,
    **options: Any,
) -> None:
    """Decode the requests in REQUESTS together, and write a result for each.

    A line is a JSON object: {"prompt": ...}, and if you like "id", "draft" and any option of a generation by its name
    (max_tokens, temperature, seed, ...); the options below hold for lines that do not say otherwise. Each text is bit
    for bit what `minispec generate` makes of that prompt alone with these options; by default, what it makes with
    `--draft none`. Lines of the output come in the order of the input and are written as soon as they can be; after an
    interruption the same command goes on.
    """
    notes = Console(stderr=True, highlight=False)
    check_writable(output)
    check_apart({"REQUESTS": requests, "--output": output})
    check_spared({"--output": output}, options)
    loading = ("target", "backend", "dtype", "draft_dtype", "kv_dtype")
    settings: dict[str, Any] = {name: options.pop(name) for name in loading}
    shape: dict[str, Any] = {"max_running": concurrency, "kv_memory": kv_memory, "page_size": page_size}
    named = {name: value for name, value in options.items() if value is not None or name not in ("gamma", "verify")}
    lines = read_requests(requests, {**named, "logprobs": False})
    with notes.status("loading models …"):
        engine = Engine(**settings, **shape)
        added, checked = add_requests(engine, lines)
    bad = [line for line in checked if isinstance(line, BadLine)]
    if bad and not keep_going:
        for line in bad[1:]:
            notes.print(f"line {line.line} of {requests}: {line.problem}", markup=False, soft_wrap=True)
        raise PromptError(f"line {bad[0].line} of {requests}: {bad[0].problem}")
    click.get_current_context().with_resource(on_cluster(address))
    formats = {name: str(getattr(engine.target, name, "")) for name in ("dtype", "kv_dtype")}
    models = {**settings, **formats, "fingerprints": engine.models.fingerprints}
    results = Results(click.get_current_context().with_resource(HeldFile(output)), checked, models)
    bad += results.failed
    done = {request.line for request in checked[: results.num_written]}
    if done:
        notes.print(f"{len(done)} of {len(checked)} lines are in {output} already", markup=False)
    for number, request in added.items():
        if request.line in done:
            engine.cancel(number)
    make_ready([engine.target], notes)
    for line in bad:
        if line.line not in done:
            results.add(line.line, error_line(line))
    left = {number: request for number, request in added.items() if request.line not in done}
    room = notes.width - 2 * len(str(len(checked))) - 24  # for all but n/N, the time left and what is between
    figures = TextColumn(
        "{task.fields[figures]}", table_column=Column(no_wrap=True, overflow="ellipsis", max_width=room)
    )
    columns = (MofNCompleteColumn(), TimeRemainingColumn(), BarColumn(min(20, max(4, room - 40))), figures)
    try:
        with Progress(*columns, console=notes, transient=True) as bar:
            task = bar.add_task("", total=len(checked), completed=len(done), figures="")
            meter = Meter(
                engine, follows_load=named.get("gamma") in FOLLOWING or not named.keys() & {"gamma", "verify"}
            )

            def watch(event: Event) -> None:
                meter.note(event)
                bar.update(task, completed=results.num_written, figures=meter.figures(bar.tasks[0].elapsed or 0.0))

            if address is None:
                found = run_requests(engine, left, models, watch, keep_going=keep_going)
            else:
                found = _spread(settings, shape, models, list(left.values()), keep_going)
            for request, entry in found:
                results.add(request.line, entry)
                if "error" in entry:
                    bad.append(BadLine(request.line, request.id, entry["error"]))
                elif address is not None:
                    meter.note_result(entry)
                bar.update(task, completed=results.num_written, figures=meter.figures(bar.tasks[0].elapsed or 0.0))
            seconds = bar.tasks[0].elapsed or 0.0
    except BaseException as error:
        so_far = f"{results.num_written} of {len(checked)} lines are in {output}"
        goes_on = "" if isinstance(error, OptionError) else "; the same command goes on from there"
        notes.print(f"{so_far}{goes_on}", markup=False)
        raise
    if left:
        count = f"{len(left)} request{'' if len(left) == 1 else 's'}"
        notes.print(f"{count}: {meter.figures(seconds)}{meter.verdict()}", markup=False, soft_wrap=True)
    if bad:
        raise PromptError(
            f"{len(bad)} of {len(checked)} lines of {requests} could not be used; the first is line {bad[0].line}: "
            f"{bad[0].problem}"
        )


class Meter:
    """What goes through an engine.

    Parameters
    ----------
    engine : Engine
    follows_load : bool
        Whether draft lengths follow the load already.
    """

    def __init__(self, engine: Engine, *, follows_load: bool) -> None:
        self._engine = engine
        self._way_out = "--draft none" if follows_load else "--gamma load, or --draft none"
        self._num_tokens = self._num_drafted = self._num_accepted = 0

    def note(self, event: Event) -> None:
        """Count an event in."""
        if isinstance(event, Emitted):
            self._num_tokens += len(event.token_ids)
        if isinstance(event, Verified):
            self._num_drafted += event.num_accepted + len(event.rejected)
            self._num_accepted += event.num_accepted

    def note_result(self, entry: Mapping[str, Any]) -> None:
        """Count in a request that was decoded elsewhere."""
        self._num_tokens += entry["num_tokens"]
        self._num_drafted += entry["num_draft_tokens"] or 0  # open where it follows time
        self._num_accepted += entry["num_accepted_tokens"] or 0

    def figures(self, seconds: float) -> str:
        """Return tokens per second, the share of drafts that were accepted, and rows per target forward here."""
        speed = self._num_tokens / seconds if seconds else 0.0
        accepted = f", {self._num_accepted / self._num_drafted:.0%} of drafts accepted" if self._num_drafted else ""
        forwards = self._engine.num_forwards
        rows = f", {self._engine.num_rows / forwards:.1f} rows per pass" if forwards else ""
        waited = f", {self._engine.num_preemptions} preemptions" if self._engine.num_preemptions else ""
        return f"{speed:.0f} tokens/s{accepted}{rows}{waited}"

    def verdict(self) -> str:
        """Return what speculation has brought here; nothing if that is not known, or nothing was drafted."""
        speedup = self._engine.load.speedup
        if speedup is None or not self._num_drafted:
            return ""
        loss = f", a loss. Try {self._way_out}" if speedup < _LOSS else ""
        return f"; drafts: about {speedup:.2f}x plain decoding{loss}"


def _spread(
    settings: Mapping[str, Any],
    shape: Mapping[str, Any],
    models: Mapping[str, Any],
    requests: Sequence[Request],
    keep_going: bool,
) -> Iterator[tuple[Request, dict[str, Any]]]:
    """Yield the results of requests that a cluster's workers decode, as many together on each as run together here.

    A worker is given several times as many, so that new ones begin where others end.
    """
    size = _ROUNDS * shape["max_running"]
    joblib = sweep_library("joblib")
    parallel = joblib.Parallel(n_jobs=-1, return_as="generator")
    chunks = [requests[i : i + size] for i in range(0, len(requests), size)]
    given = settings, shape, models, keep_going
    for finished in parallel(joblib.delayed(_run_chunk)(chunk, *given) for chunk in chunks):
        yield from finished


def _run_chunk(
    requests: Sequence[Request],
    settings: Mapping[str, Any],
    shape: Mapping[str, Any],
    models: Mapping[str, Any],
    keep_going: bool,
) -> list[tuple[Request, dict[str, Any]]]:
    engine = Engine(**settings, **shape)
    added, _ = add_requests(engine, requests)
    return list(run_requests(engine, added, models, lambda event: None, keep_going=keep_going))
