"""Print how long the sentences of newcomers' pages are: ``python -m tests.docs_site.sentences [FILE ...]``.

A yardstick for whoever edits them: a median of at most 16 words, no sentence over 40 (``docs/how-we-write.md``).
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
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def sentences(text: str) -> list[str]:
    """Return the sentences of a page: without code, tables, headings, pictures and the targets of links."""
    prose = _LINK.sub(r"\1", _BLOCKS.sub("\n\n", text))
    parts = re.split(r"\n\s*\n|\n\s*(?:[-*]|\d+\.) ", f"\n{prose}")
    found = [one for part in parts for one in re.split(r"(?<=[.?!:])[*]*\s+(?=[*]*[A-Z`])", " ".join(part.split()))]
    return [one for one in found if len(one.split()) > 1]


def main() -> None:
    """Print a line for each page, and each sentence of more than 40 words."""
    for name in sys.argv[1:] or PAGES:
        found = sentences((ROOT / name).read_text(encoding="utf-8"))
        lengths = [len(one.split()) for one in found]
        print(f"{name}: {len(found)} sentences, median {statistics.median(lengths):g}, longest {max(lengths)} words")
        for one in found:
            if len(one.split()) > 40:
                print(f"  {len(one.split())}: {one}")


if __name__ == "__main__":
    main()
