"""The whole recipe on a toy corpus, as its commands run it."""
# ruff: noqa: E402 - PyTorch is optional: skip before importing what needs it

from __future__ import annotations

import json
from datetime import datetime

import pytest

torch = pytest.importorskip("torch")

from click.testing import CliRunner
from safetensors.torch import load_file

from minispec.errors import OptionError
from minispec.training.__main__ import parse_clock
from minispec.training.recipe import DRAFT, TARGET
from minispec.training.stages import BUNDLED


@pytest.fixture
def everything(corpus_folder, code_folder, tmp_path):
    folders = ["--corpus", str(corpus_folder), "--code", str(code_folder), "--work", str(tmp_path / "work")]
    return ["all", *folders, "--weights", str(tmp_path / "weights")]


def test_the_whole_recipe_runs_and_runs_again(everything, toy_command, tmp_path, monkeypatch):
    monkeypatch.setattr("minispec.training.report.PROMPT_TOKENS", 8)
    monkeypatch.setattr("minispec.training.report.ROW_TOKENS", 32)
    monkeypatch.setattr("minispec.training.report.SAMPLE_TOKENS", 8)
    arguments = [*everything, "--rows", "2", "--tokens", "16"]
    result = CliRunner().invoke(toy_command, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    for name in BUNDLED:
        names = {path.name for path in (tmp_path / "weights" / name).iterdir()}
        assert names == {
            "README.md", "SHA256SUMS", "config.json", "generation_config.json", "model.safetensors", "tokenizer.json",
            "tokenizer_config.json",
        }  # fmt: skip
        card = (tmp_path / "weights" / name / "README.md").read_text()
        for heading in ("How it was trained", "Perplexity", "Agreement", "Samples", "Limits", "Licence"):
            assert f"## {heading}" in card
        assert ("## What distillation gained" in card) == (name == DRAFT)
        assert str(tmp_path) not in card
    report = json.loads((tmp_path / "weights" / "report.json").read_text())
    assert report["stages"]["target"]["tokens"] == 12 * 8 * 16
    assert all(0 <= cell["alpha"] <= 1 for cell in report["agreement"][DRAFT]["code"].values())

    weights = tmp_path / "weights" / TARGET / "model.safetensors"
    before = load_file(weights)
    again = CliRunner().invoke(toy_command, arguments, catch_exceptions=False)
    assert again.output.count("is finished already") == 5
    after = load_file(weights)
    assert all(torch.equal(before[key], after[key]) for key in before)


def test_a_time_limit_says_how_to_go_on(everything, toy_command):
    result = CliRunner().invoke(toy_command, [*everything, "--max-minutes", "0.00001"])
    assert result.exit_code == 0
    assert "resume with the same command" in result.output
    assert "finished after" not in result.output


def test_training_before_packing_is_one_line(toy_command, tmp_path):
    result = CliRunner().invoke(toy_command, ["train", "target", "--work", str(tmp_path)])
    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")
    assert "Run the pack stage first" in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_time_of_day_is_the_next_one():
    now = datetime(2024, 5, 1, 18, 0)
    assert parse_clock("18:30", now) == datetime(2024, 5, 1, 18, 30).timestamp()
    assert parse_clock("17:30", now) == datetime(2024, 5, 2, 17, 30).timestamp()
    assert parse_clock(None, now) is None
    with pytest.raises(OptionError, match="--finish-by is 'soon'"):
        parse_clock("soon", now)
