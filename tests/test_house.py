"""The engine's functions are short; and a function is named by what it does."""

from __future__ import annotations

import ast
import re
import statistics
import subprocess
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "minispec"
ENGINE = sorted((PACKAGE / "engine").rglob("*.py"))
LINES_OF_A_FUNCTION, MEDIAN = 60, 8

_IRREGULAR = "chosen|drawn|found|given|grown|kept|known|lost|made|sent|shown|spent|taken|told|written"
_PARTICIPLE = re.compile(rf"(?!embed)([a-z]*[^e]ed|{_IRREGULAR})(_(as|at|by|from|in|last|of|on|to|whole|with)(_|$)|$)")


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


def find_participles(text: str) -> list[str]:
    """Return the functions of a file that are named by a participle alone: ``judged``, ``told_by``, not ``judge``.

    A property may say what has been done, and a noun may have a participle before it: ``measured_figure``.
    """
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    methods = [one for one in functions if not any("property" in ast.unparse(mark) for mark in one.decorator_list)]
    names = (one.name for one in methods)
    return [name for name in names if _PARTICIPLE.match(name.strip("_"))]


def test_functions_are_named_by_verbs() -> None:
    found = {
        str(path.relative_to(PACKAGE.parent)): names
        for folder in (PACKAGE, PACKAGE.parent / "docs")
        for path in folder.rglob("*.py")
        if (names := find_participles(path.read_text(encoding="utf-8")))
    }
    assert found == {}


def test_a_participle_is_found() -> None:
    """The control; verbs, properties, and nouns with a participle before them pass."""
    wrong = ("judged", "_told", "written_whole", "__changed_at", "evaluated_by_position")
    right = ("judge", "feed", "embed", "need", "proceed", "measured_figure", "known_ids", "bundled_prompts", "speed")
    text = "".join(f"def {name}(): ...\n" for name in (*wrong, *right)) + "async def opened(): ...\n"
    assert find_participles(text) == [*wrong, "opened"]
    assert find_participles("class A:\n    @property\n    def finished(self): ...\n    def ended(self): ...\n") == [
        "ended"
    ]


def test_the_top_level_is_what_was_agreed() -> None:
    """Nothing that a command left behind was committed."""
    root = PACKAGE.parent
    if not (root / ".git").exists():
        pytest.skip("no checkout: an unpacked archive may lie among other things")
    listed = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=True).stdout
    folders = {"minispec", "weights", "lessons", "tests", "docs"}
    files = {"pyproject.toml", "hatch_build.py", "README.md", "LICENSE", "NOTICE", "CITATION.cff", "CHANGELOG.md"}
    files |= {"CONTRIBUTING.md", "CODE_OF_CONDUCT.md", "SECURITY.md"}
    found = {line.split("/")[0] for line in listed.splitlines()}
    assert {name for name in found if not name.startswith(".")} == folders | files
