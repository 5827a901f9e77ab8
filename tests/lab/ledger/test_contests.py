"""Drafts against one another: what is compared with what, and that no text both chooses and judges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from minispec.cli.experiment import experiment
from minispec.engine.generation.result import Metrics
from minispec.errors import OptionError
from minispec.lab.ledger import contests
from minispec.lab.ledger.contests import PLAIN, hold_contest, name_chain, offer_chains
from minispec.lab.ledger.framework import TINY, Scale, get_experiment
from minispec.lab.ledger.instruments import Timings
from minispec.lab.ledger.runs import DOMAINS, of_each_kind, prompts
from minispec.theory.intervals import difference_of_ratios, paired_ratio
from tests.lab.ledger.lent_heads import HEADS, lend_heads


def make_metrics(tokens: int, steps: int, drafted: int, draft_s: float, decode_s: float) -> Metrics:
    """Return the metrics of a run, those that are compared; ``tokens`` are those behind the first."""
    return replace(
        Metrics.from_steps((), 1, 0.0),
        num_tokens=1 + tokens,
        num_decode_tokens=tokens,
        num_steps=steps,
        num_draft_tokens=drafted,
        draft_s=draft_s,
        target_s=decode_s - draft_s,
        decode_s=decode_s,
    )


def make_timings() -> Timings:
    """Return two texts, three rounds each: one draft is dear and long, the other cheap and short."""
    dear = [[make_metrics(12, 4, 8, 0.8 * k, 2.4 * k) for k in (1, 2, 1)], [make_metrics(10, 5, 10, 1.0, 3.0)] * 3]
    cheap = [[make_metrics(12, 8, 16, 0.4 * k, 3.6) for k in (1, 1, 9)], [make_metrics(10, 5, 10, 0.2, 2.0)] * 3]
    return Timings({"dear": dear, "cheap": cheap})


def test_costs_lengths_and_times_are_compared_text_by_text() -> None:
    times = make_timings()
    assert times.cheaper("dear", "cheap") == pytest.approx(paired_ratio([[0.1], [0.1]], [[0.025], [0.02]]))
    assert times.cheaper("dear", "cheap").value == pytest.approx(0.2 / 0.045)
    assert times.longer("cheap", "dear") == pytest.approx(
        difference_of_ratios(([36, 30], [12, 15]), ([36, 30], [24, 15]))
    )
    assert times.longer("cheap", "dear").value == pytest.approx(66 / 27 - 66 / 39)
    assert times.longer("dear", "cheap").value < 0.0
    one, several = times.cheaper("dear", "cheap"), times.cheaper("dear", "cheap", of=6)
    assert several.high - several.low > one.high - one.low


def test_the_fastest_way_is_that_of_the_median_round() -> None:
    """One disturbed round of a text decides nothing; two of three do."""
    times = make_timings()
    times.metrics["cheap"][0] = [make_metrics(12, 8, 16, 0.4, s) for s in (2.0, 2.0, 99.0)]
    assert times.fastest(["dear", "cheap"]) == "cheap"
    times.metrics["cheap"][0] = [make_metrics(12, 8, 16, 0.4, s) for s in (2.0, 99.0, 99.0)]
    assert times.fastest(["dear", "cheap"]) == "dear"


def test_prompts_behind_others_are_none_of_them() -> None:
    first, behind = of_each_kind(3), of_each_kind(2, skip=3)
    assert len(first) == 3 * len(DOMAINS)
    assert behind == [prompt for domain in DOMAINS for prompt in prompts(domain, 5)[3:]]
    assert not set(first) & set(behind)


@pytest.fixture
def timed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[str], set[Any]]]:
    """What is timed, in no time: the second way of each contender is the fastest on the texts that choose."""
    calls: list[tuple[list[str], set[Any]]] = []

    def stand_in(ways: dict[str, Any], texts: Sequence[Any], num_tokens: int, rounds: int) -> Timings:
        calls.append((list(ways), set(texts)))
        assert all(given["temperature"] == 1.0 for given in ways.values())
        assert num_tokens == TINY.tokens
        fast = ("γ = 3", "γ = 5")[len(calls) - 1]  # the texts that judge would choose another
        seconds = {name: 1.0 if name.endswith(fast) else 2.0 for name in ways}
        return Timings({name: [[make_metrics(6, 3, 6, 0.1, s)] for _ in texts] for name, s in seconds.items()})

    monkeypatch.setattr(contests, "time_texts", stand_in)
    return calls


@pytest.mark.parametrize("scale", [TINY, replace(TINY, timed=3)])
def test_what_chooses_does_not_judge(timed: list[tuple[list[str], set[Any]]], scale: Scale) -> None:
    common = name_chain("eagle", 5)
    contest = hold_contest({name: offer_chains(name) for name in ("eagle", "block")}, 1.0, scale, [common])
    (candidates, choosing), (chosen, judging) = timed
    assert contest.best == {"eagle": "eagle, γ = 3", "block": "block, γ = 3"}, "not what was best in hindsight"
    assert set(candidates) == {*offer_chains("eagle"), *offer_chains("block")}
    assert chosen == [PLAIN, "eagle, γ = 3", "block, γ = 3", common]
    assert choosing
    assert judging == set(of_each_kind(scale.timed))
    assert not choosing & judging
    said = contest.describe("block")
    assert (said["way"], said["length"], said["speedup"][0]) == ("block, γ = 3", 2.0, 1.0)


@pytest.mark.parametrize("name", HEADS)
def test_a_head_that_is_not_there_is_asked_for_in_one_line(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And nothing is decoded before: neither those that are there, nor plainly."""
    *others, last = sorted(HEADS[name], reverse=True)
    lend_heads(others, tmp_path / "heads", monkeypatch)
    monkeypatch.setattr("minispec.lab.ledger.runs.stream", None)
    done = CliRunner().invoke(experiment, ["run", name, "--quick", "--results", str(tmp_path / "results")])
    assert isinstance(done.exception, OptionError)
    assert f"{last}: no {last} head comes with target-17m" in str(done.exception)
    assert "\n" not in str(done.exception)
    assert not list((tmp_path / "results").iterdir())


def test_the_draft_nearest_in_cost_is_the_one_to_beat() -> None:
    """A dear draft that loses, and one of the head's cost that wins."""
    at_cost = {"cheaper": [1.05, 1.0, 1.1], "longer": [-0.5, -0.6, -0.4], "faster": [0.8, 0.7, 0.9]}
    dear = {"cheaper": [4.0, 3.9, 4.1], "longer": [0.5, 0.4, 0.6], "faster": [2.0, 1.9, 2.1]}
    cheap = {"cheaper": [0.3, 0.2, 0.4], "longer": [0.5, 0.4, 0.6], "faster": [2.0, 1.9, 2.1]}
    known = {"draft": "a", "way": "a, γ = 3", "c": 0.1, "length": 2.0, "speedup": [1.5, 1.4, 1.6]}

    def judge(*drafts: dict[str, Any]) -> str:
        case = {"temperature": 0.0, "head": known, "drafts": [known | draft for draft in drafts]}
        return get_experiment("hidden-states").conclude({"cases": [case]}).verdict.word

    assert judge(dear, at_cost) == judge(at_cost, dear) == judge(cheap, at_cost) == "depends"
    assert judge(dear, cheap) == "depends", "a third of the head's cost is nearer than four times, and it is dearer"
    assert judge(dear) == "holds here"
