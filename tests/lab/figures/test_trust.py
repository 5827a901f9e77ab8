"""Timings that give themselves away: the rule, and each command that prints timings saying so."""

from __future__ import annotations

import dataclasses
import json

import pytest

from minispec.engine.generation import Generation, generate
from minispec.engine.loading import load_model
from minispec.engine.model.toy import TableModel
from minispec.lab import trust
from minispec.lab.explain.compare import Comparison, advise, compare, doubts_of_run
from minispec.lab.explain.step_costs import StepCosts, VerifyCurve, costs_of_run
from minispec.lab.measure.record import Totals
from minispec.lab.measure.report import remarks
from minispec.lab.trust import doubts, least_cost_ratio
from minispec.lab.viz.terminal import facts


def test_figures_of_a_quiet_machine_raise_no_doubt() -> None:
    assert not doubts(
        spreads={"decode": (1.0, 1.7)},
        verify_costs={1: 1.0, 2: 0.96, 6: 1.4},
        cost_ratio=0.02,
        least_cost_ratio=0.015,
        speedups={"measured": (3.5, 3.46)},
    )


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        ({"spreads": {"decode": (1.0, 1.9)}}, "decode: the slowest run took 1.9 times as long"),
        ({"verify_costs": {6: 0.62}}, "v(6) is 0.62"),
        ({"cost_ratio": 0.012, "least_cost_ratio": 0.015}, "c is 0.012: reading the draft's bytes takes 0.015"),
        ({"speedups": {"measured": (3.7, 3.46)}}, "measured speedup 3.70x: 3.46 tokens per step"),
    ],
)
def test_what_lies_apart_or_beyond_a_bound_is_doubted(figures, words) -> None:
    (line,) = doubts(**figures)
    assert line.startswith(words)


def test_the_least_cost_ratio_is_that_of_the_bytes() -> None:
    target, draft = (load_model(name, dtype="float32") for name in ("target-17m", "draft-1.6m"))
    small = load_model("draft-1.6m", dtype="int8")
    assert 0.01 < least_cost_ratio(target, draft) < 0.03
    assert least_cost_ratio(target, small) == pytest.approx(least_cost_ratio(target, draft) / 4)
    assert least_cost_ratio(target, "ngram") == least_cost_ratio(TableModel(3), draft) == 0.0


def test_a_run_is_doubted_for_each_of_its_figures() -> None:
    model = TableModel(8, 64, seed=1)
    run = generate([1], target=model, draft=TableModel(8, 64, seed=2), max_tokens=30, gamma=3)
    costs = StepCosts(unit_s=1.0, gamma=3.0, cost_ratio=0.01, verify_cost=0.7, overhead=0.0)
    fine = Comparison(1.1, (1.0, 1.2), 1.1, 1.0, (1.0, 1.2), (0.9, 1.1), 3, False, costs)
    assert not doubts_of_run(run, dataclasses.replace(costs, verify_cost=1.2), fine, 0.001)
    wild = dataclasses.replace(fine, speedup=5.0, speculative_range=(0.2, 1.1))
    found = " ".join(doubts_of_run(run, costs, wild, 0.02))
    for words in (
        "speculative decoding: the slowest run took 5.5",
        ") is 0.70",
        "c is 0.010",
        "measured speedup 5.00x",
    ):
        assert words in found
    assert "plain decoding" not in found
    assert not doubts_of_run(run, None, None, 0.0)


def test_figures_that_cannot_be_are_withheld_where_they_stand() -> None:
    model = TableModel(8, 64, seed=1)
    run = generate([1], target=model, draft=TableModel(8, 64, seed=2), max_tokens=30, gamma=3)
    fine = StepCosts(unit_s=1.0, gamma=3.0, cost_ratio=0.01, verify_cost=1.2, overhead=0.0)
    withheld = {"verify cost v", "predicted speedup"}
    assert {name for name, value, _ in facts(run, fine) if value == "–"} == set()
    assert {
        name for name, value, _ in facts(run, dataclasses.replace(fine, verify_cost=-5.505)) if value == "–"
    } == withheld
    tau = run.metrics.mean_acceptance_length
    assert tau is not None
    cheap = dataclasses.replace(fine, overhead=-0.5)
    assert {name for name, value, _ in facts(run, cheap) if value == "–"} == {"predicted speedup"}
    assert any(f"{tau:.2f} tokens per step allow no more" in doubt for doubt in doubts_of_run(run, cheap, None, 0.0))
    beyond = Comparison(tau * 2, (1.0, 1.2), 1.1, 1.0, (1.0, 1.2), (0.9, 1.1), 3, False, fine, tau)
    assert {name for name, value, _ in facts(run, fine, beyond) if value == "–"} == {"measured speedup"}


