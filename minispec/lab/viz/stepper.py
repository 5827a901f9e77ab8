"""Speculative decoding as a picture to step through: draft, verify, accept or replace, commit.

A run is recorded once, as frames; the picture shows one at a time, forwards and backwards, with two buttons or the
arrow keys. It is one piece of HTML, so that it works in JupyterLab, and in a page without a kernel. Nothing moves that
has not changed: the bars' scale is the same in all frames and their tokens in all frames about one place, and a cache
has as many slots in the first frame as in the last.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from minispec.engine.colours import FILLS, GRID, INK, PAPER, PLOT, SHADES, Fate
from minispec.engine.markup import MEANINGS, span, visible

Law = NDArray[np.float64]

NUM_BARS = 8
"""Tokens that have bars."""

SHOWN = 8
"""Tokens of the prompt that are shown; a longer one begins with an ellipsis."""

_COLOURS = {"p": PLOT["blue"], "q": PLOT["purple"], "min(p, q)": PLOT["sky"], "residual": PLOT["orange"]}
_QUIET = SHADES["grey"].light


@dataclass(frozen=True)
class Slots:
    """What the slots of a cache hold at one moment.

    Parameters
    ----------
    owner : str
        The model whose cache it is.
    tokens : tuple of int
        What was last written to each slot; those from ``length`` on were rolled back, and are never read.
    committed : int
        Slots that hold tokens of the text.
    length : int
        Slots that count.
    """

    owner: str
    tokens: tuple[int, ...]
    committed: int
    length: int

    def find_state(self, slot: int) -> str:
        """Return ``committed``, ``drafted``, ``stale`` (rolled back) or ``empty``."""
        if slot < self.length:
            return "committed" if slot < self.committed else "drafted"
        return "stale" if slot < len(self.tokens) else "empty"


@dataclass(frozen=True)
class Frame:
    """One moment of a run.

    Parameters
    ----------
    stage : str
        ``prefill``, ``draft``, ``verify``, ``accept``, ``residual`` (at temperature 0 ``replace``), ``bonus``,
        ``plain`` or ``commit``.
    says : str
        What happens, in a sentence.
    text : tuple of (token, fate)
        The text, and behind it what the round has drafted and drawn so far.
    caches : tuple of Slots
    laws : mapping of a name to a law
        What is drawn: some of p, q, min(p, q), residual; each of shape (V,).
    axis : tuple of int
        The tokens that have bars, from left to right.
    token : int or None
        The one that this is about; it is among ``axis``.
    """

    stage: str
    says: str
    text: tuple[tuple[int, Fate], ...]
    caches: tuple[Slots, ...]
    laws: dict[str, Law] = field(default_factory=dict)
    axis: tuple[int, ...] = ()
    token: int | None = None


class Stepper:
    """Shows the frames of a run one by one.

    Parameters
    ----------
    frames : sequence of Frame
        At least one; it begins with the prompt.
    decode : callable
        The text of tokens.
    """

    def __init__(self, frames: Sequence[Frame], decode: Callable[[Sequence[int]], str]) -> None:
        self.frames = tuple(frames)
        self._decode = decode
        names = {name for frame in self.frames for name in frame.laws}
        self._series = [name for name in _COLOURS if name in names]
        prompt = sum(fate == "prompt" for _, fate in self.frames[0].text)
        self._first = prompt - SHOWN if prompt > SHOWN + 1 else 0  # token and slot: where the picture begins
        self._num_slots = max((len(slots.tokens) for frame in self.frames for slots in frame.caches), default=0)

    def __repr__(self) -> str:
        return f"{len(self.frames)} frames: step through them in a notebook, or on the page"

    def _repr_html_(self) -> str:
        says = [f"{i + 1} of {len(self.frames)} · {frame.stage} · {frame.says}" for i, frame in enumerate(self.frames)]
        shown = "".join(
            f'<div class="frame" data-says="{html.escape(line)}"{" hidden" if i else ""}>{self._draw(frame)}</div>'
            for i, (frame, line) in enumerate(zip(self.frames, says, strict=True))
        )
        name = "steps-" + sha256(shown.encode()).hexdigest()[:10]
        sheet = f"<style>{_STYLE.replace('BOX', '#' + name)}</style>"
        # JupyterLab has shortcuts of its own on the arrow keys; the attribute keeps them out of the box.
        return (
            f'<div id="{name}" tabindex="0" role="group" aria-label="A run, step by step: arrow keys" '
            f'data-lm-suppress-shortcuts="true">{sheet}'
            f'<button type="button">◀ back</button> <button type="button">next ▶</button>'
            f'<p class="says" aria-live="polite">{html.escape(says[0])}</p>'
            f'{shown}<p class="legend">{_explain()}</p></div>'
            f"<script>({_SCRIPT})(document.getElementById('{name}'))</script>"
        )

    def _draw(self, frame: Frame) -> str:
        text = "".join(span(visible(self._decode([token])), fate) for token, fate in frame.text[self._first :])
        dots = "…" if self._first else ""
        caches = "".join(self._list_slots(slots) for slots in frame.caches)
        return (
            f'<div class="sides"><div>{self._draw_bars(frame)}</div><div class="text">{dots}{text}</div></div>{caches}'
        )

    def _list_slots(self, slots: Slots) -> str:
        """List what each slot holds; those before the first that is shown are counted only."""
        cells = [f"<li>0–{self._first - 1}</li>"] if self._first else []
        for slot in range(self._first, self._num_slots):
            held = self._label(slots.tokens[slot], 8) if slot < len(slots.tokens) else " "
            cells.append(f'<li class="{slots.find_state(slot)}"><small>{slot}</small>{held}</li>')
        return f"<div><b>{html.escape(slots.owner)}</b>, {slots.length} slots count<ol>{''.join(cells)}</ol></div>"

    def _label(self, token: int, limit: int) -> str:
        """Return the text of a token on one short line; a space at its beginning can be seen."""
        text = repr(self._decode([token]))[1:-1].replace(" ", "␣")
        return html.escape(text if len(text) <= limit else text[: limit - 1] + "…")

    def _draw_bars(self, frame: Frame) -> str:
        width, height, base, tall = 560, 190, 150, 140
        parts = [f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{html.escape(self._read_out(frame))}">']
        for share in (0.0, 0.5, 1.0):
            y = base - tall * share
            parts.append(f'<line x1="30" x2="{width}" y1="{y}" y2="{y}" stroke="{GRID}"/>')
            parts.append(f'<text x="26" y="{y + 4}" text-anchor="end" fill="{_QUIET}">{share:g}</text>')
        step = (width - 40) / NUM_BARS
        bar = 0.85 * step / max(1, len(self._series))
        for i, token in enumerate(frame.axis):
            left = 36 + i * step
            for name, law in frame.laws.items():
                high, x = tall * float(law[token]), left + self._series.index(name) * bar
                parts.append(
                    f'<rect x="{x:.1f}" y="{base - high:.1f}" width="{bar:.1f}" height="{high:.1f}" '
                    f'fill="{_COLOURS[name]}"/>'
                )
            weight = ' font-weight="bold"' if token == frame.token else ""
            parts.append(f'<text x="{left:.1f}" y="{base + 14}"{weight}>{self._label(token, 9)}</text>')
        for j, name in enumerate(self._series):
            x = 36 + 110 * j
            parts.append(f'<rect x="{x}" y="{height - 13}" width="10" height="10" fill="{_COLOURS[name]}"/>')
            parts.append(f'<text x="{x + 14}" y="{height - 4}">{name}</text>')
        return "".join([*parts, "</svg>"])

    def _read_out(self, frame: Frame) -> str:
        """Say what the bars of the frame's token show, for those who cannot see them."""
        if frame.token is None or not frame.laws:
            return "No bars: nothing is drawn or judged here"
        shares = ", ".join(f"{name} {law[frame.token]:.2f}" for name, law in frame.laws.items())
        return f"Bars over likely tokens; of {self._decode([frame.token])!r}: {shares}"


