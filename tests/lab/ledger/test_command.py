"""``minispec experiment`` as a user meets it."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from minispec.cli.experiment import experiment, parse_moment
from minispec.errors import InputError, OptionError
from minispec.lab.ledger.framework import NAMES, TINY, get_experiment
from minispec.lab.ledger.verdicts import Finding


def call(*arguments: str) -> Result:
    return CliRunner().invoke(experiment, arguments)


def ran(folder: Path) -> set[str]:
    return {path.stem for path in folder.glob("*.json")}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Every experiment takes no time and says how often it ran."""
    counts: dict[str, int] = {}

    def stand_in(found, setting):
        counts[found.name] = counts.get(found.name, 0) + 1
        if found.name == counts.get("stop at"):
            raise KeyboardInterrupt
        return {
            "name": found.name,
            "verdict": Finding("holds", "")[0],
            "date": f"2026-01-01T00:00:0{counts[found.name]}Z",
            "scale": asdict(setting.scale),
            "figures": {},
            "machine": {},
        }

    monkeypatch.setattr("minispec.lab.ledger.book.measure", stand_in)
    monkeypatch.setattr("minispec.lab.ledger.book.draw", lambda result: "")
    return counts


def test_it_is_a_command_of_minispec() -> None:
    from minispec.cli.main import cli

    done = CliRunner().invoke(cli, ["experiment", "list", "--results", "nowhere"])
    assert done.exit_code == 0
    assert all(name in done.output for name in ("tau", "production-gains"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run"], "--all"),
        (["run", "tau", "--all"], "--all"),
        (["run", "tua"], "Did you mean 'tau'"),
        (["run", "tau", "--timed"], "--timed"),
        (["run", "tau", "--quick"], "--results"),
        (["run", "tau", "--since", "yesterday"], "HH:MM"),
        (["run", "tau", "--jobs", "0"], "jobs is 0"),
        (["run", "tau", "draft-latency", "--jobs", "2"], "cannot measure time"),
        (["run", "draft-latency", "--on", "dask:tcp://127.0.0.1:1"], "cannot measure time"),
        (["run", "tau", "--on", "slurm"], "dask:ADDRESS"),
        (["report", "--partial", "--results", "nowhere"], "no result"),
    ],
)
def test_bad_input_is_told_in_one_line_and_writes_nothing(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = call(*arguments)
    assert isinstance(done.exception, OptionError)
    assert message in str(done.exception)
    assert not list(tmp_path.iterdir())


def test_all_skips_what_is_there_and_since_does_it_again(quick: dict[str, int], tmp_path: Path) -> None:
    again = ["run", "--all", "--results", str(tmp_path)]
    assert call(*again).exit_code == 0
    expected = {name for name in NAMES if get_experiment(name).about.kind != "trained"}
    assert ran(tmp_path) == expected
    assert set(quick.values()) == {1}
    assert call(*again).exit_code == 0
    assert set(quick.values()) == {1}
    assert call(*again, "--since", "2026-01-01T00:01").exit_code == 0
    assert set(quick.values()) == {2}
    assert call(*again, "--since", "2025-12-31T00:01").exit_code == 0
    assert set(quick.values()) == {2}


def test_an_interrupted_run_goes_on_where_it_was(quick: dict[str, int], tmp_path: Path, monkeypatch) -> None:
    quick["stop at"] = "streaming"  # type: ignore[assignment]
    assert call("run", "--all", "--results", str(tmp_path)).exit_code != 0
    before = ran(tmp_path)
    assert 0 < len(before) < len(NAMES)
    assert "streaming" not in before
    del quick["stop at"]
    assert call("run", "--all", "--results", str(tmp_path)).exit_code == 0
    assert all(quick[name] == 1 for name in before)
    assert not list(tmp_path.glob("*.partial"))


@pytest.mark.parametrize("timed", [True, False])
def test_timed_and_untimed_are_two_halves(timed: bool, quick: dict[str, int], tmp_path: Path) -> None:
    call("run", "--all", "--timed" if timed else "--untimed", "--results", str(tmp_path))
    kinds = {get_experiment(name).about.kind for name in ran(tmp_path)}
    assert kinds == ({"timed"} if timed else {"computed", "counted"})


def test_a_name_is_always_run(quick: dict[str, int], tmp_path: Path) -> None:
    for _ in range(2):
        call("run", "tau", "--results", str(tmp_path))
    assert quick == {"tau": 2}


def test_a_real_run_writes_result_and_plot_and_the_report_shows_it(tmp_path: Path) -> None:
    assert call("run", "seventy-billion", "--quick", "--results", str(tmp_path)).exit_code == 0
    assert {path.name for path in tmp_path.iterdir()} == {"seventy-billion.json", "seventy-billion.svg"}
    result = json.loads((tmp_path / "seventy-billion.json").read_text(encoding="utf-8"))
    assert result["scale"]["tokens"] == TINY.tokens
    page = tmp_path / "page.md"
    assert call("report", "--partial", "--results", str(tmp_path), "--write", str(page)).exit_code == 0
    assert result["claim"] in page.read_text(encoding="utf-8")
    assert "at another scale: seventy-billion. " in page.read_text(encoding="utf-8")


def test_quick_and_full_results_never_stand_for_each_other(
    quick: dict[str, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    again = ["run", "--all", "--untimed", "--results", str(tmp_path)]
    for flags, count in ((["--quick"], 1), (["--quick"], 1), ([], 2), ([], 2)):
        assert call(*again, *flags).exit_code == 0
        assert set(quick.values()) == {count}
    lost = call("run", "tau", "--quick", "--results", str(tmp_path)).exception
    assert isinstance(lost, OptionError)
    assert "where tau was measured in full" in str(lost)
    monkeypatch.chdir(tmp_path)
    ledger = call("run", "tau", "--quick", "--results", str(tmp_path / "docs" / "claims")).exception
    assert "would go into the ledger" in str(ledger)
    assert not (tmp_path / "docs").exists()


SEVERAL = ("tau", "streaming", "domain-acceptance")


def without_time(folder: Path, name: str) -> dict[str, object]:
    result = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    return {key: result[key] for key in ("figures", "scale", "rule", "measured", "verdict")}


@pytest.mark.slow
def test_several_at_a_time_find_what_one_after_another_find(tmp_path: Path) -> None:
    alone, together = tmp_path / "alone", tmp_path / "together"
    for folder, jobs in ((alone, "1"), (together, "2")):
        done = call("run", *SEVERAL, "--quick", "--jobs", jobs, "--results", str(folder))
        assert done.exit_code == 0, done.output
    assert ran(together) == set(SEVERAL)
    assert all(without_time(together, name) == without_time(alone, name) for name in SEVERAL)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_dask_cluster_finds_what_one_process_finds(tmp_path: Path) -> None:
    distributed = pytest.importorskip("dask.distributed")
    here, there = tmp_path / "here", tmp_path / "there"
    run = ("run", *SEVERAL, "--quick", "--results")
    assert call(*run, str(here)).exit_code == 0
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        done = call(*run, str(there), "--on", f"dask:{cluster.scheduler_address}")
    assert done.exit_code == 0, done.output
    assert all(without_time(there, name) == without_time(here, name) for name in SEVERAL)


RESULT = {"name": "tau", "verdict": "holds", "date": "2026-01-01T00:00:00Z", "figures": {}, "machine": {}}


@pytest.mark.parametrize("command", [("judge",), ("report", "--partial"), ("run", "tau", "--since", "now"), ("list",)])
@pytest.mark.parametrize(
    "change",
    [
        *({key: value} for key in ("figures", "machine") for value in (None, [], 3)),
        *({"date": value} for value in (None, 3, "yesterday", "2026-01-01")),
    ],
)
def test_a_result_with_fields_of_the_wrong_kind_is_refused_in_one_line(
    command: tuple[str, ...], change: dict[str, object], tmp_path: Path
) -> None:
    (tmp_path / "tau.json").write_text(json.dumps(RESULT | change), encoding="utf-8")
    done = call(*command, "--results", str(tmp_path))
    assert isinstance(done.exception, InputError)
    assert re.fullmatch(r"\S+tau\.json is no result of tau \(.*\)\. Delete it and run it again", str(done.exception))
    assert ran(tmp_path) == {"tau"}
    assert done.stdout == ""


@pytest.mark.parametrize("command", [("judge",), ("report", "--partial")])
def test_a_result_that_lacks_what_its_rule_or_the_page_needs_is_refused(
    command: tuple[str, ...], tmp_path: Path
) -> None:
    text = json.dumps(RESULT)
    (tmp_path / "tau.json").write_text(text, encoding="utf-8")
    done = call(*command, "--results", str(tmp_path))
    assert isinstance(done.exception, InputError)
    assert re.fullmatch(r"tau\.json is damaged \(KeyError: '\w+'\)\. .*: experiment run tau", str(done.exception))
    assert (tmp_path / "tau.json").read_text(encoding="utf-8") == text


def test_moments() -> None:
    now = datetime(2026, 11, 21, 12, 30, tzinfo=UTC)
    assert parse_moment("now", now) == "2026-11-21T12:30:00Z"
    assert parse_moment("10:05", now) == "2026-11-21T10:05:00Z"
    assert parse_moment("2025-01-02T03:04", now) == "2025-01-02T03:04:00Z"


def test_judging_again_measures_nothing(tmp_path: Path) -> None:
    call("run", "seventy-billion", "--results", str(tmp_path))
    path = tmp_path / "seventy-billion.json"
    result = json.loads(path.read_text(encoding="utf-8"))
    for format_ in result["figures"]["formats"]:  # planted: a card a hundred times as fast
        format_["likely"] *= 100
        format_["ceiling"] *= 100
    path.write_text(json.dumps(result), encoding="utf-8")
    done = call("judge", "--results", str(tmp_path))
    assert done.exit_code == 0
    assert done.output == "seventy-billion: depends -> false\n"
    again = json.loads(path.read_text(encoding="utf-8"))
    assert (again["figures"], again["date"]) == (result["figures"], result["date"])
