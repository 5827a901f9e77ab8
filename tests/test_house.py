"""The engine stays a house of small rooms: short files, short functions."""

from __future__ import annotations

import ast
import statistics
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "minispec"
FOLDERS = ("generation", "batching", "model", "backends", "drafters", "verifiers", "sampling", "control")
ENGINE = [
    *(path for folder in FOLDERS for path in (PACKAGE / folder).rglob("*.py")),
    *(PACKAGE / f"{name}.py" for name in ("noise", "philox", "race", "records", "jit", "specs", "tokenizer")),
]
LINES_OF_A_FILE = 250
LINES_OF_A_FUNCTION, MEDIAN = 60, 8


def count_code(function: ast.FunctionDef, lines: list[str]) -> int:
    """Count the lines of a function, its signature included, that are neither blank, comment nor docstring."""
    first = function.body[0]
    skipped = range(first.lineno, (first.end_lineno or 0) + 1) if ast.get_docstring(function) is not None else range(0)
    own = (i for i in range(function.lineno, (function.end_lineno or 0) + 1) if i not in skipped)
    return sum(bool(line) and not line.startswith("#") for line in (lines[i - 1].strip() for i in own))


def measure_functions(text: str) -> dict[str, int]:
    """Return the lines of code of each function of a file."""
    functions = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef))
    return {f"{function.name}:{function.lineno}": count_code(function, text.splitlines()) for function in functions}


def find_long(files: list[Path]) -> dict[str, int]:
    """Return the files of too many lines, and how many each has."""
    lines = {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in files}
    return {name: count for name, count in lines.items() if count > LINES_OF_A_FILE}


def test_no_file_of_the_engine_is_long() -> None:
    assert find_long([*ENGINE, *(PACKAGE / "backends" / "cuda").glob("*.cu*")]) == {}


def test_a_long_file_is_found(tmp_path: Path) -> None:
    """The control; and every folder that is looked through has files."""
    for name, count in (("long.py", LINES_OF_A_FILE + 1), ("short.py", LINES_OF_A_FILE)):
        (tmp_path / name).write_text("x = 1\n" * count)
    assert find_long(sorted(tmp_path.iterdir())) == {"long.py": LINES_OF_A_FILE + 1}
    assert {path.relative_to(PACKAGE).parts[0] for path in ENGINE} >= set(FOLDERS)


def test_no_function_of_the_engine_is_long_and_most_are_short() -> None:
    found = {
        f"{path.relative_to(PACKAGE)}:{name}": count
        for path in ENGINE
        for name, count in measure_functions(path.read_text(encoding="utf-8")).items()
    }
    assert {name: count for name, count in found.items() if count > LINES_OF_A_FUNCTION} == {}
    assert statistics.median(found.values()) <= MEDIAN


def test_code_is_counted_and_nothing_else() -> None:
    """The control: a function of 61 lines of code is found, however much is written beside it."""
    text = (
        'def f():\n    """What it does.\n\n    And more.\n    """\n    # why\n\n' + "    x = 1\n" * LINES_OF_A_FUNCTION
    )
    assert measure_functions(text) == {"f:1": LINES_OF_A_FUNCTION + 1}
    assert measure_functions("class A:\n    def g(self):\n        return (\n            1\n        )\n") == {"g:2": 4}
