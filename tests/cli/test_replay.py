"""``minispec replay`` and the looks of ``generate`` as a user meets them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.test_generate import CONTROL, on_a_terminal


@pytest.fixture
def recorded(run_here: Run, target: str, draft: str) -> tuple[str, str]:
    """A speculative run and a plain one of the same prompt, in the folder of the test."""
    base = ("generate", "the", "--target", target, "--max-tokens", "20", "--seed", "3", "--quiet")
    for name, draft_name in (("run.jsonl", draft), ("plain.jsonl", "none")):
        assert run_here(*base, "--draft", draft_name, "--trace", name).returncode == 0
    return "run.jsonl", "plain.jsonl"


def test_a_replay_ends_in_the_text_and_the_table(run_here: Run, recorded: tuple[str, str], tmp_path: Path) -> None:
    done = run_here("replay", recorded[0], "--speed", "10000")
    assert done.returncode == 0, done.stderr
    text = json.loads((tmp_path / recorded[0]).read_text(encoding="utf-8").split("\n")[-2])["text"]
    assert re.sub(r"\[-.*?-\]", "", done.stdout, flags=re.DOTALL) == text + "\n"
    assert "mean acceptance length" in done.stderr
    assert "\x1b" not in done.stdout + done.stderr


def test_on_a_terminal_drafts_are_there_before_their_verdict(recorded: tuple[str, str], tmp_path: Path) -> None:
    shown = on_a_terminal(["replay", str(tmp_path / recorded[0]), "--speed", "500/s"], 60)
    assert re.search(r"\x1b\[3;", shown)  # drafts wait in italics
    assert re.search(r"\x1b\[9;", shown)  # and some are struck
    assert shown.index("accepted") < shown.index("\x1b[1mthe")  # the legend stands before the text
    without_colour = on_a_terminal(["replay", str(tmp_path / recorded[0]), "--speed", "500/s"], 60, NO_COLOR="1")
    assert "38;" not in without_colour
    assert re.search(r"\x1b\[9m", without_colour)


def test_a_race_needs_a_plain_run_of_the_same_prompt(
    run_here: Run, recorded: tuple[str, str], tmp_path: Path, target: str
) -> None:
    done = run_here("replay", recorded[0], "--race", recorded[1], "--speed", "10000")
    assert done.returncode == 0, done.stderr
    assert "20 tokens, 19 target passes" in done.stdout
    assert "speculative decoding" in done.stdout
    refused = run_here("replay", recorded[0], "--race", recorded[0])
    assert refused.returncode == 2
    assert "has drafts" in refused.stderr
    run_here("generate", "end", "--target", target, "--draft", "none", "--max-tokens", "5", "--trace", "other.jsonl")
    assert "another prompt" in run_here("replay", recorded[0], "--race", "other.jsonl").stderr


def test_files_are_written_instead(run_here: Run, recorded: tuple[str, str], tmp_path: Path) -> None:
    done = run_here("replay", recorded[0], "--html", "run.html", "--svg", "run.svg")
    assert (done.returncode, done.stdout) == (0, "")
    assert "Play again" in (tmp_path / "run.html").read_text(encoding="utf-8")
    picture = (tmp_path / "run.svg").read_text(encoding="utf-8")
    assert picture.startswith("<svg")
    assert "recovered" in picture
    both = ("--race", recorded[1], "--html", "race.html", "--svg", "race.svg")
    assert run_here("replay", recorded[0], *both).returncode == 0
    assert (tmp_path / "race.html").read_text(encoding="utf-8").count('class="film"') == 2


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("nowhere.jsonl",), "cannot be read"),
        (("run.jsonl", "--speed", "fast"), "is no speed"),
        (("run.jsonl", "--speed", "0"), "is no speed"),
        (("run.jsonl", "--html", "."), "is a folder"),
        (("run.jsonl", "--svg", "nowhere/a.svg"), "does not exist"),
    ],
)
def test_bad_input_is_one_line(
    run_here: Run, recorded: tuple[str, str], tmp_path: Path, arguments: tuple[str, ...], complaint: str
) -> None:
    before = sorted(tmp_path.rglob("*"))
    done = run_here("replay", *arguments)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert done.stderr.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == before


def test_a_race_of_two_live_runs(target: str, draft: str) -> None:
    arguments = ["generate", "the", "--target", target, "--draft", draft, "--max-tokens", "6", "--race"]
    shown = CONTROL.sub("", on_a_terminal(arguments, 90))
    assert "6 tokens, 5 target passes" in shown
    assert shown.count("✓") >= 2
