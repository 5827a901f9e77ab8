"""Pages made from something else lie in a folder of their own, which git ignores."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def write_pages(folder: Path, pages: Mapping[str, str]) -> None:
    """Make a folder hold these pages and no others; leave what has not changed, so that it is not read again."""
    folder.mkdir(parents=True, exist_ok=True)
    for stale in {path.name for path in folder.iterdir()} - pages.keys():
        (folder / stale).unlink()
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
