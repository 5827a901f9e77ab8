"""What a card says of where its model comes from."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from minispec.training.cards import history, is_from_scratch
from minispec.training.mixture import MIX
from minispec.training.recipe import CODE, DRAFT, TARGET
from minispec.training.stages import STAGES


def report(init: str | None) -> dict:
    record = {"init": None, "kl_weight": 0.0, "mix": dict(MIX), "tokens": 8192, "steps": 2}
    return {"stages": {stage: {**record, "init": init if stage == "target" else None} for stage in STAGES}}


@pytest.mark.parametrize("name", [TARGET, DRAFT, CODE])
def test_only_what_began_with_given_weights_says_so(name: str) -> None:
    given = "0123456789abcdef"
    assert is_from_scratch(report(None), name)
    assert "--init" not in history(report(None), name)
    assert is_from_scratch(report(given), name) == (name != TARGET)  # drafts learn from the target, and begin fresh
    assert ("`0123456789ab`), given with `--init`" in history(report(given), name)) == (name == TARGET)
