"""A run in a notebook: every token in the colour of its fate, rejected drafts struck through.

The colours are those of the terminal (Okabe and Ito); underlines and strokes tell the same story without colour.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence

from minispec.records import Source, Step

_CHIP = "display:inline-block;border-radius:4px;padding:0 .25em;margin:.1em .05em;white-space:pre;border-bottom:3px "
STYLES: dict[str, str] = {
    "accepted": _CHIP + "solid #0072b2;background:#0072b218",
    "recovered": _CHIP + "double #d55e00;background:#d55e0018",
    "bonus": _CHIP + "dotted #009e73;background:#009e7318",
    "plain": _CHIP + "solid transparent",
    "rejected": _CHIP + "solid transparent;background:#cc79a718;text-decoration:line-through;opacity:.75",
    "unseen": _CHIP + "solid transparent;text-decoration:line-through;opacity:.35",
}
"""CSS per fate. *Unseen* are drafts after a rejection: the target computed their rows, nobody looked at them."""

MEANINGS = {
    "accepted": "drafted and accepted",
    "recovered": "the target's, after a rejection",
    "bonus": "the target's, after full acceptance",
    "rejected": "drafted and rejected",
    "unseen": "drafted after a rejection",
}


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
        rows = "".join(f"<div>{''.join(self._chip(*token) for token in line)}</div>" for line in self._lines)
        legend = " ".join(f'<span style="{STYLES[fate]}">{meaning}</span>' for fate, meaning in MEANINGS.items())
        return f'<div style="line-height:1.9">{rows}</div><small>{legend}</small>'

    def _chip(self, token: int, fate: str) -> str:
        text = self._decode([token]).replace("\n", "⏎")
        return f'<span style="{STYLES[fate]}">{html.escape(text) or "·"}</span>'


def _fates(step: Step) -> list[tuple[int, str]]:
    """Return the tokens of a step in reading order, each with its fate."""
    accepted = step.num_accepted
    drafts: list[tuple[int, str]] = [(token, "accepted") for token in step.draft_tokens[:accepted]]
    drafts += [(token, "rejected") for token in step.draft_tokens[accepted : accepted + 1]]
    drafts += [(token, "unseen") for token in step.draft_tokens[accepted + 1 :]]
    own: list[tuple[int, Source]] = list(zip(step.tokens, step.sources, strict=True))[accepted:]
    return [*drafts, *own]
