"""``minispec measure`` as a user runs it."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import pytest

from minispec.cli.lists import split
from minispec.lab.measure.summary import summarise
from minispec.lab.measure.sweep import Sweep, run_units
from minispec.lab.prompts import Prompt
from minispec.lab.viz.plots.bench import sweep_figure
from tests.cli.conftest import Run


@pytest.fixture
def pair(target: str, draft: str) -> tuple[str, ...]:
    return ("--target", target, "--draft", f"{draft},ngram:n=2,min_n=2", "--max-tokens", "8")


@pytest.fixture
def prompts(tmp_path: Path) -> str:
    lines = [{"prompt": "the end", "domain": "stories"}, {"prompt": "them", "domain": "sums", "answer": 3}]
    path = tmp_path / "prompts.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    return path.name


def test_everything_it_writes(run_here: Run, tmp_path: Path, prompts: str, pair: tuple[str, ...]) -> None:
    before = set(tmp_path.iterdir())
    done = run_here("measure", prompts, *pair, "--gamma", "1,3", "--temperature", "0,1", "--repeats", "1", "--domains",
               "--details", "--by-prompt", "--csv", "m.csv", "--markdown", "m.md", "--plot",
               "m.svg", "--validate")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "too few prompts: 2; intervals need 8 or more" in " ".join(done.stdout.split())
    for title in ("Acceptance", "Time", "Latency", "Tokens", "Quality"):
        assert title in done.stdout
    written = {path.name for path in set(tmp_path.iterdir()) - before}
    assert written == {"m.csv", "m.md", "m.svg"}  # and no journal is left
    asked = run_here("measure", prompts, *pair, "--gamma", "1,3", "--temperature", "0,1", "--repeats", "1", "--json",
                     "--validate")  # fmt: skip
    report = json.loads(asked.stdout)
    assert any(line.startswith("too few prompts") for line in report["mistakes"])
    ways = 2 * (1 + 2 * 2)
    assert len(report["records"]) == 2 * ways
    assert len(report["summaries"]) == 3 * ways
    assert report["machine"]["cores"]
    with (tmp_path / "m.csv").open(encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == 2 * ways
    assert "## Quality" in (tmp_path / "m.md").read_text(encoding="utf-8")


def test_a_journal_is_gone_on_with_and_refuses_what_is_not_alike(
    run_here: Run, tmp_path: Path, prompts: str, pair: tuple[str, ...]
) -> None:
    arguments = ("measure", prompts, *pair, "--no-timing", "--journal", "kept.jsonl")
    whole = run_here(*arguments).stdout
    journal = tmp_path / "kept.jsonl"
    lines = journal.read_text(encoding="utf-8").splitlines(keepends=True)
    journal.write_text("".join(lines[:-1]) + lines[-1][:50], encoding="utf-8")  # the power went
    done = run_here(*arguments)
    assert "1 of 2 prompts are in kept.jsonl already" in done.stderr
    assert done.stdout == whole
    assert journal.read_text(encoding="utf-8").splitlines() == [line.rstrip("\n") for line in lines]
    refused = run_here(*arguments, "--seed", "1")
    assert refused.returncode == 2
    assert "belongs to another sweep" in refused.stderr
    assert journal.read_text(encoding="utf-8").splitlines() == [line.rstrip("\n") for line in lines]


@pytest.mark.parametrize(
    ("content", "arguments", "complaint"),
    [
        ("", (), "holds no prompt"),
        ('{"prompt": "x"}\n{"prompt": 1}\n', (), "line 2"),
        ('{"prompt": "x"}\n', ("--jobs", "2"), "cannot measure time"),
        ('{"prompt": "x"}\n', ("--domain", "poems"), "no prompt has the domain"),
        ('{"prompt": "x"}\n', ("--gamma", "3,3"), "--gamma names 3 twice"),
        ('{"prompt": "x"}\n', ("--csv", "nowhere/m.csv"), "does not exist"),
        ('{"prompt": "x"}\n', ("--plot", "m.txt"), "must end in"),
        ('{"prompt": "x"}\n', ("--no-timing", "--on", "slurm"), "dask:ADDRESS"),
        ('{"prompt": "x"}\n', ("--no-timing", "--repeats", "5"), "repeats is 5; they are timed rounds"),
        ('{"prompt": "x"}\n', ("--seed", "-1"), "seed is -1"),
        (
            '{"prompt": "x"}\n',
            ("--draft", "none"),
            "--draft is 'none'; plain decoding is measured anyway. Leave it out",
        ),
        ('{"prompt": "x"}\n', ("--draft", "ngram,none"), "plain decoding is measured anyway. Leave it out"),
        ('{"prompt": "x"}\n', ("--preset", "gsm8k", "--prompt-key", "q"), "both name the key"),
        ('{"prompt": "\\ud800"}\n', (), "half a surrogate pair"),
        (json.dumps({"prompt": "x" * 100}) + "\n", (), "prompt '1': the prompt has 100 tokens"),
        (
            '{"prompt": "x"}\n{"prompt": "the end"}\n',
            ("--max-tokens", "100000"),
            "max-tokens is 100000; after prompt '2'",
        ),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(
    run_here: Run, tmp_path: Path, pair: tuple[str, ...], content: str, arguments: tuple[str, ...], complaint: str
) -> None:
    (tmp_path / "p.jsonl").write_text(content, encoding="utf-8")
    done = run_here("measure", "p.jsonl", *pair, *arguments)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["p.jsonl"]


def test_a_sweep_fills_the_context_and_counts_one_thing_as_one(
    run_here: Run, tmp_path: Path, pair: tuple[str, ...]
) -> None:
    (tmp_path / "p.txt").write_text("x\n", encoding="utf-8")
    refused = run_here("measure", "p.txt", *pair[:2], "--draft", "ngram", "--no-timing", "--max-tokens", "1000").stderr
    room = refused.split()[-1]
    done = run_here("measure", "p.txt", *pair[:2], "--draft", "ngram", "--no-timing", "--max-tokens", room)
    assert done.stdout.startswith("1 prompt, each"), done.stderr
    assert f"length, {room} tokens" in done.stdout
    done = run_here("measure", "p.txt", *pair[:2], "--draft", "ngram", "--no-timing", "--max-tokens", "1")
    assert "length, 1 token (" in done.stdout


def test_the_summary_comes_alone_and_fits(run_here: Run, tmp_path: Path, prompts: str, pair: tuple[str, ...]) -> None:
    """Without --details there is one table, and no row of any table is wider than the terminal."""
    flags = ("--gamma", "1,3", "--temperature", "0,1", "--repeats", "1")
    done = run_here("measure", prompts, *pair, *flags, COLUMNS="80")
    assert done.returncode == 0, done.stderr
    assert "Acceptance" not in done.stdout
    assert len(done.stdout.splitlines()) < 90, "with what a busy machine makes doubtful"
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    assert "1 (baseline)" in done.stdout
    every = run_here("measure", prompts, *pair, *flags, "--details", "--by-prompt", COLUMNS="80").stdout
    assert all(len(line) <= 80 for line in every.splitlines())
    assert "same as plain" in every


def test_several_jobs_without_joblib_leave_no_journal(
    run_here: Run, tmp_path: Path, prompts: str, pair: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "joblib", None)
    done = run_here("measure", prompts, *pair, "--no-timing", "--jobs", "2")
    assert done.returncode == 2
    assert "joblib is not installed" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == [prompts]


def test_acceptance_points_have_intervals_and_whole_ticks() -> None:
    prompts = tuple(Prompt(text, str(i)) for i, text in enumerate(("the end", "them", "then", "and")))
    sweep = Sweep(prompts, ("draft-0.6m",), ("ngram:n=1,min_n=1",), (4,), (0.0,), max_tokens=24, repeats=0)
    records = [record for unit in run_units(sweep, list(sweep.units())) for record in unit]
    summaries = summarise(records)
    first = summaries[1].acceptance_by_position[0]
    assert first.value is not None
    assert first.low is not None
    assert first.low <= first.value <= (first.high or 0.0)
    figure = sweep_figure(summaries, "a remark")
    places = figure.axes[1]
    assert any(len(bars.get_segments()) for bars in places.collections)
    assert all(float(tick).is_integer() for tick in places.get_xticks())


def test_commas_inside_a_kind_stay() -> None:
    assert split("a,ngram:n=3,tokens=2,suffix, b ,") == ["a", "ngram:n=3,tokens=2", "suffix", "b"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_sweep_on_a_dask_cluster_prints_what_one_process_prints(
    run: Run, prompts: str, pair: tuple[str, ...]
) -> None:
    distributed = pytest.importorskip("dask.distributed")
    sweep = ("measure", prompts, *pair, "--gamma", "0,1,3", "--temperature", "0,1", "--no-timing")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        spread = run(*sweep, "--on", f"dask:{cluster.scheduler_address}")
    assert spread.returncode == 0, spread.stderr
    assert spread.stdout == run(*sweep).stdout
    assert spread.stdout == run(*sweep, "--jobs", "2").stdout


def test_against_an_earlier_report_it_says_what_changed_by_an_exit_code(
    run_here: Run, tmp_path: Path, target: str, draft: str
) -> None:
    (tmp_path / "p.txt").write_text("".join(f"the end {i}\n" for i in range(12)), encoding="utf-8")
    arguments = ("measure", "p.txt", "--target", target, "--draft", draft, "--max-tokens", "6", "--no-timing")
    old = json.loads(run_here(*arguments, "--json").stdout)
    (tmp_path / "old.json").write_text(json.dumps(old), encoding="utf-8")
    again = run_here(*arguments, "--against", "old.json")
    assert again.returncode == 0, again.stderr
    assert "nothing changed by more than noise" in again.stdout
    told = json.loads(run_here(*arguments, "--against", "old.json", "--json").stdout)
    assert told["against"]["verdict"] == "not worse"
    for record in old["records"]:
        if record["draft"] is not None:  # as if every draft had been right before
            record["evaluated_per_pos"] = record["accepted_per_pos"] = [1, 1, 1]
            record["num_evaluated_tokens"] = record["num_accepted_tokens"] = 3
    (tmp_path / "old.json").write_text(json.dumps(old), encoding="utf-8")
    worse = run_here(*arguments, "--against", "old.json")
    assert (worse.returncode, "fell: α" in worse.stdout) == (1, True), worse.stdout
    assert run_here(*arguments, "--against", "p.txt").returncode == 2
