"""``minispec generate``: the main job."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from minispec.cli.options import FileName, check_spared, generation_options
from minispec.cli.pair import Pair
from minispec.cli.sections import Command
from minispec.engine.generation import Generation, Stream
from minispec.engine.generation.events import Event
from minispec.errors import OptionError, PromptError
from minispec.lab.explain.compare import Comparison, advise, compare, doubts_of_run
from minispec.lab.explain.step_costs import StepCosts, costs_of_run
from minispec.lab.measure.record import acceptance_by_rank
from minispec.lab.timer import target_row_seconds
from minispec.lab.trust import least_cost_ratio, sentence
from minispec.lab.viz.film import READING_SPEED, Scene, at_once, race, reading, scenes
from minispec.lab.viz.terminal import Facts, RaceView, TextView, brief, facts, ground, legend, summary


@click.command(cls=Command)
@click.argument("prompt")
@generation_options
@click.option(
    "--compare",
    "comparing",
    is_flag=True,
    help="Run plain decoding too, alternating with speculation, and print the speedup.",
)
@click.option("--show-drafts", is_flag=True, help="Show rejected drafts, struck through; of trees, a picture too.")
@click.option("--slow", is_flag=True, help="Show each step at reading speed: the drafts, the verdict, the correction.")
@click.option("--race", "racing", is_flag=True, help="Decode plainly too, and show both side by side in slow motion.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else on stdout.")
@click.option("--trace", type=FileName(), help="Write every event to this file, a JSON object per line.")
@click.option("--details", is_flag=True, help="Print all figures of the run after the text, not only four lines.")
@click.option("--quiet", is_flag=True, help="Print the text and nothing else.")
def generate(
    prompt: str,
    comparing: bool,
    show_drafts: bool,
    slow: bool,
    racing: bool,
    as_json: bool,
    trace: Path | None,
    details: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Continue PROMPT ("-" reads it from standard input).

    The draft model proposes, the target model verifies; the text is distributed exactly as the target's own. It goes
    to stdout, everything else to stderr. On a terminal, the prompt is shown too, and tokens are coloured by source.
    """
    _check_looks(slow=slow, racing=racing, as_json=as_json, show_drafts=show_drafts)
    if details and (quiet or as_json):
        flag = "--quiet" if quiet else "--json"
        raise OptionError(
            f"--details prints figures after the text, and {flag} prints none there. Leave one of them out"
        )
    if racing or comparing:
        _check_comparison("a race" if racing else "--compare", options, quiet=quiet and not as_json)
    check_spared({"--trace": trace}, options)
    text = read_prompt(prompt)
    if quiet:
        os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")  # a model by hub name may be downloaded
    notes = Console(stderr=True, quiet=quiet, highlight=False)
    out = Console(highlight=False)
    seen: list[Event] = []
    with _recorder(trace, seen) as record:
        pair = Pair.load(options, notes, logprobs=as_json or trace is not None)
        events = pair.start(text)
        recorded = record(events)
        if not as_json and out.is_terminal and pair.speculates:
            notes.print(legend(ground(), show_drafts=show_drafts or slow or racing))
        try:
            if as_json:
                for _ in recorded:
                    pass
            elif racing:
                _race(pair, text, events, recorded, out)
            else:
                pace = reading(READING_SPEED) if slow else at_once
                _show(scenes(recorded, events.decode, pace), text, out, show_drafts=show_drafts or slow)
        except KeyboardInterrupt:
            if not as_json:
                _show_facts(facts(events.generation), notes, details=details)
            raise
        generation = events.generation
        simulated = getattr(events.drafter, "simulated_cost", None)
        run_costs = _costs(events, simulated)
        comparison = None
        if comparing:
            with notes.status("comparing with plain decoding …"):
                comparison = compare(lambda: pair.start(text, plain=True).run(), lambda: pair.start(text).run())
            if comparison is not None and comparison.costs is not None and simulated is None:
                run_costs = comparison.costs
    doubts = doubts_of_run(generation, run_costs, comparison, least_cost_ratio(pair.target, pair.draft))
    if as_json:
        click.echo(json.dumps(_report(generation, run_costs, comparison, doubts)))
    elif not quiet:
        if show_drafts or slow:
            _show_tree(seen, events, notes)
        _show_facts(facts(generation, run_costs, comparison), notes, details=details)
        if doubts:
            notes.print(sentence(doubts), markup=False)
        elif (warning := _find_broken(seen)) is not None:
            notes.print(warning, markup=False, soft_wrap=True)
        elif (advice := advise(generation, run_costs, comparison)) is not None:
            notes.print(advice, markup=False)


def _show_facts(found: Facts, notes: Console, *, details: bool) -> None:
    """Print the figures of a run: all of them, or what a first reader needs."""
    notes.print(summary(found if details else brief(found), notes.width))


def _find_broken(seen: list[Event]) -> str | None:
    """Return what is wrong with the draft of a run, if anything is."""
    from minispec.engine.generation.broken import Watch

    watch = Watch()
    watch.read(seen)
    return watch.warning


