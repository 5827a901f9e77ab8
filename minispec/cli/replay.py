"""``minispec replay``: a recorded run at reading speed."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console, RenderableType

from minispec.cli.options import FileName, Speed
from minispec.cli.sections import Command
from minispec.engine.files import check_apart, check_writable, write_text
from minispec.engine.generation.trace import Trace, read_trace
from minispec.errors import OptionError
from minispec.lab.viz.film import READING_SPEED, Film, race, reading, scenes
from minispec.lab.viz.page import WIDTH, to_html, to_svg
from minispec.lab.viz.terminal import RaceView, TextView, facts, ground, legend, styled_text, summary


@click.command(cls=Command)
@click.argument("run", type=FileName())
@click.option(
    "--speed",
    type=Speed(),
    default=f"{READING_SPEED:g}/s",
    show_default=True,
    help="Show this many tokens per second, drafted ones included; with --race, the speed of plain decoding.",
)
@click.option(
    "--race",
    "plain_run",
    type=FileName(),
    metavar="PLAIN",
    help="Show this recording of plain decoding (--draft none) beside RUN, on the same clock.",
)
@click.option("--html", "html_file", type=FileName(), help="Write an HTML page that plays the run instead.")
@click.option("--svg", "svg_file", type=FileName(), help="Write a picture of the finished run instead.")
def replay(run: Path, speed: float, plain_run: Path | None, html_file: Path | None, svg_file: Path | None) -> None:
    """Show RUN, a file that `minispec generate --trace RUN` wrote, at reading speed.

    Drafts appear first; the target's verdict turns them solid or strikes them out, and then its own token appears. No
    model is needed.
    """
    for path in (html_file, svg_file):
        check_writable(path)
    check_apart({"RUN": run, "--html": html_file, "--svg": svg_file})
    if plain_run is not None:
        check_apart({"--race": plain_run, "--html": html_file, "--svg": svg_file})
    trace = read_trace(run)
    generation = trace.generation
    title = f"minispec: {generation.options.get('target')}, drafts by {generation.options.get('draft')}"
    found = facts(generation)
    films, factor = {"": Film.of(scenes(trace.events, trace.decode, reading(speed)))}, 1.0
    if plain_run is not None:
        plain = read_trace(plain_run)
        _check_race(trace, plain, plain_run)
        films, factor = race(plain.events, plain.generation, trace.events, trace.decode, speed)
    if html_file is not None:
        write_text(html_file, to_html(title, generation.prompt, films, found))
    if svg_file is not None:
        write_text(svg_file, _picture(title, generation.prompt, films, factor, found, racing=plain_run is not None))
    if html_file is not None or svg_file is not None:
        return
    out, notes = Console(highlight=False), Console(stderr=True, highlight=False)
    if out.is_terminal:
        notes.print(legend(ground(), show_drafts=True))
    try:
        if plain_run is not None:
            RaceView(out, films, generation.prompt, factor, ground()).play()
        else:
            _play(trace, speed, out)
    finally:
        notes.print(summary(found, notes.width))


def _play(trace: Trace, speed: float, out: Console) -> None:
    view = TextView(out, show_drafts=True, ground=ground())
    view.begin(trace.generation.prompt)
    try:
        for scene in scenes(trace.events, trace.decode, reading(speed)):
            view.play(scene)
    finally:
        view.end()


def _check_race(trace: Trace, plain: Trace, plain_run: Path) -> None:
    if plain.generation.metrics.num_draft_tokens:
        raise OptionError(f"{plain_run} has drafts; a race is against plain decoding. Record it with --draft none")
    if plain.generation.prompt != trace.generation.prompt:
        raise OptionError(f"{plain_run} continues another prompt. Record both with the same one")


def _picture(
    title: str, prompt: str, films: dict[str, Film], factor: float, found: list[tuple[str, str, str]], *, racing: bool
) -> str:
    if racing:
        view = RaceView(Console(width=WIDTH), films, prompt, factor, "dark")
        text: RenderableType = view.at(max(film.length_s for film in films.values()), height=None)
    else:
        (film,) = films.values()
        text = styled_text([(prompt, "prompt"), *film.at(film.length_s)], "dark")
    return to_svg(title, [legend("dark", show_drafts=True), text, summary(found, WIDTH, "dark")])
