"""What the claim about dictated tokens counts, on a run that can be followed by hand."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from minispec.engine.drafters import ModelDrafter
from minispec.engine.generation import Drafted, Verified
from minispec.engine.generation.events import Emitted, Event, Prefilled
from minispec.engine.model.session import Session
from minispec.engine.model.toy import TableModel
from minispec.engine.sampling import Constraint
from minispec.lab.ledger.claims.dictated_tokens import count_runs
from tests.engine.generation.tiny import PLAIN
from tests.engine.laws.forms import EOS, PROMPT, TOKENIZER, V

pytest.importorskip("llguidance", reason="constraints need the extra `constraints`")

CONSTRAINT_AB = "(a|b){2}(ab){2}"


class Script:
    """A run of a first token, which no draft reaches, and two steps.

    Three drafts where nothing is dictated, then three of which two are, and one is rejected.
    """

    def __init__(self) -> None:
        self.drafter = ModelDrafter(Session(TableModel(V)), PLAIN)
        self.tokens: list[int] = list(PROMPT)
        self.generation = SimpleNamespace(metrics=SimpleNamespace(num_decode_tokens=3, num_steps=2))
        self._events = self._play()

    def __iter__(self) -> Iterator[Event]:
        return self._events

    def __next__(self) -> Event:
        return next(self._events)

    def _play(self) -> Iterator[Event]:
        session = self.drafter.session
        yield Prefilled(len(PROMPT), 0.0)
        self.tokens += [0]
        yield Emitted(0, 3, (0,), ("plain",), ())
        assert session.length == len(PROMPT)  # it has been read, behind the first token, and that is not counted
        session.score([0])
        yield Drafted(1, 4, (0, 0, 1), (1.0,) * 3, 0.0)
        yield Verified(1, 4, 0, (0, 0, 1), 0, "recovered", (0.0,), 0.0)
        self.tokens += [0]
        for token in (0, 1):
            session.score([token])
        yield Drafted(2, 5, (2, 0, 1), (1.0,) * 3, 0.0)
        yield Verified(2, 5, 1, (0, 1), 0, "recovered", (1.0, 0.0), 0.0)
        self.tokens += [2, 0]


def test_dictated_drafts_are_counted_with_what_became_of_them_and_what_they_cost() -> None:
    constraint = Constraint(CONSTRAINT_AB, "regex", TOKENIZER, {EOS}, V)
    forced = constraint.find_forced([0, 0])
    assert constraint.find_forced([]) == constraint.find_forced([0]) == []
    runs: list[Any] = [Script(), Script()]
    assert count_runs(runs, constraint) == {
        "tokens": 6,
        "steps": 4,
        "draft_forwards": 6,
        "dictated": 2 * min(len(forced), 3),
        "kept": 2,
        "spent": 4,
    }
    assert len(forced) > 1  # else all that is dictated is kept
