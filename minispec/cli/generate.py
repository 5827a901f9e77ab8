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
from minispec.analysis.measure import Costs, costs, target_row_seconds
from minispec.backends import BACKENDS
from minispec.cli.options import ModelName, option
from minispec.errors import OutputError, PromptError
from minispec.generation import Generation, Options, Stream, stream
from minispec.generation.events import Event, to_dict
from minispec.generation.options import DEFAULT_DRAFT, DEFAULT_TARGET
from minispec.loading import load_model
from minispec.loading.folder import DTYPES
from minispec.viz.terminal import TextView, legend, summary

_DEFAULTS = Options()


@click.command()
@click.argument("prompt")
@option(
    "--target",
    type=ModelName(),
    default=DEFAULT_TARGET,
    help="The model whose text you want: a folder, a bundled name or a hub name.",
)
@option(
    "--draft",
    type=ModelName(),
    default=DEFAULT_DRAFT,
    help="The model that proposes tokens, named likewise; `none` decodes plainly.",
)
@option("--gamma", type=int, default=_DEFAULTS.gamma, help="Tokens to draft per step.")
@option("--temperature", type=float, default=_DEFAULTS.temperature, help="0 is greedy.")
@option("--top-k", type=int, default=_DEFAULTS.top_k, help="Keep the k likeliest tokens; 0 keeps all.")
@option("--top-p", type=float, default=_DEFAULTS.top_p, help="Keep the likeliest tokens up to this mass.")
@option(
    "--min-p", type=float, default=_DEFAULTS.min_p, help="Keep tokens at least this times as likely as the likeliest."
)
@option("--max-tokens", type=int, default=_DEFAULTS.max_tokens, help="Tokens to emit at most.")
@option(
    "--stop",
    multiple=True,
    envvar=None,
    show_default="none",
    help="End the text just before this string; may be repeated.",
)
@option("--seed", type=int, default=_DEFAULTS.seed, help="The same seed and options give the same text.")
@option("--backend", type=click.Choice(BACKENDS), default=BACKENDS[0], help="What computes the forward.")
@option("--dtype", type=click.Choice(DTYPES), default=DTYPES[0], help="In what the target's weights are kept.")
@option(
    "--draft-dtype",
    type=click.Choice(DTYPES),
    default=None,
    show_default="that of --dtype",
    help="The same for the draft.",
)
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
    target: str,
    draft: str,
    backend: str,
    dtype: str,
    draft_dtype: str | None,
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
    text = _prompt(prompt)
    Options(**options)  # a nonsense flag is refused before anything is loaded
    notes = Console(stderr=True, quiet=quiet, highlight=False)
    with _trace_file(trace) as trace_events:
        with notes.status("loading models …"):
            target_model = load_model(target, backend, dtype)
            draft_model = None if draft == "none" else load_model(draft, backend, draft_dtype or dtype)
        with notes.status("compiling kernels (only the first run takes seconds) …"):
            target_model.backend.warm_up()

        def start(speculating: bool = True) -> Stream:
            return stream(text, target=target_model, draft=draft_model if speculating else None, **options)

        events = start()
        generation = _show(events, text, trace_events, show_drafts=show_drafts, silent=as_json)
        run_costs = _costs(events)
        comparison = None
        if comparing and draft_model is not None:
            with notes.status("comparing with plain decoding …"):
                comparison = compare(lambda: start(speculating=False).run(), lambda: start().run())
    if as_json:
        click.echo(json.dumps(_report(generation, run_costs, comparison), ensure_ascii=False))
    elif not quiet:
        if notes.is_terminal and generation.metrics.num_drafts:
            notes.print(legend(show_drafts=show_drafts))
        notes.print(summary(generation, run_costs, comparison))


def _costs(events: Stream) -> Costs | None:
    """Relate the finished run's times to a one-row forward of its target, measured now at the same length."""
    metrics = events.generation.metrics
    return costs(metrics, target_row_seconds(events.target, events.tokens[-1])) if metrics.num_drafts else None


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


def _report(generation: Generation, run_costs: Costs | None, comparison: Comparison | None) -> dict[str, Any]:
    report = generation.to_dict()
    report["metrics"]["costs"] = None if run_costs is None else asdict(run_costs)
    report["comparison"] = None if comparison is None else asdict(comparison)
    return report


def _prompt(argument: str) -> str:
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
