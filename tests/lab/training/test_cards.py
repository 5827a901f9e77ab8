"""What a card says of where its model comes from."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("torch")

from minispec.lab.training.cards import history, is_from_scratch
from minispec.lab.training.mixture import MIX
from minispec.lab.training.recipe import CODE, DRAFT, TARGET
from minispec.lab.training.stages import MEMBERS, STAGES


def report(*begun: str) -> dict:
    """A report of stages, some of which began with given weights."""
    record = {"kl_weight": 0.0, "mix": dict(MIX), "tokens": 8192, "steps": 2}
    return {
        "stages": {
            stage: {**record, "init": dict.fromkeys(MEMBERS[stage], "0123456789abcdef" if stage in begun else None)}
            for stage in STAGES
        }
    }


@pytest.mark.parametrize(
    ("name", "begun", "stages"),
    [
        (TARGET, "target", ["target"]),
        (TARGET, "distilled", ["target"]),
        (DRAFT, "target", ["drafts", "distilled"]),  # drafts learn from the target, and begin fresh
        (DRAFT, "drafts", ["drafts", "distilled"]),
        (DRAFT, "distilled", ["distilled"]),
        (CODE, "distilled", ["distilled", "code"]),
    ],
)
def test_only_what_began_with_given_weights_says_so(name: str, begun: str, stages: list[str]) -> None:
    assert is_from_scratch(report(), name)
    assert "--init" not in history(report(), name)
    told = history(report(begun), name)
    assert re.findall("stage `(.*?)`", told) == stages
    assert is_from_scratch(report(begun), name) == (begun not in stages)
    assert ("1. weights from before (SHA-256 `0123456789ab`), given with `--init`" in told) == (begun in stages)
