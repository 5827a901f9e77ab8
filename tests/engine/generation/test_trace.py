"""A trace that cannot be read says which line is at fault, in words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import minispec
from minispec.engine.generation.trace import read_trace, to_line
from minispec.engine.model.toy import TableModel
from minispec.errors import InputError


@pytest.fixture
def lines() -> list[str]:
    run = minispec.stream([0], target=TableModel(4), draft=TableModel(4, seed=1), max_tokens=6)
    return [to_line(event, lambda tokens: "x" * len(tokens)) for event in run]


def complaint(path: Path, lines: list[str]) -> str:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_trace(path)
    assert "\n" not in str(caught.value)
    assert "Error" not in str(caught.value)
    assert str(caught.value).endswith("Write one with minispec generate --trace FILE")
    return str(caught.value)


def without(line: str, key: str) -> str:
    return json.dumps({name: value for name, value in json.loads(line).items() if name != key})


def test_the_line_at_fault_is_named(lines: list[str], tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text("\n".join([*lines[:1], "", *lines[1:]]), encoding="utf-8")
    assert len(read_trace(path).events) == len(lines) - 1  # the control: blank lines are no fault
    for broken, words in (
        ("{", "line 3 cannot be read (no JSON: Expecting property name enclosed in double quotes at column 2)"),
        ("[" * 50_000, "line 3 cannot be read (no JSON: it is nested too deeply)"),
        ("[1]", "line 3 cannot be read ('[1]' is no object)"),
        ('{"event": "smiled"}', "line 3 cannot be read (there is no event 'smiled')"),
        (without(lines[2], "event"), "line 3 lacks 'event'"),
        (without(lines[2], "elapsed_s"), "line 3 lacks 'elapsed_s'"),
    ):
        assert words in complaint(path, [*lines[:2], broken, *lines[3:]])
        assert words.replace("3", "4", 1) in complaint(path, [*lines[:1], "", lines[1], broken, *lines[3:]])
    assert f"line {len(lines) + 1} cannot be read (the run has ended before it)" in complaint(path, [*lines, lines[0]])


@pytest.mark.parametrize("kept", [0, 1, -1])
def test_a_run_without_its_end_is_said_to_have_none(lines: list[str], tmp_path: Path, kept: int) -> None:
    assert "is no trace of a whole run: it has no event that ends one" in complaint(tmp_path / "r", lines[:kept])
