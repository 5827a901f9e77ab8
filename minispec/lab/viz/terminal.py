"""A run on a terminal: text that streams in, coloured by where each token comes from, and a short table at the end.

Underlines and strokes tell the same story without colour. Where there is no terminal the text is written as it is;
where NO_COLOR is set, rich leaves the colours out.
"""

from __future__ import annotations

import itertools
import os
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

from rich.cells import cell_len, chop_cells
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from minispec.engine.colours import HUES, SHADES, Fate
from minispec.engine.generation.result import MEANING, Generation
from minispec.lab.explain.compare import Comparison, tokens_per_step
from minispec.lab.explain.step_costs import StepCosts
from minispec.lab.measure.record import acceptance_by_rank
from minispec.lab.trust import ROUNDING
from minispec.lab.viz.film import Film, Scene, Shot

Ground = Literal["light", "dark", "either"]
"""What a terminal's background is; *either* where it does not say."""

_LOOKS: Mapping[Fate, str] = {
    "prompt": "bold",
    "recovered": "underline",
    "bonus": "underline2",
    "rejected": "strike",
    "drafted": "italic",
}
_TAB = " " * 4
QUIET = SHADES["grey"].either
"""Of what is said in passing."""


def ground_of(environment: Mapping[str, str]) -> Ground:
    """Return the background that some terminals name in ``COLORFGBG``, as the last of its colour numbers.

    Examples
    --------
    >>> ground_of({"COLORFGBG": "15;0"}), ground_of({"COLORFGBG": "0;15"}), ground_of({})
    ('dark', 'light', 'either')
    """
    last = environment.get("COLORFGBG", "").rpartition(";")[2]
    if not re.fullmatch("[0-9]{1,2}", last):
        return "either"
    return "light" if last in ("7", "15") else "dark"


def style(fate: Fate, ground: Ground) -> str:
    """Return the style of text with this fate.

    Examples
    --------
    >>> style("recovered", "either") == SHADES["vermilion"].either + " underline"
    True
    """
    colour = getattr(SHADES[HUES[fate]], ground) if fate in HUES else ""
    return " ".join(filter(None, (colour, _LOOKS.get(fate, ""))))


def printable(text: str) -> str:
    """Make control characters visible: a model's text must not steer the reader's terminal."""
    return "".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text)


def breaks(line: str, width: int) -> list[int]:
    """Return where a line is broken, so that no row is wider than ``width`` and no word is cut that fits in a row.

    More text at the end moves no break but the last word's: rows before the last one never change.

    Examples
    --------
    >>> breaks("the quick brown fox", 10)
    [10]
    >>> breaks("incomprehensible", 10)
    [10]
    """
    places: list[int] = []
    column = 0
    for match in re.finditer(r"\S+\s*|\s+", line):
        word = match[0]
        bare = word.rstrip()
        if column and column + cell_len(bare) > width:
            places.append(match.start())
            column = 0
        rows = chop_cells(bare, width) if bare else []
        for row in rows[:-1]:
            places.append((places[-1] if column == 0 and places else match.start()) + len(row))
            column = 0
        column += cell_len(rows[-1] if rows else "") + cell_len(word[len(bare) :])
    return places


