"""Every experiment runs on a tiny setting, and what it concludes is a pure function of its figures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from minispec.lab.ledger.book import draw, judge, measure, report
from minispec.lab.ledger.framework import NAMES, TINY, Setting, get_experiment
from tests.lab.ledger.lent_heads import HEADS, lend_heads

QUICK = (
    "tau",
    "half-accepted",
    "parallel-drafts",
    "several-candidates",
    "tree-judging",
    "streaming",
    "retraction",
    "domain-acceptance",
    "seventy-billion",
)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow])
        for name in NAMES
        if get_experiment(name).about.kind != "trained"
    ],
)
def test_it_runs_and_its_conclusion_follows_from_what_is_kept(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = get_experiment(name)
    if name in HEADS:
        lend_heads(HEADS[name], tmp_path / "heads", monkeypatch)
    result = measure(experiment, Setting(TINY))
    kept = json.loads(json.dumps(result, allow_nan=False))
    assert kept == result
    assert judge(experiment, kept["figures"]) == {
        key: result[key] for key in ("formula", "measured", "verdict", "because", "half_widths")
    }
    assert draw(kept).startswith("<svg")
    assert result["claim"] in report([kept])
