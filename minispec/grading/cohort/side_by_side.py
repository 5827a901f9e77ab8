"""Two submissions beside each other, with what they share marked: one page, nothing to load, no script."""

from __future__ import annotations

import html
from collections.abc import Sequence

from minispec.grading.cohort.fingerprints import FOUND, RUN
from minispec.grading.cohort.similarity import FEW, FEWEST, MOST, OURS, THRESHOLD, Pair, Similarity
from minispec.viz.colours import FILLS, GRID, INK, PAPER, SHADES

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


def to_page(title: str, similarity: Similarity) -> str:
    """Return the page: what was compared how, the pairs, and each pair side by side.

    Parameters
    ----------
    title : str
    similarity : Similarity
    """
    pairs = similarity.pairs
    rows = "\n".join(
        f"<tr><td>{pair.share:.0%}</td><td>{pair.num_shared}</td><td>{_link(pair.left, i)}</td>"
        f"<td>{_link(pair.right, i)}</td></tr>"
        for i, pair in enumerate(pairs)
    )
    groups = "".join(f"<li>{html.escape(', '.join(names))}</li>" for names in similarity.copies)
    return _PAGE.format(
        title=html.escape(f"{title}: similar submissions"),
        style=_STYLE,
        rule=html.escape(_say_rule()),
        copies=f"<p>The same code but for names, numbers and texts:</p><ul>{groups}</ul>" if groups else "",
        rows=rows or '<tr><td colspan="4">no pair</td></tr>',
        views="\n".join(_view(pair, i, similarity) for i, pair in enumerate(pairs[:MAX_VIEWS])),
    )


def _say_rule() -> str:
    return (
        f"Pairs that share at least {THRESHOLD:.0%} of the fingerprints of the one that has fewer, and at least "
        f"{FEWEST}. Names, numbers and texts are all alike here, comments left out; a shared passage of {FOUND} "
        f"tokens is always found, one shorter than {RUN} never. Left out is what was handed out, and what more than "
        f"{MOST:.0%} of the class (at least {FEW} submissions) has. '{OURS}' is ours, which everybody can read. "
        "This is a reason to look, not a verdict."
    )


def _link(name: str, number: int) -> str:
    return f'<a href="#pair{number}">{html.escape(name)}</a>' if number < MAX_VIEWS else html.escape(name)


def _view(pair: Pair, number: int, similarity: Similarity) -> str:
    sides = (f"pair{number}-left", f"pair{number}-right")
    left = _listing(similarity.texts[pair.left], [passage.left for passage in pair.passages], sides)
    right = _listing(similarity.texts[pair.right], [passage.right for passage in pair.passages], sides[::-1])
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
    for i, code in enumerate(text.splitlines(), 1):
        passage = passages.get(i)
        mark, colour = " " * 3, ""
        if passage is not None:
            colour = f' class="b{passage % 3}"'
            if begins[passage] == i:
                mark = f'<a id="{here}{passage}" href="#{there}{passage}">{passage + 1:>3}</a>'
        lines.append(f'{mark}<span class="n"> {i:>4}  </span><span{colour}>{html.escape(code) or " "}</span>')
    return "\n".join(lines)
