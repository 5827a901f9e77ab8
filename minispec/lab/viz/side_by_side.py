"""Texts in pairs beside each other, with what they share marked: one page, nothing to load, no script."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from minispec.engine.colours import FILLS, GRID, INK, PAPER, SHADES

MAX_VIEWS = 100
"""Pairs that are shown; the rest are listed."""
_STYLE = f"""
body {{ background: {PAPER}; color: {INK.light}; font: 1rem/1.5 system-ui, sans-serif; margin: 1rem }}
td, th {{ padding: 0 1rem .1rem 0; text-align: left }}
summary {{ cursor: pointer; margin: .5rem 0 }}
.pair {{ display: grid; grid-template-columns: 1fr 1fr; gap: 1rem }}
pre {{ margin: 0; overflow: auto; max-height: 85vh; border: 1px solid {GRID}; font-size: .8rem }}
.n {{ color: {SHADES["grey"].light}; user-select: none }}
.b0 {{ background: {FILLS["blue"]} }} .b1 {{ background: {FILLS["purple"]} }} .b2 {{ background: {FILLS["green"]} }}
"""
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<h1>{title}</h1>
<p>{rule}</p>
{copies}
<table><tr><th>share</th><th>fingerprints</th><th></th><th></th></tr>
{rows}
</table>
{views}
</body>
</html>
"""


@dataclass(frozen=True)
class Passage:
    """Lines that two texts share, each range from its first to its last line."""

    left: tuple[int, int]
    right: tuple[int, int]


@dataclass(frozen=True)
class Pair:
    """Two texts of which one holds much of the other.

    Parameters
    ----------
    left, right : str
        Names.
    share : float
        Of the fingerprints of the one that has fewer.
    num_shared : int
        Fingerprints.
    passages : tuple of Passage
        The longest first.
    """

    left: str
    right: str
    share: float
    num_shared: int
    passages: tuple[Passage, ...]


def lay_side_by_side(
    title: str, rule: str, texts: Mapping[str, str], pairs: Sequence[Pair], copies: Sequence[Sequence[str]]
) -> str:
    """Return the page: what was compared how, the pairs, and each pair side by side.

    Parameters
    ----------
    title : str
    rule : str
        What makes a pair, in words.
    texts : mapping of str to str
        By name.
    pairs : sequence of Pair
    copies : sequence of sequence of str
        Names of texts that are the same but for what the rule leaves out.
    """
    rows = "\n".join(
        f"<tr><td>{pair.share:.0%}</td><td>{pair.num_shared}</td><td>{_link(pair.left, i)}</td>"
        f"<td>{_link(pair.right, i)}</td></tr>"
        for i, pair in enumerate(pairs)
    )
    groups = "".join(f"<li>{html.escape(', '.join(names))}</li>" for names in copies)
    return _PAGE.format(
        title=html.escape(title),
        style=_STYLE,
        rule=html.escape(rule),
        copies=f"<p>The same code but for names, numbers and texts:</p><ul>{groups}</ul>" if groups else "",
        rows=rows or '<tr><td colspan="4">no pair</td></tr>',
        views="\n".join(_view(pair, i, texts) for i, pair in enumerate(pairs[:MAX_VIEWS])),
    )


def _link(name: str, number: int) -> str:
    return f'<a href="#pair{number}">{html.escape(name)}</a>' if number < MAX_VIEWS else html.escape(name)


def _view(pair: Pair, number: int, texts: Mapping[str, str]) -> str:
    sides = (f"pair{number}-left", f"pair{number}-right")
    left = _listing(texts[pair.left], [passage.left for passage in pair.passages], sides)
    right = _listing(texts[pair.right], [passage.right for passage in pair.passages], sides[::-1])
    names = f"{html.escape(pair.left)} and {html.escape(pair.right)}"
    return (
        f"<details{' open' if number == 0 else ''}><summary>{pair.share:.0%}: {names}</summary>"
        f'<div class="pair" id="pair{number}"><pre>{left}</pre><pre>{right}</pre></div></details>'
    )


def _listing(text: str, ranges: Sequence[tuple[int, int]], sides: tuple[str, str]) -> str:
    """Return a text with line numbers; the lines of a passage have its colour, on both sides the same.

    Before the first of them stands the passage's number, which leads to the passage on the other side.
    """
    passages: dict[int, int] = {}
    for number, (first, last) in enumerate(ranges):
        for line in range(first, last + 1):
            passages.setdefault(line, number)
    begins = {passage: line for line, passage in sorted(passages.items(), reverse=True)}
    here, there = sides
    lines = []
    # Lines as Python counts them: a form feed or a separator of Unicode ends none.
    for i, code in enumerate(text.removesuffix("\n").split("\n"), 1):
        passage = passages.get(i)
        mark, colour = " " * 3, ""
        if passage is not None:
            colour = f' class="b{passage % 3}"'
            if begins[passage] == i:
                mark = f'<a id="{here}{passage}" href="#{there}{passage}">{passage + 1:>3}</a>'
        lines.append(f'{mark}<span class="n"> {i:>4}  </span><span{colour}>{html.escape(code.rstrip()) or " "}</span>')
    return "\n".join(lines)
