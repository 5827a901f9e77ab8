"""The whole recipe on a toy corpus, as its commands run it."""
# ruff: noqa: E402 - PyTorch is optional: skip before importing what needs it

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from datetime import datetime

import pytest

torch = pytest.importorskip("torch")

from click.testing import CliRunner
from safetensors.torch import load_file
from tokenizers import Tokenizer

from minispec.errors import OptionError
from minispec.lab.training.__main__ import parse_clock
from minispec.lab.training.export import export_model
from minispec.lab.training.model import GPT2
from minispec.lab.training.recipe import CODE, DRAFT, TARGET
from minispec.lab.training.stages import BUNDLED, MEMBERS
from tests.lab.training.toys import toy_preset

#: Checks of a few texts and tokens.
SMALL_CHECKS = {
    "NUM_TEXTS": 3,
    "NUM_SUMS": 2,
    "BEGINNING_TOKENS": 8,
    "STORY_TOKENS": 12,
    "SUM_TOKENS": 6,
    "CODE_TOKENS": 12,
    "PERPLEXITY_ROWS": 3,
    "ROW_TOKENS": 32,
}


@pytest.fixture
def everything(corpus_folder, code_folder, tmp_path):
    folders = ["--corpus", str(corpus_folder), "--code", str(code_folder), "--work", str(tmp_path / "work")]
    return ["all", *folders, "--weights", str(tmp_path / "weights")]


def test_the_whole_recipe_runs_and_runs_again(everything, toy_command, tmp_path, monkeypatch):
    monkeypatch.setattr("minispec.lab.training.report.PROMPT_TOKENS", 8)
    monkeypatch.setattr("minispec.lab.training.report.SAMPLE_TOKENS", 8)
    for name, value in SMALL_CHECKS.items():
        monkeypatch.setattr(f"minispec.lab.training.checks.{name}", value)
    arguments = [*everything, "--rows", "2", "--tokens", "16"]
    result = CliRunner().invoke(toy_command, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    for name in BUNDLED:
        names = {path.name for path in (tmp_path / "weights" / name).iterdir()}
        assert names == {
            "README.md",
            "SHA256SUMS",
            "config.json",
            "generation_config.json",
            "model.safetensors",
            "tokenizer.json",
            "tokenizer_config.json",
        }
        card = (tmp_path / "weights" / name / "README.md").read_text()
        for heading in ("How it was trained", "Perplexity", "Agreement", "Samples", "Limits", "Licence"):
            assert f"## {heading}" in card
        assert ("## What it can do" in card) == (name == TARGET)
        assert ("## What distillation gained" in card) == (name == DRAFT)
        assert ("cross-entropy, dropout 0.1" in card) == (name == TARGET)
        assert ("| written: what the target wrote" in card) == (name not in {TARGET, CODE})
        assert str(tmp_path) not in card
    assert "| reached |" in result.output
    report = json.loads((tmp_path / "weights" / "report.json").read_text())
    assert report["stages"]["target"]["tokens"] == 9 * 8 * 16 + 3 * 256  # short rows, then long ones
    assert all(0 <= cell["alpha"] <= 1 for cell in report["agreement"][DRAFT]["code"].values())

    weights = tmp_path / "weights" / TARGET / "model.safetensors"
    before = load_file(weights)
    again = CliRunner().invoke(toy_command, arguments, catch_exceptions=False)
    assert again.output.count("is finished already") == 5
    after = load_file(weights)
    assert all(torch.equal(before[key], after[key]) for key in before)


def test_the_check_command_measures_an_exported_target_alone(toy_command, packed_folder, tmp_path, monkeypatch):
    for name, value in SMALL_CHECKS.items():
        monkeypatch.setattr(f"minispec.lab.training.checks.{name}", value)
    export_model(GPT2(toy_preset().shapes[TARGET]), packed_folder / "tokenizer.json", tmp_path / TARGET)
    arguments = ["check", "--work", str(packed_folder), "--weights", str(tmp_path)]
    result = CliRunner().invoke(toy_command, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    assert result.output.count("| no |") >= 3  # fresh weights reach few bars
    again = CliRunner().invoke(toy_command, arguments, catch_exceptions=False)
    assert again.output == result.output


def test_checking_a_model_of_another_vocabulary_is_one_line(toy_command, packed_folder, tmp_path):
    other = Tokenizer.from_file(str(packed_folder / "tokenizer.json"))
    other.add_special_tokens(["<|other|>"])
    other.save(str(tmp_path / "tokenizer.json"))
    export_model(GPT2(toy_preset().shapes[TARGET]), tmp_path / "tokenizer.json", tmp_path / TARGET)
    result = CliRunner().invoke(toy_command, ["check", "--work", str(packed_folder), "--weights", str(tmp_path)])
    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")
    assert "another vocabulary" in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (None, None),  # the control
        ("shape", "has width 48; target-17m has 32"),
        ("vocabulary", "has another vocabulary"),
        ("weights", "not a whole safetensors file"),
        ("empty", "has no config.json"),
    ],
)
def test_starting_from_exported_weights(spoil, message, toy_command, packed_folder, tmp_path):
    work, given = tmp_path / "work", tmp_path / "given"
    shutil.copytree(packed_folder, work)
    shutil.rmtree(work / "toy", ignore_errors=True)
    shape = toy_preset().shapes[TARGET]
    model = GPT2(replace(shape, width=48) if spoil == "shape" else shape)
    export_model(model, work / "tokenizer.json", given / TARGET)
    if spoil == "vocabulary":
        (given / TARGET / "tokenizer.json").write_text((given / TARGET / "tokenizer.json").read_text() + "\n")
    elif spoil == "weights":
        (given / TARGET / "model.safetensors").write_bytes(b"short")
    elif spoil == "empty":
        (given / TARGET / "config.json").unlink()
    arguments = ["train", "target", "--work", str(work), "--init", str(given)]
    result = CliRunner().invoke(toy_command, [*arguments, "--max-minutes", "0.00001"])
    if message is not None:
        assert result.exit_code == 2
        assert result.stderr.startswith("error: ")
        assert message in result.stderr
        assert result.stderr.count("\n") == 1
        assert not (work / "toy" / "target").exists()
        return
    assert result.exit_code == 0, result.stderr
    begun = load_file(work / "toy" / "target" / "last" / f"{TARGET}.safetensors")
    exported = load_file(given / TARGET / "model.safetensors")
    assert all(torch.equal(begun[key].half(), exported[f"transformer.{key}"]) for key in begun)  # no step was taken yet
    export_model(GPT2(shape), work / "tokenizer.json", given / TARGET)  # another run than that
    assert "began with another init target-17m" in CliRunner().invoke(toy_command, arguments).stderr
    assert CliRunner().invoke(toy_command, arguments[:4]).exit_code == 0  # without --init it simply goes on


