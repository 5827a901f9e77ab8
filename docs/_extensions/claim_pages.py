"""The claims ledger as pages: one for each claim, and the table of verdicts.

In the repository the ledger is one file, which ``minispec experiment report`` writes; one page of it would be as tall
as forty screens.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from _extensions.pages import write_pages

LEDGER = "claims"
_FOLDER = "_generated/claims"
_ENTRY = re.compile(r'\n<a id="([\w-]+)"></a>\n\n## (.+)\n')


def split(ledger: str) -> tuple[str, dict[str, str]]:
    """Return the ledger as its first page, which lists the others, and the others by name."""
    head, *entries = _ENTRY.split(ledger)
    bodies = {name: (title, body) for name, title, body in zip(entries[::3], entries[1::3], entries[2::3], strict=True)}
    pages = {
        f"{name}.md": f"# {title}\n{link(body)}\n\n[All claims](/{LEDGER}.md)\n"
        for name, (title, body) in bodies.items()
    }
    listed = "\n".join(f"/{_FOLDER}/{name}" for name in bodies)
    return f"{link(head)}\n\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n", pages


def link(text: str) -> str:
    """Return text whose links to other claims, and to figures, are seen from the pages' folder."""
    text = re.sub(r"\]\(#([\w-]+)\)", rf"](/{_FOLDER}/\1.md)", text)
    return re.sub(rf"\]\({LEDGER}/", f"](/{LEDGER}/", text)


def write(app: Any) -> None:
    """Write a page for each claim."""
    _, pages = split((Path(app.srcdir) / f"{LEDGER}.md").read_text(encoding="utf-8"))
    write_pages(Path(app.srcdir) / _FOLDER, pages)


def first_page(_app: Any, name: str, content: list[str]) -> None:
    """Keep of the ledger what comes before the first claim."""
    if name == LEDGER:
        content[0], _ = split(content[0])


def setup(app: Any) -> dict[str, bool]:
    """Write the pages before Sphinx looks for them."""
    app.connect("builder-inited", write)
    app.connect("source-read", first_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