def test_a_comparisons_prediction_is_of_its_own_runs() -> None:
    """The run that is shown drafted nothing and emitted one token per step; those that were timed drafted."""
    model, draft = TableModel(8, 64, seed=1), TableModel(8, 64, seed=1)

    def run(gamma: int) -> Generation:
        return generate([1], target=model, draft=draft, max_tokens=30, gamma=gamma, temperature=0.0)

    found = compare(lambda: run(0), lambda: run(4))
    assert found is not None
    assert found.costs is not None
    assert found.tau == pytest.approx(29 / 6)
    shown = {name: note for name, _, note in facts(run(1), found.costs, found)}
    assert "predicted speedup" in shown
    assert found.costs.speedup(found.tau) == pytest.approx(
        29 / 6 / (found.costs.gamma * found.costs.cost_ratio + found.costs.verify_cost + found.costs.overhead)
    )


@pytest.mark.parametrize(
    ("cost_ratio", "verify_cost", "words"),
    [(0.01, 1.0, None), (0.2, 1.3, "--gamma 1 "), (0.9, 1.0, "--draft ngram"), (0.1, 9.0, "--fallback request")],
)
def test_a_run_that_loses_says_what_would_help(cost_ratio: float, verify_cost: float, words: str | None) -> None:
    """α = 0.5 with drafts of seven: short ones pay; or only free ones; or none."""
    model = TableModel(8, 64, seed=1, concentration=0.5)
    run = generate([1], target=model, draft=TableModel(8, 64, seed=1, concentration=0.5), max_tokens=40, gamma=7)
    metrics = dataclasses.replace(run.metrics, alpha=0.5, mean_acceptance_length=1.99, num_steps=20)
    said = advise(dataclasses.replace(run, metrics=metrics), StepCosts(1.0, 7.0, cost_ratio, verify_cost, 0.0), None)
    assert (said is None) if words is None else (said is not None and words in said)
    if said is not None:
        short = dataclasses.replace(run, metrics=dataclasses.replace(metrics, num_steps=3))
        assert "3 steps are too few" in str(advise(short, StepCosts(1.0, 7.0, cost_ratio, verify_cost, 0.0), None))


def test_a_verify_curve_says_what_is_wrong_with_it() -> None:
    assert VerifyCurve({6: 1.3}).warning is None
    assert "v(6) is 0.62" in str(VerifyCurve({6: 0.62}).warning)
    assert "contradict each other by 0.30" in str(VerifyCurve({6: 1.3}, evened_out=0.3).warning)


@pytest.fixture
def suspicious(monkeypatch) -> None:
    """Any spread is too large."""
    monkeypatch.setattr(trust, "UNSTEADY", 1e-9)


def call(*arguments: str) -> str:
    from click.testing import CliRunner

    from minispec.cli.main import cli

    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 0, result.output
    return result.stdout if "--json" in arguments else result.output


def test_generate_says_so_in_the_table_and_in_the_json(suspicious) -> None:
    options = ("generate", "Once", "--max-tokens", "6", "--compare")
    assert "these timings cannot be trusted (plain decoding: the slowest run" in " ".join(call(*options).split())
    assert any("plain decoding" in line for line in json.loads(call(*options, "--json"))["doubts"])


def test_measure_says_so_for_each_way_to_decode(suspicious, tmp_path) -> None:
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text('{"prompt": "Once upon a time"}\n')
    options = ("measure", str(prompts), "--max-tokens", "4", "--repeats", "2")
    told = " ".join(call(*options).split())
    assert told.count("these timings cannot be trusted") == 1  # for all ways to decode together
    assert told.count("the rounds of a prompt") == 2
    summaries = json.loads(call(*options, "--json"))["summaries"]
    assert all("the rounds of a prompt" in " ".join(summary["doubts"]) for summary in summaries)
    assert remarks([]) == []


def test_impossible_costs_make_an_impossible_speedup_and_no_error() -> None:
    """A row measured while the machine did something else makes v negative; the run's text is fine all the same."""
    run = Totals(6, num_steps=2, num_draft_tokens=8, prefill_s=0.0, draft_s=0.0, target_s=0.2, decode_s=0.4)
    busy = dataclasses.replace(costs_of_run(run, target_row_s=30.0), verify_cost=-2.0, overhead=0.0)
    assert busy.speedup(3.0) == float("inf")
    assert doubts(verify_costs={5: busy.verify_cost})