def _check_looks(*, slow: bool, racing: bool, as_json: bool, show_drafts: bool) -> None:
    """Refuse ways of showing a run that do not go together."""
    asked = [flag for flag, there in (("--slow", slow), ("--race", racing), ("--json", as_json)) if there]
    if len(asked) > 1:
        raise OptionError(f"{' and '.join(asked)} are ways to show one run; choose one. Leave {asked[-1]} out")
    if as_json and show_drafts:
        raise OptionError("--show-drafts is for a text, and --json prints an object. Leave one out, or write a --trace")


def _check_comparison(name: str, options: Mapping[str, Any], *, quiet: bool) -> None:
    """Refuse to compare with plain decoding where there is nothing to compare, or it would not be shown."""
    if options["draft"] == "none":
        raise OptionError(f"{name} needs a draft, and --draft is 'none'. Try --draft ngram")
    if options["max_tokens"] < 2:
        raise OptionError(
            f"{name} needs tokens after the first, which is drawn plainly, and max-tokens is {options['max_tokens']}. "
            "Try --max-tokens 64"
        )
    if quiet:
        raise OptionError(f"{name} shows more than the text, and --quiet prints nothing else. Leave one of them out")


def _costs(events: Stream, simulated: float | None) -> StepCosts | None:
    """Relate the finished run's times to a one-row forward of its target, measured now at the same length."""
    metrics = events.generation.metrics
    if not metrics.num_drafts:
        return None
    return costs_of_run(metrics, target_row_seconds(events.target, events.tokens[-1]), simulated)


def _record(events: Stream, write: Callable[[Event], None] | None, seen: list[Event]) -> Iterator[Event]:
    """Yield the events, remember them, and write them down."""
    for event in events:
        seen.append(event)
        if write is not None:
            write(event)
        yield event


def _show_tree(seen: list[Event], events: Stream, notes: Console) -> None:
    """Draw the tree of which the target kept the longest path, if a tree was drafted."""
    from minispec.lab.viz.trees import draw_tree, find_longest

    if (longest := find_longest(seen)) is not None:
        notes.print(f"The tree of step {longest[0].step}, of which the target kept the longest path:")
        notes.print(draw_tree(*longest, events.decode, ground()))


def _show(run: Iterator[Scene], prompt: str, out: Console, *, show_drafts: bool) -> None:
    view = TextView(out, show_drafts=show_drafts, ground=ground())
    view.begin(prompt)
    try:
        for scene in run:
            view.play(scene)
    finally:
        view.end()


def _race(pair: Pair, prompt: str, events: Stream, recorded: Iterator[Event], out: Console) -> None:
    """Run to the end, then plainly, and show both on one clock."""
    taken = tuple(recorded)
    plain = pair.start(prompt, plain=True)
    plainly = tuple(plain)
    films, factor = race(plainly, plain.generation, taken, events.decode, READING_SPEED)
    RaceView(out, films, prompt, factor, ground()).play()
    spent_s, plain_s = events.generation.metrics.decode_s, plain.generation.metrics.decode_s
    if spent_s > 0.0 and plain.generation.metrics.num_decode_tokens:
        tokens = events.generation.metrics.num_decode_tokens / plain.generation.metrics.num_decode_tokens
        out.print(f"this race: {tokens * plain_s / spent_s:.2f}x as many tokens per second as plain decoding")


def _report(
    generation: Generation, run_costs: StepCosts | None, comparison: Comparison | None, doubts: list[str]
) -> dict[str, Any]:
    report = generation.to_dict()
    report["metrics"]["costs"] = None if run_costs is None else asdict(run_costs)
    report["comparison"] = None if comparison is None else asdict(comparison)
    report["acceptance_by_rank"] = list(acceptance_by_rank(generation.steps))
    report["doubts"] = doubts
    return report


def read_prompt(argument: str) -> str:
    """Return the prompt as text; one newline at the end of standard input belongs to the shell, not to the prompt."""
    try:
        if argument == "-":
            if sys.stdin is None:  # `<&-`
                raise PromptError("standard input is closed, and the prompt is to be read from it. Pipe a text into it")
            # Some programs begin a text with a byte order mark.
            return sys.stdin.buffer.read().decode("utf-8-sig").removesuffix("\n").removesuffix("\r")
        # The shell hands bytes over as lone surrogates where they are not in its encoding, which may not be UTF-8.
        return argument.encode("utf-8", "surrogateescape").decode("utf-8")
    except UnicodeError as error:
        raise PromptError(f"the prompt is not UTF-8 ({error}). Convert it, for example with iconv") from None


@contextlib.contextmanager
def _recorder(path: Path | None, seen: list[Event]) -> Iterator[Callable[[Stream], Iterator[Event]]]:
    """Yield what passes a run's events on, remembers them, and writes them to a file if there is one."""
    if path is None:
        yield lambda events: _record(events, None, seen)
        return
    runs: list[Iterator[Event]] = []
    left: BaseException | None = None
    from minispec.engine.files import open_whole
    from minispec.engine.generation.trace import to_line

    with open_whole(path) as file:

        def record(events: Stream) -> Iterator[Event]:
            runs.append(_record(events, lambda event: print(to_line(event, events.decode), file=file), seen))
            return runs[-1]

        try:
            yield record
        except (BrokenPipeError, SystemExit) as error:  # Rich makes the other of the one
            if not runs:
                raise
            left = error  # who read the text has left; the trace is for another reader, who gets all of it
            for _ in runs[0]:
                pass
    if left is not None:
        raise left