def _explain() -> str:
    """Say what the looks of tokens and slots mean."""
    fates = "; ".join(f"{span(fate, fate)}: {meaning}" for fate, meaning in MEANINGS.items())
    states = {
        "committed": "slot of the text",
        "drafted": "slot of a draft",
        "stale": "rolled back, still there, never read",
        "empty": "never written",
    }
    slots = "; ".join(f'<span class="{state}">{state}</span>: {meaning}' for state, meaning in states.items())
    return f"Text: {fates}. Slots: {slots}."


_STYLE = f"""
BOX {{ background: {PAPER}; color: {INK.light}; padding: .5em }}
BOX p {{ margin: .3em 0 }}
BOX .says {{ min-height: 3em; font-weight: bold }}
BOX .sides {{ display: flex; flex-wrap: wrap; gap: 1em }}
BOX .sides > * {{ flex: 1 1 20em; min-width: 0 }}
BOX .text {{ white-space: pre-wrap; overflow-wrap: anywhere }}
BOX svg {{ width: 100%; max-width: 560px; font-size: 11px; fill: currentColor }}
BOX ol {{ display: flex; flex-wrap: wrap; gap: 2px; list-style: none; margin: 0 0 .4em; padding: 0; font-size: small }}
BOX li {{ margin: 0; padding: 0 .2em; width: 4.2em; height: 2.6em; overflow: hidden; white-space: pre }}
BOX li, BOX .legend [class] {{ border: 1px solid {_QUIET} }}
BOX li small {{ display: block }}
BOX .committed {{ background: {FILLS["blue"]} }}
BOX .drafted {{ background: {FILLS["purple"]}; font-style: italic; border-style: dashed !important }}
BOX .stale {{ color: {_QUIET}; border-style: dotted !important; text-decoration: line-through }}
BOX .empty {{ border-style: dotted !important }}
BOX .legend {{ font-size: small }}
"""

_SCRIPT = """function (box) {
  const frames = box.querySelectorAll('.frame'), [back, next] = box.querySelectorAll('button');
  const says = box.querySelector('.says');
  let at = 0;
  const go = to => {
    frames[at].hidden = true;
    at = Math.max(0, Math.min(frames.length - 1, to));
    frames[at].hidden = false;
    says.textContent = frames[at].dataset.says;
  };
  back.onclick = () => go(at - 1);
  next.onclick = () => go(at + 1);
  box.onkeydown = event => {
    const move = {ArrowLeft: -1, ArrowRight: 1, Home: -frames.length, End: frames.length}[event.key];
    if (move) { go(at + move); event.preventDefault(); }
  };
}"""
