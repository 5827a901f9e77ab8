"""Speculative decoding as a picture to step through: draft, verify, accept or replace, commit.

A run is recorded once, as frames; the picture shows one at a time, forwards and backwards, with two buttons or the
arrow keys. It is one piece of HTML, so that it works in JupyterLab, and in a page without a kernel.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from minispec.viz.colours import FILLS, GRID, INK, PLOT, SHADES

Law = NDArray[np.float64]

COMMITTED, DRAFTED, ACCEPTED, REJECTED = "committed", "drafted", "accepted", "rejected"
NUM_BARS = 8
_QUIET = SHADES["grey"].light
_COLOURS = {"p": PLOT["blue"], "q": PLOT["purple"], "min(p, q)": PLOT["sky"], "residual": PLOT["orange"]}
_FILLS = {COMMITTED: FILLS["blue"], DRAFTED: FILLS["purple"], ACCEPTED: FILLS["green"], REJECTED: GRID}


@dataclass(frozen=True)
class Frame:
    """One moment of a run.

    Parameters
    ----------
    stage : str
        ``draft``, ``verify``, ``accept``, ``residual`` (at temperature 0 ``replace``), ``bonus`` or ``commit``.
    says : str
        What happens, in a sentence.
    slots : sequence of (token, state)
        The text and the drafts behind it, as they stand in the cache.
    laws : mapping of a name to a law
        What is drawn: some of p, q, min(p, q), residual.
    """

    stage: str
    says: str
    slots: tuple[tuple[int, str], ...]
    laws: dict[str, Law]


def record(
    target: Callable[[list[int]], Law],
    draft: Callable[[list[int]], Law],
    prompt: Sequence[int],
    *,
    gamma: int,
    num_tokens: int,
    seed: int = 0,
) -> list[Frame]:
    """Run speculative decoding by rejection sampling, without caches, and keep every moment.

    Parameters
    ----------
    target, draft : callable
        The law of the next token after a text, shape [V].
    prompt : sequence of int
    gamma, num_tokens : int
    seed : int
    """
    rng = np.random.default_rng(seed)
    frames: list[Frame] = []
    text = list(prompt)

    def draw(law: Law) -> int:
        return int(rng.choice(len(law), p=law))

    def add(stage: str, says: str, states: Sequence[str], laws: dict[str, Law]) -> None:
        behind = zip(drafts, states, strict=True)
        slots = (*((token, COMMITTED) for token in text), *behind)
        frames.append(Frame(stage, says, slots, laws))

    while len(text) < len(prompt) + num_tokens:
        drafts: list[int] = []
        rows: list[Law] = []
        for i in range(min(gamma, len(prompt) + num_tokens - len(text) - 1)):
            rows.append(draft([*text, *drafts]))
            drafts.append(draw(rows[-1]))
            add("draft", f"The draft draws token {i + 1} from q.", [DRAFTED] * len(drafts), {"q": rows[-1]})
        accepted = 0
        law, stage = target([*text, *drafts]), "bonus"
        for i, (token, q) in enumerate(zip(drafts, rows, strict=True)):
            p = target([*text, *drafts[:i]])
            ratio = min(1.0, float(p[token] / q[token]))
            add(
                "verify",
                f"Draft {i + 1}: p/q allows it with probability {ratio:.2f}.",
                _mark(i, len(drafts)),
                {"p": p, "q": q},
            )
            u = float(rng.random())
            if u >= ratio:
                law = np.maximum(p - q, 0.0)
                law, stage = law / law.sum(), "residual"
                states = [*[ACCEPTED] * i, *[REJECTED] * (len(drafts) - i)]
                add(
                    "accept",
                    f"u = {u:.2f} is not below {ratio:.2f}: rejected, and all behind it.",
                    states,
                    {"p": p, "q": q, "min(p, q)": np.minimum(p, q)},
                )
                break
            accepted += 1
            add(
                "accept",
                f"u = {u:.2f} is below {ratio:.2f}: accepted.",
                _mark(i + 1, len(drafts)),
                {"p": p, "q": q, "min(p, q)": np.minimum(p, q)},
            )
        says = (
            "The residual replaces it." if stage == "residual" else "All accepted: the last row gives one more token."
        )
        states = [ACCEPTED] * accepted + [REJECTED] * (len(drafts) - accepted)
        add(stage, says, states, {"residual" if stage == "residual" else "p": law})
        text += [*drafts[:accepted], draw(law)]
        drafts = []
        add("commit", f"The round adds {accepted + 1} tokens; the caches go back to the text.", [], {})
    return frames


def record_greedy(
    target: Callable[[list[int]], Law],
    draft: Callable[[list[int]], Law],
    prompt: Sequence[int],
    *,
    gamma: int,
    num_tokens: int,
) -> list[Frame]:
    """Run speculative decoding at temperature 0, without caches, and keep every moment.

    Parameters
    ----------
    target, draft : callable
        The law of the next token after a text, shape [V]; its likeliest token is the favourite.
    prompt : sequence of int
    gamma, num_tokens : int
    """
    frames: list[Frame] = []
    text, end = list(prompt), len(prompt) + num_tokens

    def add(stage: str, says: str, states: Sequence[str], laws: dict[str, Law]) -> None:
        behind = zip(drafts, states, strict=True)
        frames.append(Frame(stage, says, (*((token, COMMITTED) for token in text), *behind), laws))

    while len(text) < end:
        drafts: list[int] = []
        for i in range(min(gamma, end - len(text) - 1)):
            q = draft([*text, *drafts])
            drafts.append(int(q.argmax()))
            add("draft", f"Token {i + 1} is the draft's favourite.", [DRAFTED] * len(drafts), {"q": q})
        accepted, size = 0, len(drafts)
        while accepted < size:
            i = accepted
            p, q = target([*text, *drafts[:i]]), draft([*text, *drafts[:i]])
            add("verify", f"Is draft {i + 1} the target's favourite too?", _mark(i, size), {"p": p, "q": q})
            if int(p.argmax()) != drafts[i]:
                states = [*[ACCEPTED] * i, *[REJECTED] * (size - i)]
                add("accept", "No: rejected, and all behind it.", states, {"p": p, "q": q})
                break
            accepted += 1
            add("accept", "Yes: it stays.", _mark(accepted, size), {"p": p, "q": q})
        p = target([*text, *drafts[:accepted]])
        states = [*[ACCEPTED] * accepted, *[REJECTED] * (size - accepted)]
        if accepted < size:
            add("replace", "The target's own favourite takes its place.", states, {"p": p})
        else:
            add("bonus", "The last row gives one more token.", states, {"p": p})
        text += [*drafts[:accepted], int(p.argmax())]
        drafts = []
        add("commit", f"The round adds {accepted + 1} tokens; the caches go back to the text.", [], {})
    return frames


def _mark(num_accepted: int, size: int) -> list[str]:
    """Return the states of drafts of which the first have been accepted and the rest wait."""
    return [*[ACCEPTED] * num_accepted, *[DRAFTED] * (size - num_accepted)]


class Stepper:
    """Shows the frames of a run one by one.

    Parameters
    ----------
    frames : sequence of Frame
    decode : callable
        The text of a token.
    """

    def __init__(self, frames: Sequence[Frame], decode: Callable[[int], str]) -> None:
        self._frames = frames
        self._decode = decode

    def __repr__(self) -> str:
        return f"{len(self._frames)} frames: step through them in a notebook, or on the page"

    def _repr_html_(self) -> str:
        shown = "".join(
            f'<div class="frame"{"" if i == 0 else " hidden"}>{self._frame(frame, i)}</div>'
            for i, frame in enumerate(self._frames)
        )
        name = "stepper-" + sha256(shown.encode()).hexdigest()[:10]
        return (
            f'<div id="{name}" tabindex="0" role="group" aria-label="A run, step by step: arrow keys">'
            f'<button type="button">◀ back</button> <button type="button">next ▶</button>{shown}</div>'
            f"<script>({_SCRIPT})(document.getElementById('{name}'))</script>"
        )

    def _frame(self, frame: Frame, number: int) -> str:
        tokens = "".join(
            f'<span style="background:{_FILLS[state]};padding:.1em .3em;margin:1px;display:inline-block;'
            f"white-space:pre;"
            f'color:{INK.light}{";text-decoration:line-through" if state == REJECTED else ""}">'
            f"{html.escape(self._decode(token))}</span>"
            for token, state in frame.slots
        )
        says = f"{number + 1} of {len(self._frames)} · <b>{frame.stage}</b> · {html.escape(frame.says)}"
        return f"<p>{says}</p>{self._bars(frame)}<div>{tokens}</div>"

    def _bars(self, frame: Frame) -> str:
        """Draw the laws over their likeliest tokens; the height of a bar means the same in every frame."""
        width, height, base = 560, 190, 150
        parts = [
            f'<svg viewBox="0 0 {width} {height}" style="max-width:{width}px;width:100%" role="img" '
            f'aria-label="{html.escape(frame.says)}">'
        ]
        for share in (0.0, 0.5, 1.0):
            y = base - 140 * share
            parts.append(f'<line x1="30" x2="{width}" y1="{y}" y2="{y}" stroke="{GRID}"/>')
            parts.append(f'<text x="26" y="{y + 4}" font-size="10" text-anchor="end" fill="{_QUIET}">{share:g}</text>')
        if frame.laws:
            highest = np.maximum.reduce(list(frame.laws.values()))
            chosen = np.argsort(-highest, kind="stable")[:NUM_BARS]
            step = (width - 40) / NUM_BARS
            bar = 0.8 * step / len(frame.laws)
            for i, token in enumerate(chosen):
                left = 36 + i * step
                for j, (name, law) in enumerate(frame.laws.items()):
                    tall = 140 * float(law[token])
                    parts.append(
                        f'<rect x="{left + j * bar:.1f}" y="{base - tall:.1f}" width="{bar:.1f}" height="{tall:.1f}" '
                        f'fill="{_COLOURS[name]}"/>'
                    )
                label = html.escape(repr(self._decode(int(token)))[1:-1])
                parts.append(f'<text x="{left}" y="{base + 14}" font-size="11" fill="currentColor">{label}</text>')
            for j, name in enumerate(frame.laws):
                parts.append(
                    f'<rect x="{36 + 110 * j}" y="{height - 14}" width="10" height="10" fill="{_COLOURS[name]}"/>'
                    f'<text x="{50 + 110 * j}" y="{height - 5}" font-size="11" fill="currentColor">{name}</text>'
                )
        return "".join([*parts, "</svg>"])


_SCRIPT = """function (box) {
  const frames = box.querySelectorAll('.frame'), [back, next] = box.querySelectorAll('button');
  let at = 0;
  const go = to => {
    frames[at].hidden = true;
    at = Math.max(0, Math.min(frames.length - 1, to));
    frames[at].hidden = false;
  };
  back.onclick = () => go(at - 1);
  next.onclick = () => go(at + 1);
  box.onkeydown = event => {
    const move = {ArrowLeft: -1, ArrowRight: 1, Home: -frames.length, End: frames.length}[event.key];
    if (move) { go(at + move); event.preventDefault(); }
  };
}"""
