"""The engine's functions stay short, and nothing lies at the top that was not meant to."""

from __future__ import annotations

import ast
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "minispec"
ENGINE = sorted((PACKAGE / "engine").rglob("*.py"))
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


def test_no_function_of_the_engine_is_long_and_most_are_short() -> None:
    found = {
        f"{path.relative_to(PACKAGE)}:{name}": count
        for path in ENGINE
        for name, count in measure_functions(path.read_text(encoding="utf-8")).items()
    }
    assert {name: count for name, count in found.items() if count > LINES_OF_A_FUNCTION} == {}
    assert statistics.median(found.values()) <= MEDIAN


def test_code_is_counted_and_nothing_else() -> None:
    """The control: a function of 61 lines of code is found, and nothing beside it; every folder has files."""
    text = (
        'def f():\n    """What it does.\n\n    And more.\n    """\n    # why\n\n' + "    x = 1\n" * LINES_OF_A_FUNCTION
    )
    assert measure_functions(text) == {"f:1": LINES_OF_A_FUNCTION + 1}
    assert len(ENGINE) > 50
    assert measure_functions("class A:\n    def g(self):\n        return (\n            1\n        )\n") == {"g:2": 4}


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


RUN = """
import sys
from minispec.cli.main import cli

print(len([name for name in sys.modules if name.partition(".")[0] == "minispec"]))
try:
    cli.main(["generate", "Once", "--max-tokens", "2", "--quiet"])
except SystemExit:
    print(*(name for name in sys.modules if name.partition(".")[0] == "minispec"))
"""
MODULES_OF_A_RUN = 102


def test_a_default_run_imports_what_it_runs() -> None:
    """No head, tree, other rule, ledger or plot; and the list of commands waits for none of the engine."""
    done = subprocess.run([sys.executable, "-c", RUN], capture_output=True, text=True, timeout=300, check=True)
    first, *_, last = done.stdout.splitlines()
    names = last.split()
    assert int(first) <= 5
    assert "minispec.engine.drafters.model" in names
    assert len(names) <= MODULES_OF_A_RUN, names
    unwanted = ("heads", "trees", "ledger", "plots", "batching", "theory", "training", "gumbel", "suffix", "audit")
    assert [name for name in names if not set(unwanted).isdisjoint(name.split("."))] == []
