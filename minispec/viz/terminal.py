"""A run on a terminal: text that streams in, coloured by where each token comes from, and a short table at the end.

Colours are from the palette of Okabe and Ito, which colour-blind readers can tell apart; underlines tell the same
story without colour. Where there is no terminal, or NO_COLOR is set, rich leaves the colours out.
"""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Console
from rich.table import Table
from rich.text import Text

from minispec.analysis.compare import Comparison
from minispec.analysis.step_costs import StepCosts
from minispec.generation.events import Emitted, Event, Verified
from minispec.generation.guarantee import MEANING
from minispec.generation.result import Generation
from minispec.records import Source

STYLES: dict[Source, str] = {
    "accepted": "#56b4e9",
    "recovered": "#e69f00 underline",
    "bonus": "#009e73 underline2",
    "plain": "",
}
REJECTED_STYLE = "#cc79a7 strike"
PROMPT_STYLE = "bold"


def printable(text: str) -> str:
    """Make control characters visible: a model's text must not steer the reader's terminal."""
    return "".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text)


class TextView:
    """Writes the text of a run as its events arrive.

    Parameters
    ----------
    console : Console
        On a terminal the prompt comes first and sources are styled; elsewhere only the continuation is written, as it
        is.
    decode : callable
        Token ids to text, for rejected drafts.
    show_drafts : bool
        Show rejected drafts, struck through (between ``[-`` and ``-]`` where there is no terminal).
    """

    def __init__(self, console: Console, decode: Callable[[tuple[int, ...]], str], *, show_drafts: bool) -> None:
        self._console = console
        self._decode = decode
        self._show_drafts = show_drafts
        self._rejected: tuple[int, ...] = ()

    def begin(self, prompt: str) -> None:
        """Show the prompt, on a terminal."""
        if self._console.is_terminal:
            self._write(prompt, PROMPT_STYLE)

    def show(self, event: Event) -> None:
        """Write what an event adds."""
        if isinstance(event, Verified):
            self._rejected = event.rejected
        elif isinstance(event, Emitted):
            for piece in event.pieces:
                if piece.source not in ("accepted", "plain"):
                    self._strike_rejected()
                self._write(piece.text, STYLES[piece.source])
            self._strike_rejected()

    def end(self) -> None:
        """End the line."""
        self._console.file.write("\n")
        self._console.file.flush()

    def _strike_rejected(self) -> None:
        rejected, self._rejected = self._rejected, ()
        if self._show_drafts and rejected:
            text = self._decode(rejected)
            self._write(text if self._console.is_terminal else f"[-{text}-]", REJECTED_STYLE)

    def _write(self, text: str, style: str) -> None:
        if not self._console.is_terminal:
            self._console.file.write(text)
        elif text:
            self._console.print(Text(printable(text), style=style), end="", soft_wrap=True)
        self._console.file.flush()


def legend(*, show_drafts: bool) -> Text:
    """Return the legend of the token colours."""
    names: list[tuple[str, str]] = [(name, style) for name, style in STYLES.items() if style]
    if show_drafts:
        names.append(("rejected", REJECTED_STYLE))
    return Text("  ").join(Text(name, style=style) for name, style in names)


_WIDE = 72
"""Columns from which on the table has room for notes."""


def summary(generation: Generation, costs: StepCosts | None, comparison: Comparison | None, width: int) -> Table:
    """Return the table that ends a run; a terminal narrower than 72 columns gets it without notes."""
    metrics = generation.metrics
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", overflow="fold")
    table.add_column(justify="right", no_wrap=True)
    if width >= _WIDE:
        table.add_column(style="dim", overflow="fold")

    def row(name: str, value: str, note: str = "") -> None:
        table.add_row(*(name, value, note)[: len(table.columns)])

    stop = f" {generation.stop!r}" if generation.stop is not None else ""
    row("tokens", str(metrics.num_tokens), f"finished: {generation.finish_reason}{stop}")
    row("steps", str(metrics.num_steps), "target forwards after the prefill")
    if metrics.num_drafts and metrics.mean_acceptance_length is not None:
        row("mean acceptance length", f"{metrics.mean_acceptance_length:.2f}", "tokens per target forward (τ)")
        row(
            "draft acceptance rate",
            _percent(metrics.draft_acceptance_rate),
            f"{metrics.num_accepted_tokens} of {metrics.num_draft_tokens} drafted tokens",
        )
        row("α per evaluated position", _percent(metrics.alpha), "accepted / tested; not the same figure")
    row("time to first token", _milliseconds(metrics.ttft_s))
    row("time per output token", _milliseconds(metrics.tpot_s))
    if costs is not None and metrics.mean_acceptance_length is not None:
        row("cost ratio c", f"{costs.cost_ratio:.3f}", "time per drafted token / plain step")
        row("verify cost v", f"{costs.verify_cost:.2f}", "verifying forward in place of a one-row one, plain steps")
        if comparison is not None:
            row("overhead o", f"{costs.overhead:.2f}", "what else a step takes more than a plain one")
        predicted = costs.speedup(metrics.mean_acceptance_length)
        row("predicted speedup", f"{predicted:.2f}x", "τ / (γc + v + o)")
    if comparison is not None:
        low, high = comparison.speedup_range
        note = f"median of {comparison.repeats} alternations, {low:.2f}x to {high:.2f}x"
        row("measured speedup", f"{comparison.speedup:.2f}x", note)
        row("same tokens as plain", "yes" if comparison.same_tokens else "no", _sameness(generation, comparison))
    row("guarantee", generation.guarantee, MEANING[generation.guarantee])
    if not generation.reproducible:
        row("reproducible", "no", "γ followed measured time; --trace it and replay with --gamma replay:trace=FILE")
    return table


def _sameness(generation: Generation, comparison: Comparison) -> str:
    if generation.guarantee != "same-distribution":
        return "" if comparison.same_tokens else "the guarantee is broken: please report this"
    return "" if comparison.same_tokens else "expected: another draw from the same distribution"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f} %"


def _milliseconds(seconds: float | None) -> str:
    return "–" if seconds is None else f"{1000 * seconds:.2f} ms"
