"""One source per lesson, two notebooks: the learner's, with stubs and dots, and the solved one.

The source is a Python file in jupytext's percent format. What stands between ``# BEGIN SOLUTION`` and ``# END
SOLUTION`` becomes one ``raise NotImplementedError``; the answer in a line ``lesson.predict("name", answer)`` becomes
``...``. Nothing else differs, outputs are never kept, and ids follow from the place of a cell: the same source gives
the same bytes.
"""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path
from typing import Any

from minispec.course.teaching.find import SOLUTIONS, pack
from minispec.errors import InvariantError, missing

BEGIN, END = "# BEGIN SOLUTION", "# END SOLUTION"
_PREDICT = re.compile(r'^(\w+\.predict\("[^"]+", ).+(\))$', re.MULTILINE)
_FUNCTION = re.compile(r"^(?:@.+\n)*def (\w+)\(", re.MULTILINE)
_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def notebook(source: str, name: str, *, solved: bool) -> str:
    """Return a notebook as JSON.

    Parameters
    ----------
    source : str
        Percent format.
    name : str
        The lesson's, for messages and cell ids.
    solved : bool
        With solutions and answers, or the learner's.

    Raises
    ------
    MissingDependencyError
        If jupytext is not installed.
    InvariantError
        If a marker is unclosed or nested.
    """
    try:
        jupytext: Any = importlib.import_module("jupytext")
        nbformat: Any = importlib.import_module("nbformat")
    except ImportError:
        raise missing("jupytext", "making notebooks needs", "course") from None
    made = jupytext.reads(source, fmt="py:percent")
    cells = []
    for i, cell in enumerate(made.cells):
        text = cell.source
        if cell.cell_type == "code":
            text = _without_markers(text, name) if solved else learner(text, name)
            cells.append(nbformat.v4.new_code_cell(text))
        else:
            cells.append(nbformat.v4.new_markdown_cell(text))
        cells[-1]["id"] = f"{name.replace('_', '-')}-{i:03d}"[:64]
    book = nbformat.v4.new_notebook(cells=cells, metadata=_METADATA)
    book["nbformat_minor"] = 5
    nbformat.validate(book)
    return json.dumps(book, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def learner(text: str, name: str) -> str:
    """Replace the solutions and predictions of a cell.

    >>> learner('lesson.predict("a", 0.6)', "x")
    'lesson.predict("a", ...)'
    """
    kept, _ = _split(text, name)
    return _PREDICT.sub(r"\1...\2", kept)


def solutions(source: str, name: str) -> dict[str, str]:
    """Return the solved function definitions of a source, by function name."""
    found = {}
    for cell in source.split("# %%"):
        if BEGIN not in cell:
            continue
        code = cell.split("\n", 1)[1].strip("\n")
        function = _FUNCTION.findall(code[: code.index(BEGIN)])
        if not function:
            raise InvariantError(f"{name}: a solution stands in no function; a step is a function")
        found[function[-1]] = _without_markers(code, name)
    return found


def _without_markers(text: str, name: str) -> str:
    _split(text, name)
    return "\n".join(line for line in text.splitlines() if line.strip() not in (BEGIN, END))


def _split(text: str, name: str) -> tuple[str, int]:
    """Return the text with stubs in place of solutions, and how many there were."""
    lines, inside, count = [], False, 0
    for line in text.splitlines():
        mark = line.strip()
        if mark in (BEGIN, END):
            if inside == (mark == BEGIN):
                raise InvariantError(f"{name}: {mark!r} is nested or unopened")
            inside = mark == BEGIN
            if inside:
                count += 1
                lines.append(line[: len(line) - len(line.lstrip())] + 'raise NotImplementedError("write this")')
        elif not inside:
            lines.append(line)
    if inside:
        raise InvariantError(f"{name}: {BEGIN!r} is never closed")
    return "\n".join(lines), count


def build(root: Path) -> list[Path]:
    """Write every learner's notebook, and the packed solutions, of a lessons folder; return what changed."""
    changed = []
    packed: dict[str, dict[str, str]] = {}
    for source in sorted((root / "source").glob("[0-9][0-9]_*.py")):
        text = source.read_text(encoding="utf-8")
        changed += _write(root / "notebooks" / f"{source.stem}.ipynb", notebook(text, source.stem, solved=False))
        packed[source.stem[:2]] = {name: pack(code) for name, code in solutions(text, source.stem).items()}
    return changed + _write(root / "checks" / SOLUTIONS, json.dumps(packed, indent=1) + "\n")


def _write(path: Path, text: str) -> list[Path]:
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return []
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return [path]
