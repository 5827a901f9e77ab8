"""A run as a file: a page that plays it, and a picture of its end."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Mapping, Sequence

from rich.console import Console, RenderableType
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from minispec.engine.colours import HUES, INK, NIGHT, PAPER, SHADES
from minispec.engine.markup import LINES, MEANINGS
from minispec.lab.viz.film import Film

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
{css}
</style>
</head>
<body>
<main>
<h1>{title}</h1>
<p>{legend}</p>
<p><button type="button" onclick="{again}">Play again</button></p>
<div class="films">
{films}
</div>
<table>
{rows}
</table>
</main>
</body>
</html>
"""
_AGAIN = (
    "for (const one of document.querySelectorAll('.film')) one.replaceWith(one.cloneNode(true))"  # starts animations
)
_CSS = """:root {{ color-scheme: light dark; {light} }}
@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}
body {{ background: var(--paper); color: var(--ink); font: 1.05rem/1.6 system-ui, sans-serif; margin: 0 }}
main {{ max-width: 62rem; margin: 0 auto; padding: 1rem }}
h1 {{ font-size: 1.2rem }}
.films {{ display: flex; flex-wrap: wrap; gap: 2rem }}
.film {{ flex: 1 1 20rem; white-space: pre-wrap; overflow-wrap: anywhere }}
.film h2 {{ font-size: 1rem; margin: 0 }}
td {{ padding: 0 1rem .1rem 0; vertical-align: top }}
{fates}
.shot {{ animation: appear 1ms linear var(--shown, 0s) backwards, settle 1ms linear var(--settled, 0s) backwards }}
@keyframes appear {{ from {{ opacity: 0 }} }}
@keyframes settle {{ from {{ color: var(--drafted); text-decoration: none; font-style: italic }} }}
@media (prefers-reduced-motion), print {{ .shot {{ animation: none }} }}"""


def to_html(title: str, prompt: str, films: Mapping[str, Film], facts: Sequence[tuple[str, str, str]]) -> str:
    """Return a page that plays films side by side, with no script but the button's and nothing to load.

    Parameters
    ----------
    title, prompt : str
    films : mapping of str to Film
        By title; a single one needs none.
    facts : sequence of (name, value, remark)
        The table below.
    """
    legend = "; ".join(
        f'<span class="{fate}">{fate}</span>: {html.escape(meaning)}'
        for fate, meaning in MEANINGS.items()
        if fate != "unseen"
    )
    return _PAGE.format(
        title=html.escape(title),
        css=_css(),
        again=_AGAIN,
        legend=legend + ".",
        films="\n".join(_film(name, prompt, film) for name, film in films.items()),
        rows="\n".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in facts),
    )


def _css() -> str:
    def variables(side: str) -> str:
        return "; ".join(f"--{name}: {shades[side]}" for name, shades in _variables().items())

    return _CSS.format(light=variables("light"), dark=variables("dark"), fates=_fates())


def _variables() -> dict[str, dict[str, str]]:
    """Return each custom property's value on light and on dark."""
    shades = {"ink": INK, **{str(fate): SHADES[hue] for fate, hue in HUES.items()}}
    sides = {name: {"light": shade.light, "dark": shade.dark} for name, shade in shades.items()}
    return {"paper": {"light": PAPER, "dark": NIGHT}, **sides}


def _fates() -> str:
    """Return the class of each fate: its colour, and its mark without colour."""
    looks = {
        fate: "; ".join(filter(None, (f"color: var(--{fate})" if fate in HUES else "", LINES.get(fate))))
        for fate in dict.fromkeys((*HUES, *LINES))
    }
    return "\n".join(f".{fate} {{ {look} }}" for fate, look in looks.items())


def _film(name: str, prompt: str, film: Film) -> str:
    shots = "".join(
        f'<span class="shot {shot.fate}" style="--shown:{shot.shown_s:.3f}s;--settled:{shot.settled_s:.3f}s">'
        f"{html.escape(shot.text)}</span>"
        for shot in film.shots
    )
    heading = f"<h2>{html.escape(name)}</h2>" if name else ""
    return f'<div class="film">{heading}<span class="prompt">{html.escape(prompt)}</span>{shots}</div>'


WIDTH = 88
"""Columns of a picture."""


def to_svg(title: str, parts: Sequence[RenderableType]) -> str:
    """Return a picture of a dark terminal that shows these parts one below the other; it loads no font.

    Parameters
    ----------
    title : str
    parts : sequence of rich renderable
        Styled for the ground "dark".
    """
    console = Console(
        record=True,
        width=WIDTH,
        file=io.StringIO(),
        force_terminal=True,
        color_system="truecolor",
        highlight=False,
        legacy_windows=False,
    )
    for part in parts:
        console.print(part)
        console.print(Text())
    drawn = console.export_svg(title=title, theme=_THEME, unique_id="minispec")
    drawn = drawn.replace("Fira Code, monospace", "ui-monospace, monospace").replace("&#160;", "\N{NO-BREAK SPACE}")
    for needless in (r"@font-face \{.*?\}\s*", "<defs>.*</defs>", r' clip-path="[^"]*"', r"<text [^>]*>\n</text>"):
        drawn = re.sub(needless, "", drawn, flags=re.DOTALL)
    return re.sub(r"\s*\n\s*", "\n", drawn).replace("</text><text", "</text>\n<text")


def _rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


_NORMAL = [_rgb(INK.dark)] * 8
_THEME = TerminalTheme(_rgb(NIGHT), _rgb(INK.dark), _NORMAL, _NORMAL)
