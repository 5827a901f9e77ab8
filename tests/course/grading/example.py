"""The example assignment and submissions to it."""

from __future__ import annotations

from pathlib import Path

from minispec.course.grading.manifest import Assignment, load_assignment

ASSIGNMENTS = Path(__file__).parent / "assignments"
EXPLOITS = Path(__file__).parent / "exploits"
SECRET = b"canary"


def example() -> Assignment:
    return load_assignment("a0", ASSIGNMENTS)


def write(path: Path, source: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source, encoding="utf-8")
    return path


def with_accept(body: str) -> str:
    """The solution with another body of ``accept``."""
    return f"{example().solution}\n\ndef accept(p, q, token, u):\n    {body}\n"
