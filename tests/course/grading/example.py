"""The example assignment and submissions to it."""

from __future__ import annotations

import re
from pathlib import Path

from minispec.course.grading.manifest import Assignment, load_assignment

ASSIGNMENTS = Path(__file__).parent / "assignments"
EXPLOITS = Path(__file__).parent / "exploits"
SECRET = b"canary"


def exploits() -> dict[str, str]:
    """By name, the text of each hostile submission."""
    cells = [
        cell
        for path in sorted(EXPLOITS.glob("*.py"))
        for cell in re.split(r"^# %% ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    ]
    return {cell.partition("\n")[0]: cell.partition("\n")[2] for cell in cells}


def example() -> Assignment:
    return load_assignment("a0", ASSIGNMENTS)


def write(path: Path, source: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source, encoding="utf-8")
    return path


def with_accept(body: str) -> str:
    """The solution with another body of ``accept``."""
    return f"{example().solution}\n\ndef accept(p, q, token, u):\n    {body}\n"
