"""Records are frozen to the type checker, and otherwise what a frozen dataclass is."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from pathlib import Path

import pytest

from minispec.engine.frozen import record
from minispec.engine.model.asks import Ask
from minispec.engine.model.tree_session import AskTree
from minispec.engine.noise import Coins
from minispec.engine.records import Piece, Verdict


def make(decorate):
    return decorate(type("Pair", (), {"__annotations__": {"a": int, "b": str}, "__module__": __name__}))


Pair, FrozenPair = make(record(frozen=True, slots=True)), make(dataclasses.dataclass(frozen=True, slots=True))


def test_a_record_is_what_a_frozen_dataclass_is():
    pair = Pair(1, "x")
    assert repr(pair) == repr(FrozenPair(1, "x"))
    assert hash(pair) == hash(FrozenPair(1, "x"))
    assert pair == Pair(1, "x") != Pair(2, "x")
    assert dataclasses.replace(pair, b="y") == Pair(1, "y")
    assert dataclasses.asdict(pair) == {"a": 1, "b": "x"}
    assert copy.deepcopy(pair) == pickle.loads(pickle.dumps(pair)) == pair
    with pytest.raises(AttributeError):  # slots: a misspelt field is noticed
        pair.c = 3


def test_python_does_not_lock_it():
    """Which is the purpose: to make one takes a fraction of the time."""
    assert not Pair.__dataclass_params__.frozen


def test_records_that_are_made_for_every_token_have_slots():
    assert all("__slots__" in vars(each) for each in (Piece, Verdict, Coins, Ask, AskTree))


@pytest.mark.slow
def test_the_type_checker_refuses_to_change_one(tmp_path: Path):
    api = pytest.importorskip("mypy.api", reason="mypy comes with the linters")
    lines = (
        "from minispec.engine.records import Piece",
        'piece = Piece("a", "plain")',
        "print(piece.text)",
        "piece.text = 'b'",
    )
    (tmp_path / "user.py").write_text("\n".join(lines))
    output, _, code = api.run([str(tmp_path / "user.py"), "--config-file=", "--cache-dir", str(tmp_path)])
    assert code == 1
    assert "user.py:4: error" in output
    assert "read-only" in output
    assert output.count("user.py:") == 1