class TextView:
    """Writes the text of a run, scene by scene.

    On a terminal the prompt comes first, sources are styled and rows end between words; elsewhere only the
    continuation is written, as it is.

    Parameters
    ----------
    console : Console
    show_drafts : bool
        Keep rejected drafts, struck through (between ``[-`` and ``-]`` where there is no terminal).
    ground : {"light", "dark", "either"}
    sleep : callable
        Lets time pass between the moments of a scene.
    """

    def __init__(
        self,
        console: Console,
        *,
        show_drafts: bool,
        ground: Ground = "either",
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._console = console
        self._show_drafts = show_drafts
        self._ground: Ground = ground
        self._sleep = sleep
        self._styled = console.is_terminal and not console.is_dumb_terminal
        self._row = Text()  # what stands on the last row, or will
        self._live = Live(
            console=console,
            auto_refresh=False,
            redirect_stdout=False,
            redirect_stderr=False,
            vertical_overflow="visible",
        )

    def begin(self, prompt: str) -> None:
        """Show the prompt, on a terminal."""
        if self._styled:
            self._live.start()
            self._settle([(prompt, "prompt")])

    def play(self, scene: Scene) -> None:
        """Show a scene, at its own pace."""
        now_s = 0.0
        for moment in scene.moments():
            self._wait(moment - now_s)
            now_s = moment
            if self._styled and scene.length_s:
                self._redraw(self._row + self._text(_at(scene.shots, moment)))
        self._wait(scene.length_s - now_s)
        self._settle([(s.text, s.fate) for s in scene.shots if s.fate != "rejected" or self._show_drafts])

    def end(self) -> None:
        """End the last row."""
        if self._styled:
            self._live.stop()
        else:
            self._console.file.write("\n")
        self._console.file.flush()

    def _wait(self, seconds: float) -> None:
        if seconds > 0.0:
            self._sleep(seconds)

    def _settle(self, pieces: Iterable[tuple[str, Fate]]) -> None:
        """Write text that is there to stay."""
        if not self._styled:
            for rejected, group in itertools.groupby(pieces, lambda piece: piece[1] == "rejected"):
                text = "".join(piece for piece, _ in group)
                self._console.file.write(f"[-{text}-]" if rejected else text)
            self._console.file.flush()
            return
        *rows, self._row = _rows(self._row + self._text(pieces), self._console.width)
        for row in rows:
            self._live.console.print(_without_end_spaces(row), soft_wrap=True)
        self._redraw(self._row)

    def _redraw(self, volatile: Text) -> None:
        rows = [_without_end_spaces(row) for row in _rows(volatile, self._console.width)]
        self._live.update(Text("\n").join(rows), refresh=True)

    def _text(self, pieces: Iterable[tuple[str, Fate]]) -> Text:
        return styled_text(pieces, self._ground)


def styled_text(pieces: Iterable[tuple[str, Fate]], ground: Ground) -> Text:
    """Return pieces of text in the looks of their fates; drafts have their line breaks as signs."""
    text = Text()
    for piece, fate in pieces:
        shown = printable(piece).replace("\t", _TAB)
        text.append(shown.replace("\n", "↵") if fate in ("drafted", "rejected") else shown, style(fate, ground))
    return text


def _at(shots: Sequence[Shot], moment_s: float) -> list[tuple[str, Fate]]:
    return [(shot.text, fate) for shot in shots if (fate := shot.fate_at(moment_s)) is not None]


def _rows(text: Text, width: int) -> list[Text]:
    """Return the rows that text takes; the last one may be empty."""
    lines = text.split("\n", allow_blank=True) or [Text()]
    return [row for line in lines for row in line.divide(breaks(line.plain, width))]


def _without_end_spaces(row: Text) -> Text:
    shorter = row.copy()
    shorter.rstrip()
    return shorter


_LEGEND: Sequence[tuple[Fate, str]] = (
    ("accepted", ": the draft model guessed it and the target agrees; "),
    ("recovered", ": the target corrects a wrong guess; "),
    ("bonus", ": one more from the target, for free, after a draft that was right throughout"),
)


def legend(ground: Ground, *, show_drafts: bool) -> Text:
    """Return a sentence that explains the colours, for the line above the text."""
    sentence = Text()
    for fate, meaning in _LEGEND:
        sentence.append(fate, style(fate, ground)).append(meaning)
    if show_drafts:
        sentence.append("; ").append("rejected", style("rejected", ground)).append(": a wrong guess")
    return sentence.append(".")


class RaceView:
    """Two runs side by side on one clock, each with its counters.

    Parameters
    ----------
    console : Console
    films : mapping of str to Film
        By title.
    prompt : str
    factor : float
        How many times slower than in reality the films are.
    ground : {"light", "dark", "either"}
    """

    def __init__(
        self, console: Console, films: Mapping[str, Film], prompt: str, factor: float, ground: Ground = "either"
    ) -> None:
        self._console = console
        self._films = films
        self._prompt = prompt
        self._factor = factor
        self._ground: Ground = ground

    def play(self, sleep: Callable[[float], None] = time.sleep) -> None:
        """Show the race; where there is no terminal, its end."""
        moments = sorted({moment for film in self._films.values() for moment in film.moments()})
        if not self._console.is_terminal or self._console.is_dumb_terminal:
            self._console.print(self.at(moments[-1] if moments else 0.0, height=None, rejected=False))
            return
        with Live(console=self._console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False) as live:
            now_s = 0.0
            for moment in moments:
                sleep(moment - now_s)
                now_s = moment
                live.update(self.at(moment, self._console.height - 1), refresh=True)
            live.update(self.at(now_s, height=None), refresh=True)

    def at(self, moment_s: float, height: int | None, *, rejected: bool = True) -> Table | Group:
        """Return what is to be seen at a moment, in at most ``height`` rows; rejected drafts only if asked for."""
        beside = self._console.width >= _WIDE
        width = (self._console.width - 3) // 2 if beside else self._console.width
        shown = None if height is None else max(1, (height if beside else height // 2) - 3)
        cells = [self._cell(title, film, moment_s, width, shown, rejected) for title, film in self._films.items()]
        if not beside:
            return Group(*cells)
        table = Table.grid(padding=(0, 3, 0, 0))
        for _ in cells:
            table.add_column(width=width)
        table.add_row(*cells)
        return table

    def _cell(self, title: str, film: Film, moment_s: float, width: int, shown: int | None, rejected: bool) -> Group:
        tokens, forwards = film.counts_at(moment_s)
        seconds = min(moment_s, film.length_s) / self._factor
        done = " ✓" if moment_s >= film.length_s else ""
        there = [(text, fate) for text, fate in film.at(moment_s) if rejected or fate != "rejected"]
        rows = _rows(styled_text([(self._prompt, "prompt"), *there], self._ground), width)
        text = Text("\n").join(_without_end_spaces(row) for row in rows[-shown if shown else 0 :])
        counters = Text(f"{tokens} tokens, {forwards} target passes, {1e3 * seconds:.0f} ms{done}", "bold")
        return Group(Text(title, "bold underline"), counters, text, Text())


def ground() -> Ground:
    """Return what this process's terminal says of its background."""
    return ground_of(os.environ)


GLOSSARY = "docs/glossary.md"
"""Where the figures are explained, in a clone."""
_WIDE = 72
"""Columns from which on the table has room for notes."""


_WITHHELD = "withheld: no machine gives this figure; see below"


Facts = list[tuple[str, str, str]]
"""Names, values and remarks."""


def summary(facts: Facts, width: int, ground: Ground = "either") -> Table:
    """Return the table that ends a run; a terminal narrower than 72 columns gets it without remarks."""
    quiet = getattr(SHADES["grey"], ground)
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style=quiet, overflow="fold")
    table.add_column(justify="right", no_wrap=True)
    if width >= _WIDE:
        table.add_column(style=quiet, overflow="fold")
    for row in facts:
        table.add_row(*(Text(cell) for cell in row[: len(table.columns)]))
    return table


def facts(generation: Generation, costs: StepCosts | None = None, comparison: Comparison | None = None) -> Facts:
    """Return what there is to say about a run."""
    metrics = generation.metrics
    rows: Facts = []

    def row(name: str, value: str, note: str = "") -> None:
        rows.append((name, value, note))

    stop = f" {generation.stop!r}" if generation.stop is not None else ""
    row("tokens", str(metrics.num_tokens), f"finished: {generation.finish_reason}{stop}")
    row("steps", str(metrics.num_steps), "target passes after the prefill")
    if metrics.num_drafts and metrics.mean_acceptance_length is not None:
        row("mean acceptance length", f"{metrics.mean_acceptance_length:.2f}", "tokens per target pass (τ)")
        row(
            "draft acceptance rate",
            _percent(metrics.draft_acceptance_rate),
            f"{metrics.num_accepted_tokens} of {metrics.num_draft_tokens} drafted tokens",
        )
        row("α per evaluated position", _percent(metrics.alpha), "accepted / tested; not the same figure")
    if by_rank := acceptance_by_rank(generation.steps):
        value = "/".join(f"{share:.2f}" for share in by_rank)
        row("acceptance by rank", value, "of siblings, in their order; what tree:shape=sequoia takes as acceptance=")
    row("time to first token", _milliseconds(metrics.ttft_s))
    row("time per output token", _milliseconds(metrics.tpot_s))
    tau = tokens_per_step(generation, comparison)
    if costs is not None and tau is not None:
        row("cost ratio c", f"{costs.cost_ratio:.3f}", "time per drafted token / plain step")
        possible = costs.verify_cost >= 1.0 - ROUNDING
        note = "a verifying pass in place of a one-row one, plain steps"
        row("verify cost v", f"{costs.verify_cost:.2f}" if possible else "–", note if possible else _WITHHELD)
        if comparison is not None:
            row("overhead o", f"{costs.overhead:.2f}", "what else a step takes more than a plain one")
        predicted = costs.speedup(tau)
        possible = possible and predicted <= tau * (1.0 + ROUNDING)
        formula = "τ / (γc + v + o)" if comparison is not None else "τ / (γc + v); --compare measures o, too"
        row("predicted speedup", f"{predicted:.2f}x" if possible else "–", formula if possible else _WITHHELD)
    if comparison is not None:
        low, high = comparison.speedup_range
        note = f"median of {comparison.repeats} alternations, {low:.2f}x to {high:.2f}x"
        possible = tau is None or comparison.speedup <= tau * (1.0 + ROUNDING)
        row("measured speedup", f"{comparison.speedup:.2f}x" if possible else "–", note if possible else _WITHHELD)
        row("same tokens as plain", "yes" if comparison.same_tokens else "no", _sameness(generation, comparison))
    row("guarantee", generation.guarantee, MEANING[generation.guarantee])
    if not generation.reproducible:
        row("reproducible", "no", "γ followed measured time; --trace it and replay with --gamma replay:trace=FILE")
    return rows


def brief(found: Facts) -> Facts:
    """Return the four lines that a first reader needs: τ, the speedup, the guarantee, and where to read on.

    Parameters
    ----------
    found : list of tuple
        What :func:`facts` returned.
    """
    rows = {row[0]: row for row in found}
    speedup = rows.get("measured speedup", ("speedup", "–", "nothing was drafted; drafts are on without --draft none"))
    if "predicted speedup" in rows and "measured speedup" not in rows:
        name, value, note = rows["predicted speedup"]
        speedup = (name, value, note if note == _WITHHELD else "from this run; --compare measures it")
    kept = [rows.get("mean acceptance length", rows["time per output token"]), speedup, rows["guarantee"]]
    kept += [rows["reproducible"]] if "reproducible" in rows else []
    return [*kept, ("read on", GLOSSARY, "what these lines mean; --details prints all figures")]


def _sameness(generation: Generation, comparison: Comparison) -> str:
    if generation.guarantee != "same-distribution":
        return "" if comparison.same_tokens else "the guarantee is broken: please report this"
    return "" if comparison.same_tokens else "expected: another draw from the same distribution"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f} %"


def _milliseconds(seconds: float | None) -> str:
    return "–" if seconds is None else f"{1000 * seconds:.2f} ms"
