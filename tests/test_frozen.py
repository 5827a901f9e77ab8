"""Records are frozen to the type checker, and otherwise what a frozen dataclass is."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from minispec.frozen import record
from minispec.model.asks import Ask
from minispec.model.tree_session import AskTree
from minispec.noise import Coins
from minispec.records import Piece, Verdict

FIELDS = {"a": int, "b": str}


def test_a_record_is_what_a_frozen_dataclass_is():
    made, frozen = (
        dataclasses.make_dataclass("Pair", FIELDS.items(), **options)
        for options in ({}, {"frozen": True})
    )  # fmt: skip
    made = record(frozen=True, slots=True)(made)
    assert repr(made(1, "x")) == repr(frozen(1, "x"))
    assert hash(made(1, "x")) == hash(frozen(1, "x"))
    assert made(1, "x") == made(1, "x") != made(2, "x")
    assert dataclasses.replace(made(1, "x"), b="y") == made(1, "y")
    assert dataclasses.asdict(made(1, "x")) == {"a": 1, "b": "x"}
    with pytest.raises(AttributeError):  # slots: a misspelt field is noticed
        made(1, "x").c = 3


def test_records_that_are_made_for_every_token_have_slots():
    assert all("__slots__" in vars(each) for each in (Piece, Verdict, Coins, Ask, AskTree))


@pytest.mark.slow
def test_the_type_checker_refuses_to_change_one(tmp_path: Path):
    api = pytest.importorskip("mypy.api", reason="mypy comes with the linters")
    lines = "from minispec.records import Piece", 'piece = Piece("a", "plain")', "print(piece.text)", "piece.text = 'b'"
    (tmp_path / "user.py").write_text("\n".join(lines))
    output, _, code = api.run([str(tmp_path / "user.py"), "--config-file=", "--cache-dir", str(tmp_path)])
    assert code == 1
    assert "user.py:4: error" in output
    assert "read-only" in output
    assert output.count("user.py:") == 1
