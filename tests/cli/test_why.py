"""``minispec why`` as a user runs it."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

import pytest
from click.testing import CliRunner

from minispec.cli.main import cli
from minispec.cli.pair import Pair
from minispec.lab.explain.why import CAUSES
from tests.cli.conftest import Run


def test_the_report_adds_up_and_names_a_change(run_here: Run, target: str, draft: str) -> None:
    pair = ("--target", target, "--draft", draft, "--max-tokens", "16", "--gamma", "3", "--repeats", "1")
    told = json.loads(run_here("why", "the end", *pair, "--json").stdout)
    assert list(told["losses"]) == list(CAUSES)
    assert told["plain_s"] / told["ideal"] + sum(told["losses"].values()) == pytest.approx(told["seconds"])
    assert told["changes"][0]["speedup"] == max(change["speedup"] for change in told["changes"])
    assert {"acceptance", "gamma"} <= {change["cause"] for change in told["changes"]}
    shown = run_here("why", "the end", *pair)
    assert shown.returncode == 0, shown.stderr
    for cause in CAUSES:
        assert cause in shown.stdout


class HaltingClock:
    """Now and then the machine does something else for a thousand times as long."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._now = 0.0

    def __call__(self) -> float:
        self._now += 1e-3 if self._random.random() < 0.97 else 1.0
        return self._now


def test_an_unsteady_machine_is_said_to_be_one(target: str, draft: str, monkeypatch: pytest.MonkeyPatch) -> None:
    load, told = Pair.load, 0
    pair = ("--target", target, "--draft", draft, "--backend", "numpy", "--max-tokens", "16", "--repeats", "1")
    for seed in range(4):

        def load_and_halt(*arguments: Any, seed: int = seed) -> Pair:
            pair = load(*arguments)
            return replace(pair, options={**pair.options, "clock": HaltingClock(seed)})

        monkeypatch.setattr(Pair, "load", load_and_halt)
        done = CliRunner().invoke(cli, ["why", "the end", *pair])
        assert done.exit_code == 0, done.output
        told += "these timings cannot be trusted" in done.stdout
    assert told >= 3  # now and then halts look like costs


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--draft", "none"), "chains of drafts"),
        (("--draft", "tree:shape=2x1", "--verify", "tree"), "chains of drafts"),
        (("--max-tokens", "0"), "costs need some of each"),
        (("--gamma", "0"), "costs need some of each"),
        (("--min-tokens", "9", "--max-tokens", "3"), "--min-tokens is 9 and --max-tokens 3"),
    ],
)
def test_what_cannot_be_explained_is_one_line(
    run_here: Run, target: str, arguments: tuple[str, ...], complaint: str
) -> None:
    draft = () if "--draft" in arguments else ("--draft", "ngram")
    done = run_here("why", "the end", "--target", target, *draft, *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert complaint in done.stderr.splitlines()[-1]
