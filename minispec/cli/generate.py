"""``minispec generate``: the main job."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

import click
from rich.console import Console

from minispec.analysis.compare import Comparison, compare
from minispec.analysis.step_costs import StepCosts, costs_of_run
from minispec.analysis.timer import target_row_seconds
from minispec.cli.options import generation_options
from minispec.cli.pair import Pair
from minispec.errors import OutputError, PromptError
from minispec.generation import Generation, Stream
from minispec.generation.events import Event, to_dict
from minispec.viz.terminal import TextView, legend, summary


@click.command()
@click.argument("prompt")
@generation_options
@click.option(
    "--compare", "comparing", is_flag=True, help="Measure plain decoding too, in turns, and print the speedup."
)
@click.option("--show-drafts", is_flag=True, help="Show rejected drafts, struck through.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else on stdout.")
@click.option(
    "--trace", type=click.Path(path_type=Path), help="Write every event to this file, a JSON object per line."
)
@click.option("--quiet", is_flag=True, help="Print the text and nothing else.")
def generate(
    prompt: str,
    comparing: bool,
    show_drafts: bool,
    as_json: bool,
    trace: Path | None,
    quiet: bool,
    **options: Any,
) -> None:
    """Continue PROMPT ("-" reads it from standard input).

    The draft model proposes, the target model verifies; the text is distributed exactly as the target's own. It goes
    to stdout, everything else to stderr. On a terminal the prompt is shown too and tokens are coloured by source.
    """
    text = read_prompt(prompt)
    if quiet:
        os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")  # a model by hub name may be downloaded
    notes = Console(stderr=True, quiet=quiet, highlight=False)
    with _trace_file(trace) as trace_events:
        pair = Pair.load(options, notes, logprobs=as_json or trace is not None)
        events = pair.start(text)
        generation = _show(events, text, trace_events, show_drafts=show_drafts, silent=as_json)
        simulated = getattr(events.drafter, "simulated_cost", None)
        run_costs = _costs(events, simulated)
        comparison = None
        if comparing and pair.speculates:
            with notes.status("comparing with plain decoding …"):
                comparison = compare(lambda: pair.start(text, plain=True).run(), lambda: pair.start(text).run())
            if comparison is not None and comparison.costs is not None and simulated is None:
                run_costs = comparison.costs
    if as_json:
        click.echo(json.dumps(_report(generation, run_costs, comparison), ensure_ascii=False))
    elif not quiet:
        if notes.is_terminal and generation.metrics.num_drafts:
            notes.print(legend(show_drafts=show_drafts))
        notes.print(summary(generation, run_costs, comparison, notes.width))


def _costs(events: Stream, simulated: float | None) -> StepCosts | None:
    """Relate the finished run's times to a one-row forward of its target, measured now at the same length."""
    metrics = events.generation.metrics
    if not metrics.num_drafts:
        return None
    return costs_of_run(metrics, target_row_seconds(events.target, events.tokens[-1]), simulated)


def _show(
    events: Stream, prompt: str, trace_events: Callable[[Event], None], *, show_drafts: bool, silent: bool
) -> Generation:
    """Consume the events; Ctrl-C ends the text and leaves what there is."""
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]  # a terminal without UTF-8 still gets text
    view = TextView(Console(highlight=False), events.decode, show_drafts=show_drafts)
    if not silent:
        view.begin(prompt)
    try:
        for event in events:
            trace_events(event)
            if not silent:
                view.show(event)
    finally:
        if not silent:
            view.end()
    return events.generation


def _report(generation: Generation, run_costs: StepCosts | None, comparison: Comparison | None) -> dict[str, Any]:
    report = generation.to_dict()
    report["metrics"]["costs"] = None if run_costs is None else asdict(run_costs)
    report["comparison"] = None if comparison is None else asdict(comparison)
    return report


def read_prompt(argument: str) -> str:
    """Return the prompt as text; one newline at the end of standard input belongs to the shell, not to the prompt."""
    try:
        if argument == "-":
            return sys.stdin.buffer.read().decode("utf-8").removesuffix("\n").removesuffix("\r")
        argument.encode("utf-8")  # the shell hands bytes that are not UTF-8 over as lone surrogates
    except UnicodeError as error:
        raise PromptError(f"the prompt is not UTF-8 ({error}). Convert it, for example with iconv") from None
    return argument


@contextlib.contextmanager
def _trace_file(path: Path | None) -> Iterator[Callable[[Event], None]]:
    """Yield a function that writes events; the file appears under its name only when all of it is there."""
    if path is None:
        yield lambda event: None
        return
    partial = path.with_name(path.name + ".partial")
    try:
        file: TextIO = partial.open("w", encoding="utf-8")
    except OSError as error:
        raise OutputError(
            f"--trace {path} cannot be written ({error.strerror}). Name a file in a writable folder"
        ) from None
    try:
        with file:
            yield lambda event: print(json.dumps(to_dict(event), ensure_ascii=False), file=file)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
