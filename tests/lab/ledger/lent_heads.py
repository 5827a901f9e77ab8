"""Heads with random weights for the bundled target, so that experiments on heads run whatever is bundled."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from pathlib import Path

import pytest

from minispec.engine.model import GPT2
from minispec.lab.ledger import contests, instruments, runs
from minispec.lab.ledger.claims import trees_pay
from minispec.lab.ledger.runs import TARGET
from tests.engine.drafters.random_head import write_head

HEADS = {"hidden-states": {"eagle"}, "one-pass-drafts": {"eagle", "block"}, "trees-pay": {"eagle"}}
"""By entry, the heads that it drafts with."""


def lend_heads(kinds: Iterable[str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let experiments find these heads, and no others, with their target."""
    load = runs.model
    target = dataclasses.replace(load(TARGET), folder=folder)
    for kind in kinds:
        write_head(folder / kind, kind, target, length=5)

    def find(name: str, dtype: str = "float32") -> GPT2:
        return target if (name, dtype) == (TARGET, "float32") else load(name, dtype)

    for module in (runs, instruments, contests, trees_pay):
        monkeypatch.setattr(module, "model", find)
