"""A ledger edited by hand, an entry that is missing, a rule that changed after the run: refused, each in one line."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from minispec.errors import InputError
from minispec.experiments.framework import NAMES, TINY, Setting, get_experiment
from minispec.experiments.ledger import judge_again, load, load_checked, measure, save
from minispec.experiments.seal import RULES, check, read_rules, register, rule_of, seal
from tests.experiments.pending import MEASURABLE

DOCS = Path(__file__).resolve().parents[2] / "docs" / "claims"
NAME = "seventy-billion"


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the published ledger with one entry measured anew."""
    monkeypatch.setattr("minispec.experiments.ledger.NAMES", MEASURABLE)
    for file in (*(f"{name}.json" for name in MEASURABLE), RULES):
        shutil.copy(DOCS / file, tmp_path)
    save(measure(get_experiment(NAME), Setting(TINY), tmp_path), tmp_path, plot=False)
    return tmp_path


def edit(folder: Path, change: Callable[[dict[str, Any]], object], name: str = NAME) -> None:
    path = folder / f"{name}.json"
    result = json.loads(path.read_text(encoding="utf-8"))
    change(result)
    path.write_text(json.dumps(result), encoding="utf-8")


def refused(folder: Path, because: str) -> None:
    with pytest.raises(InputError, match=because) as caught:
        load_checked(folder)
    assert "\n" not in str(caught.value)
    assert "experiment" in str(caught.value), "the way out"


def test_the_whole_ledger_is_in_order(ledger: Path) -> None:
    assert [result["name"] for result in load_checked(ledger)] == list(MEASURABLE)
    assert load_checked(DOCS)


def test_figures_edited_by_hand_are_refused(ledger: Path) -> None:
    edit(ledger, lambda result: result.update(figures=result["figures"] | {"more": 1}))
    refused(ledger, r"seventy-billion\.json was edited")
    with pytest.raises(InputError, match="edited"):
        judge_again(load(ledger, NAME) or {})


@pytest.mark.parametrize("key", ["verdict", "because", "measured", "formula", "claim", "literature"])
def test_a_text_edited_by_hand_is_refused(key: str, ledger: Path) -> None:
    edit(ledger, lambda result: result.update({key: "false" if key == "verdict" else "Planted."}), "tau")
    if key == "verdict":
        edit(ledger, lambda result: result.update(verdict="holds"), "tau")
    refused(ledger, r"tau\.json says something else than its figures")


def test_a_missing_entry_is_refused(ledger: Path) -> None:
    (ledger / "overlap.json").unlink()
    refused(ledger, r"overlap\.json is missing")


def test_a_missing_or_broken_file_of_rules_is_refused(ledger: Path) -> None:
    (ledger / RULES).unlink()
    refused(ledger, "rules.json has None")
    (ledger / RULES).write_text("[]", encoding="utf-8")
    with pytest.raises(InputError, match="holds no rules"):
        load_checked(ledger)


def test_a_rule_that_changed_after_the_run_is_refused_until_the_entry_says_so(ledger: Path) -> None:
    stale = replace(get_experiment(NAME), thresholds={"costs": [0.5]})
    result = load(ledger, NAME)
    assert result is not None
    with pytest.raises(InputError, match="was judged by rule"):
        check(result, stale, ledger)
    # judged again under another rule, an entry is marked as measured before it
    result["rule"] = "another"
    again = judge_again(result | {"seal": seal(result)})
    assert again["rule"] is None
    check(again, get_experiment(NAME), ledger)


def test_a_rule_must_have_been_there_before_the_run(ledger: Path) -> None:
    rules = read_rules(ledger)
    rules[NAME]["since"] = "2099-01-01T00:00:00Z"
    (ledger / RULES).write_text(json.dumps(rules), encoding="utf-8")
    refused(ledger, "before its rule was written down")


def test_a_rule_is_written_before_anything_is_measured_and_keeps_its_time(tmp_path: Path) -> None:
    def fails(setting: Setting) -> dict[str, Any]:
        assert read_rules(tmp_path)[NAME]["hash"] == rule_of(experiment)["hash"]
        raise KeyboardInterrupt

    experiment = replace(get_experiment(NAME), measure=fails)
    with pytest.raises(KeyboardInterrupt):
        measure(experiment, Setting(TINY), tmp_path)
    since = read_rules(tmp_path)[NAME]["since"]
    register(experiment, tmp_path, "2099-01-01T00:00:00Z")
    assert read_rules(tmp_path)[NAME]["since"] == since
    changed = replace(experiment, thresholds={"costs": [0.5]})
    register(changed, tmp_path, "2099-01-01T00:00:00Z")
    assert read_rules(tmp_path)[NAME]["since"] == "2099-01-01T00:00:00Z"


def test_thresholds_and_the_sentence_of_the_rule_make_the_hash() -> None:
    experiment = get_experiment("tau")
    other = replace(experiment, thresholds={**experiment.thresholds, "tolerance": 0.5})
    assert rule_of(other)["hash"] != rule_of(experiment)["hash"]
    assert rule_of(replace(experiment, conclude=get_experiment("maximum").conclude)) != rule_of(experiment)
    assert rule_of(replace(experiment, title="another")) == rule_of(experiment)
    assert all(get_experiment(name).thresholds for name in NAMES)
