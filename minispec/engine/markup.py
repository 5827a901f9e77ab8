"""HTML: a run in a notebook, and the pages and boxes that other parts show.

A notebook does not say whether it is light or dark, so what is coloured brings its own paper with it. Underlines and
strokes tell the same story without colour.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Sequence

from minispec.engine.colours import HUES, INK, PAPER, SHADES, Fate
from minispec.engine.records import Source, Step

_SHEET = f"background:{PAPER};color:{INK.light};padding:.2em .5em"
LINES: dict[Fate, str] = {
    "prompt": "font-weight:bold",
    "recovered": "text-decoration:underline",
    "bonus": "text-decoration:underline double",
    "rejected": "text-decoration:line-through",
    "unseen": "text-decoration:line-through",
    "drafted": "font-style:italic",
}
"""What tells fates apart without colour."""

MEANINGS: dict[Fate, str] = {
    "accepted": "drafted and accepted",
    "recovered": "the target's, after a rejection",
    "bonus": "the target's, after full acceptance",
    "rejected": "drafted and rejected",
    "unseen": "drafted after a rejection",
}
"""What each fate of a token is. *Unseen* drafts: the target computed their rows, nobody looked at them."""


def css(fate: Fate) -> str:
    """Return the CSS of text with this fate, on light paper.

    Examples
    --------
    >>> css("prompt"), css("plain")
    ('font-weight:bold', '')
    """
    colour = f"color:{SHADES[HUES[fate]].light}" if fate in HUES else ""
    return ";".join(filter(None, (colour, LINES.get(fate, ""))))


def span(text: str, fate: Fate) -> str:
    """Return text in the look of its fate."""
    return f'<span style="{css(fate)}">{html.escape(text)}</span>'


def generation_html(prompt: str, pieces: Iterable[tuple[str, Source]], facts: Sequence[str]) -> str:
    """Return a run as a notebook shows it: prompt, text by source, what the colours mean, and facts below.

    Parameters
    ----------
    prompt : str
    pieces : iterable of (str, Source)
    facts : sequence of str
    """
    text = "".join(span(piece, source) for piece, source in pieces)
    legend = [span(name, name) for name in HUES if name in ("accepted", "recovered", "bonus")]
    below = " · ".join([*legend, *map(html.escape, facts)])
    written = f'<div style="white-space:pre-wrap">{html.escape(prompt)}{text}</div>'
    return f'<div style="{_SHEET}">{written}<small>{below}</small></div>'


_CHIP = "display:inline-block;border-radius:4px;padding:0 .25em;margin:.1em .05em;white-space:pre;border-bottom:3px "
_EDGES: dict[Fate, str] = {"accepted": "solid", "recovered": "double", "bonus": "dotted"}


def _chip(text: str, fate: Fate) -> str:
    hue = SHADES[HUES[fate]].light if fate in HUES else ""
    edge = f"{_EDGES[fate]} {hue};background:{hue}18" if fate in _EDGES else "solid transparent"
    look = css(fate) if fate in ("rejected", "unseen") else f"color:{INK.light}"
    return f'<span style="{_CHIP}{edge};{look}">{html.escape(text) or "·"}</span>'


class Fates:
    """One line per step: what was drafted, what became of it, what the target added.

    Parameters
    ----------
    steps : sequence of Step
        Of a ``Generation`` with chains as drafts.
    decode : callable
        Token ids to text.

    Notes
    -----
    Shows itself: as HTML in a notebook, as plain text elsewhere (``+accepted -rejected =target's``).
    """

    def __init__(self, steps: Sequence[Step], decode: Callable[[Sequence[int]], str]) -> None:
        self._lines = [list(_fates(step)) for step in steps]
        self._decode = decode

    def __repr__(self) -> str:
        signs = {"accepted": "+", "rejected": "-", "unseen": "~", "plain": "="}
        return "\n".join(
            " ".join(f"{signs.get(fate, '=')}{self._decode([token])!r}" for token, fate in line) for line in self._lines
        )

    def _repr_html_(self) -> str:
        lines = ("".join(_chip(visible(self._decode([token])), fate) for token, fate in line) for line in self._lines)
        rows = "".join(f"<div>{line}</div>" for line in lines)
        legend = " ".join(_chip(meaning, fate) for fate, meaning in MEANINGS.items())
        return f'<div style="{_SHEET};line-height:1.9">{rows}<small>{legend}</small></div>'


def visible(text: str) -> str:
    """Return text that will not be part of the result, with its line breaks as signs."""
    return text.replace("\n", "↵")


def _fates(step: Step) -> list[tuple[int, Fate]]:
    """Return the tokens of a step in reading order, each with its fate."""
    accepted = step.num_accepted
    drafts: list[tuple[int, Fate]] = [(token, "accepted") for token in step.draft_tokens[:accepted]]
    drafts += [(token, "rejected") for token in step.draft_tokens[accepted : accepted + 1]]
    drafts += [(token, "unseen") for token in step.draft_tokens[accepted + 1 :]]
    own = list(zip(step.tokens, step.sources, strict=True))[accepted:]
    return [*drafts, *own]


_SIDES = {"todo": "grey", "wrong": "vermilion", "right": "green"}


def box(kind: str, sign: str, text: str, code: str) -> str:
    """Return an answer to a learner: a box with a coloured side.

    Parameters
    ----------
    kind : {"todo", "wrong", "right"}
    sign : str
        The same without colour.
    text : str
        Markup.
    code : str
        Shown as it is.
    """
    style = f"border-left:4px solid {SHADES[_SIDES[kind]].either};padding:.4em .8em;margin:.2em 0"
    listing = f"<pre>{html.escape(code)}</pre>" if code else ""  # where spaces at the beginning count
    return f'<div style="{style}"><b>{sign}</b> {text}{listing}</div>'


def pictures(figures: Iterable[tuple[str, str]]) -> str:
    """Return pictures side by side, each a title and base64 PNG data."""
    cells = (
        f'<figure style="flex:0 1 21em;margin:.3em"><figcaption>{label}</figcaption>'
        f'<img alt="{label}" style="width:100%" src="data:image/png;base64,{data}"></figure>'
        for label, data in ((html.escape(title), data) for title, data in figures)
    )
    return f'<div style="display:flex;flex-wrap:wrap">{"".join(cells)}</div>'
