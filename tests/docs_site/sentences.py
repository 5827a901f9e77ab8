"""Print how long newcomers' sentences and all pages are: ``python -m tests.docs_site.sentences [FILE ...]``.

A yardstick for whoever edits them: a median of at most 16 words, no sentence over 40 (``docs/how-we-write.md``); pages
written by hand, without lab notes, of 2,900 lines in all.
"""

from __future__ import annotations

import re
import statistics
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("README.md", "docs/first-run.md", "docs/does-it-pay.md", "docs/how-it-works.md", "lessons/README.md")
_BLOCKS = re.compile(
    r"```.*?```|\$\$.*?\$\$|<!--.*?-->|^\|[^\n]*|^#[^\n]*|<[^>\n]+>|!\[[^\]]*\]\([^)]*\)", re.DOTALL | re.MULTILINE
)
_WRITTEN = re.compile(r"<!-- ([\w-]+) -->.*?<!-- end \1 -->\n", re.DOTALL)
MADE = ("claims.md", "mutation-score.md")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def sentences(text: str) -> list[str]:
    """Return the sentences of a page: without code, tables, headings, pictures and the targets of links."""
    prose = _LINK.sub(r"\1", _BLOCKS.sub("\n\n", text))
    parts = re.split(r"\n\s*\n|\n\s*(?:[-*]|\d+\.) ", f"\n{prose}")
    found = [one for part in parts for one in re.split(r"(?<=[.?!:])[*]*\s+(?=[*]*[A-Z`])", " ".join(part.split()))]
    return [one for one in found if len(one.split()) > 1]


def lines_by_hand(text: str) -> int:
    """Return how many lines of a page nobody but its authors wrote: without what commands write between markers."""
    return len(_WRITTEN.sub("", text).splitlines())


def main() -> None:
    """Print a line for each page, each sentence of more than 40 words, and the lines of all pages together."""
    for name in sys.argv[1:] or PAGES:
        found = sentences((ROOT / name).read_text(encoding="utf-8"))
        lengths = [len(one.split()) for one in found]
        print(f"{name}: {len(found)} sentences, median {statistics.median(lengths):g}, longest {max(lengths)} words")
        for one in found:
            if len(one.split()) > 40:
                print(f"  {len(one.split())}: {one}")
    pages = [page for page in (ROOT / "docs").glob("*.md") if page.name not in MADE]
    total = sum(lines_by_hand(page.read_text(encoding="utf-8")) for page in pages)
    print(f"docs by hand, without lab notes: {len(pages)} pages, {total} lines (goal: 2,900)")


if __name__ == "__main__":
    main()
