"""``minispec plan`` as a user runs it."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from minispec.cli.main import cli
from minispec.errors import MinispecError
from minispec.lab.explain.plan import Measured
from minispec.lab.explain.step_costs import VerifyCurve
from minispec.theory.intervals import Figure
from tests.cli.conftest import Run


def test_the_worksheets_counts_become_an_alpha_with_an_interval(run: Run, tmp_path: Path) -> None:
    counts = ("plan", "--drafted", "1000", "--accepted", "720", "--gamma", "5", "--cost-ratio", "0.1")
    done = run(*counts, "--plot", "plan.svg")
    assert done.returncode == 0, done.stderr
    assert "72.0 %, which is not α" in done.stdout
    assert "[0.868, 0.913]" in done.stdout
    assert (tmp_path / "plan.svg").stat().st_size > 1000
    told = json.loads(run(*counts, "--json").stdout)
    assert told["alpha"]["low"] < told["alpha"]["value"] < told["alpha"]["high"]
    assert told["best"]["gamma"] == 9
    assert len(told["lengths"]) == 17


def test_it_says_when_nothing_pays() -> None:
    done = CliRunner().invoke(cli, shlex.split("plan --alpha 0.2 --cost-ratio 0.3"))
    assert "no draft length pays" in done.output
    done = CliRunner().invoke(cli, shlex.split("plan --alpha 0.4 --cost-ratio 0.3"))
    assert "best γ 1" in done.output
    assert "assumes v = 1 (verifying costs no more than a plain step) and o = 0" in " ".join(done.output.split())
    done = CliRunner().invoke(cli, shlex.split("plan --alpha 0.4 --cost-ratio 0.2 --verify-cost 6=1.1 --overhead 0"))
    assert "assumes" not in done.output


def test_what_it_says_does_not_contradict_itself() -> None:
    def told(arguments: str) -> str:
        return " ".join(CliRunner().invoke(cli, shlex.split(f"plan {arguments}")).output.split())

    for words in (
        told("--alpha 0.4 --cost-ratio 0.3 --verify-cost 1.5"),
        told("--alpha 0.4 --cost-ratio 0.3 --overhead 1"),
    ):
        assert "no draft length pays" in words
        assert "drafts would pay if verification" in words
    assert "however cheap verification is" in told("--alpha 0.2 --cost-ratio 0.3")
    assert "γ 3 is the longest that was looked at" in told("--alpha 0.9 --cost-ratio 0.01 --max-gamma 3")
    assert "or c <" in told("--alpha 1 --cost-ratio 0.5")
    row = next(line for line in told("--alpha 1 --cost-ratio 2 --max-gamma 2 --gamma 1").split("γ ") if "never" in line)
    assert "1.000" in row  # where c may be up to 1: a figure, not "never"


def test_a_curve_of_verify_costs_counts() -> None:
    def best(arguments: str) -> int:
        done = CliRunner().invoke(cli, shlex.split(f"plan --alpha 0.8 --cost-ratio 0.02 --json {arguments}"))
        return int(json.loads(done.output)["best"]["gamma"])

    flat = best("")
    assert best("--verify-cost 2=1.2 --verify-cost 6=2.2") < flat
    assert best("--verify-cost 1.5") >= flat
    assert best("--overhead 0.5") >= flat


def test_alpha_and_costs_are_measured_on_a_prompt_file(run: Run, tmp_path: Path, target: str, draft: str) -> None:
    (tmp_path / "prompts.txt").write_text("the end\nthem\n", encoding="utf-8")
    told = json.loads(
        run("plan", "--prompts", "prompts.txt", "--target", target, "--draft", draft, "--gamma", "2", "--max-gamma",
            "4", "--max-tokens", "8", "--json").stdout
    )  # fmt: skip
    assert told["measured"]["num_prompts"] == 2
    assert told["measured"]["gamma"] == 2
    assert told["cost_ratio"] == told["measured"]["cost_ratio"] > 0.0
    assert told["alpha"] == told["measured"]["alpha"]


@pytest.mark.parametrize(
    ("given", "measured", "used"),
    [("", 0.25, 0.0), ("--verify-cost 1", 0.25, 0.25), ("--verify-cost 1 --overhead 0.5", 0.25, 0.5),
     ("--verify-cost 1", -0.1, 0.0)],
)  # fmt: skip
def test_a_measured_overhead_counts_once(
    given: str, measured: float, used: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    figure = Figure(0.8, 0.7, 0.9)
    found = Measured(figure, figure, figure, 3, 0.1, 1.0, measured, VerifyCurve({2: 1 + max(0, measured)}), 1)
    monkeypatch.setattr("minispec.cli.plan.measure_plan", lambda *args, **options: found)
    told = json.loads(CliRunner().invoke(cli, shlex.split(f"plan --measured --json --max-gamma 1 {given}")).output)
    assert told["overhead"] == used
    step = 1.1 + (used if given else measured)
    assert told["lengths"][1]["speedup"]["value"] == pytest.approx(1.8 / step)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("--alpha 1.2 --cost-ratio 0.1", "alpha is 1.2"),
        ("--alpha nan --cost-ratio 0.1", "alpha is nan"),
        ("--alpha 0.5 --cost-ratio 0", "cost ratio is 0.0"),
        ("--alpha 0.5 --cost-ratio -1", "cost ratio is -1.0"),
        ("--alpha 0.5", "cost ratio c is missing"),
        ("--cost-ratio 0.1", "alpha comes from nowhere"),
        ("--alpha 0.5 --measured", "alpha comes from --alpha and --measured"),
        ("--alpha 0.5 --drafted 5 --accepted 1 --gamma 5 --cost-ratio 0.1", "alpha comes from --alpha and --drafted"),
        ("--drafted 1000 --accepted 720 --cost-ratio 0.1", "drafted, accepted and gamma belong together"),
        ("--accepted 720 --gamma 5 --cost-ratio 0.1", "drafted, accepted and gamma belong together"),
        ("--drafted 10 --accepted 11 --gamma 5 --cost-ratio 0.1", "accepted tokens is 11"),
        ("--drafted 0 --accepted 0 --gamma 5 --cost-ratio 0.1", "drafted tokens is 0"),
        ("--alpha 0.5 --cost-ratio 0.1 --verify-cost 1.2 --verify-cost 6=1.3", "one number, or ROWS=V"),
        ("--alpha 0.5 --cost-ratio 0.1 --verify-cost six=1", "neither V nor ROWS=V"),
        ("--alpha 0.5 --cost-ratio 0.1 --verify-cost 6=0", "ROWS=V"),
        ("--alpha 0.8 --cost-ratio 0.01 --verify-cost 2=0.5", "verify cost is 2=0.5"),
        ("--alpha 0.8 --cost-ratio 0.01 --verify-cost 0.9", "verify cost is 0.9"),
        ("--alpha 0.5 --cost-ratio 0.1 --overhead -1", "overhead is -1.0"),
        ("--alpha 0.5 --cost-ratio 0.1 --max-gamma 0", "max-gamma is 0"),
        ("--from page.prom --cost-ratio 0.1 --plot plan.png", "--plot draws the speedups of --alpha"),
        ("--alpha 0.5 --cost-ratio 0.1 --plot plan.gif", "must end in .png"),
        ("--alpha 0.5 --cost-ratio 0.1 --max-gamma 100000000", "max-gamma is 100000000; a draft has 1 to 4096 tokens"),
        ("--alpha 0.5 --cost-ratio 0.1 --gamma -3", "gamma is -3; a draft has at least 1"),
        ("--alpha 0.5 --cost-ratio 0.1 --max-gamma 3 --gamma 5", "gamma is 5 and max-gamma 3"),
        ("--alpha 0.5 --cost-ratio 0.1 --verify-cost 1=2", "verify cost is 1=2; ROWS is at least 2"),
        ("--alpha 0.5 --cost-ratio 0.1 --verify-cost 6=2 --verify-cost 6=3", "two verify costs for 6 rows"),
        ("--alpha 0.5 --cost-ratio 0.1 --verify-cost 2 --verify-cost 3", "two verify costs for all drafts"),
        ("--alpha 0.5 --cost-ratio 0.1 --limit 2", "--limit is for measuring, and nothing is measured"),
        ("--alpha 0.5 --cost-ratio 0.1 --target nosuch", "--target is for measuring"),
        ("--alpha 0.5 --cost-ratio 0.1 --max-tokens 9", "Add --measured, or leave --max-tokens out"),
        ("--from page.prom --cost-ratio 0.1 --max-gamma 0", "max-gamma is 0; a draft has 1 to 4096 tokens"),
        ("--from page.prom --cost-ratio 0.1 --max-gamma -1", "max-gamma is -1; a draft has 1 to 4096 tokens"),
        ("--from page.prom --max-gamma 2", "--max-gamma has no effect without c. Add --cost-ratio 0.1, or leave"),
        ("--from page.prom --verify-cost 3", "--verify-cost has no effect without c"),
        ("--from page.prom --overhead 2", "--overhead has no effect without c"),
        ("--from page.prom --machine h100", "--machine has no effect without c"),
        ("--measured --overhead 0.5", "--overhead has no effect: the measured v(m) holds what a step adds"),
        ("--measured --draft none", "chains of drafts"),
        ("--prompts nowhere.txt", "cannot be read"),
    ],
)
def test_bad_input_is_one_line(arguments: str, complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises((MinispecError, click.UsageError)) as caught:
        cli.main(["plan", *shlex.split(arguments)], standalone_mode=False)
    message = caught.value.format_message() if isinstance(caught.value, click.UsageError) else str(caught.value)
    assert complaint in message
    assert "\n" not in message
    assert list(tmp_path.iterdir()) == []


def test_a_gamma_that_was_counted_may_be_longer_than_those_looked_at() -> None:
    counts = "plan --drafted 1000 --accepted 720 --gamma 20 --cost-ratio 0.1"
    assert CliRunner().invoke(cli, shlex.split(counts), env={"MINISPEC_TARGET": "nosuch"}).exit_code == 0