def test_another_vocabulary_is_taken_when_asked_for(toy_command, packed_folder, tmp_path):
    work, given = tmp_path / "work", tmp_path / "given"
    shutil.copytree(packed_folder, work)
    shutil.rmtree(work / "toy", ignore_errors=True)
    export_model(GPT2(toy_preset().shapes[TARGET]), work / "tokenizer.json", given / TARGET)
    (given / TARGET / "tokenizer.json").write_text((given / TARGET / "tokenizer.json").read_text() + "\n")
    arguments = ["train", "target", "--work", str(work), "--init", str(given), "--new-vocabulary"]
    result = CliRunner().invoke(toy_command, [*arguments, "--max-minutes", "0.00001"])
    assert result.exit_code == 0, result.stderr
    assert (work / "toy" / "target" / "last").exists()


def test_a_stage_may_start_from_given_weights_instead_of_the_stage_before(toy_command, packed_folder, tmp_path):
    work, given = tmp_path / "work", tmp_path / "given"
    shutil.copytree(packed_folder, work)
    shutil.rmtree(work / "toy", ignore_errors=True)
    models = {name: GPT2(toy_preset().shapes[name]) for name in MEMBERS["control"]}
    for name, model in models.items():
        export_model(model, work / "tokenizer.json", given / name)
    (work / "toy" / "distilled" / "last").mkdir(parents=True)
    (work / "toy" / "distilled" / "last" / "state.json").write_text('{"step": 1, "finished": true}')
    assert CliRunner().invoke(toy_command, ["train", "target", "--work", str(work)]).exit_code == 0  # it writes text
    arguments = ["distill", "control", "--work", str(work), "--max-minutes", "0.00001"]
    assert "starts from one" in CliRunner().invoke(toy_command, arguments).stderr  # there is no stage drafts
    result = CliRunner().invoke(toy_command, [*arguments, "--init", str(given)])
    assert result.exit_code == 0, result.stderr
    for name, model in models.items():
        begun = load_file(work / "toy" / "control" / "last" / f"{name}.safetensors")
        assert torch.equal(begun["wte.weight"].half(), model.wte.weight.half())


def test_other_text_than_a_run_began_with_is_one_line(toy_command, packed_folder, tmp_path):
    work = tmp_path / "work"
    shutil.copytree(packed_folder, work)
    shutil.rmtree(work / "toy", ignore_errors=True)
    arguments = ["train", "target", "--work", str(work)]
    assert CliRunner().invoke(toy_command, [*arguments, "--max-minutes", "0.00001"]).exit_code == 0
    manifest = json.loads((work / "packed" / "manifest.json").read_text())
    manifest["mbpp.train"]["sha256"] = "0" * 64
    (work / "packed" / "manifest.json").write_text(json.dumps(manifest))
    result = CliRunner().invoke(toy_command, arguments)
    assert result.exit_code == 2
    assert "began with another mbpp" in result.stderr
    assert result.stderr.count("\n") == 1


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
