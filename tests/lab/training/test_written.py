"""Laws of the text that the target writes for its drafts, and of the stages that read it."""
# ruff: noqa: E402 - PyTorch is optional: skip before importing what needs it

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from click.testing import CliRunner

from minispec.lab.training import generate
from minispec.lab.training.__main__ import main
from minispec.lab.training.data import END_ID, Batches
from minispec.lab.training.generate import BEGINNING, ROW, TEMPERATURES, WRITTEN, continue_rows, write_text
from minispec.lab.training.model import GPT2
from minispec.lab.training.recipe import TARGET
from minispec.lab.training.stages import Workshop
from tests.lab.training.toys import toy_preset


@pytest.fixture
def target():
    torch.manual_seed(0)
    return GPT2(toy_preset().shapes[TARGET]).eval()


def beginnings(seed: int) -> Batches:
    text = np.random.default_rng(0).integers(1, 300, 4000).astype(np.uint16)
    return Batches({"a": text}, {"a": 1.0}, 256, seed)


def test_rows_go_on_from_beginnings_and_each_is_ended(target):
    tokens = write_text(target, beginnings(3), 3 * ROW)
    assert tokens.dtype == np.uint16
    assert len(tokens) >= 3 * ROW
    np.testing.assert_array_equal(tokens[:BEGINNING], beginnings(3).at(0, 3, BEGINNING).tokens[0, :BEGINNING])
    assert tokens[-1] == END_ID


def test_the_text_is_a_function_of_the_seed(target):
    first, again, other = (write_text(target, beginnings(seed), 600) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_it_is_the_target_that_writes_at_each_temperature_in_turn(target, monkeypatch):
    """More is asked for than one round of rows has, so there is a second one, at the other temperature."""
    monkeypatch.setattr(generate, "ROWS_AT_ONCE", 2)
    tokens = write_text(target, beginnings(5), 3 * ROW)
    for step, temperature in enumerate(TEMPERATURES):
        prompts = torch.from_numpy(beginnings(5).at(step, 2, BEGINNING).tokens[:, :BEGINNING])
        with torch.autocast("cpu", dtype=torch.bfloat16):
            expected = continue_rows(target, prompts, ROW - BEGINNING, temperature, 5 + step)
        rows, tokens = np.split(tokens, [2 * (expected.shape[1] + 1)])
        np.testing.assert_array_equal(rows.reshape(2, -1)[:, :-1], expected.numpy())
    assert len(tokens) == 0


def test_the_target_writes_once_and_the_manifest_says_what(toy_command, packed_folder, tmp_path):
    work = tmp_path / "work"
    shutil.copytree(packed_folder, work)
    shutil.rmtree(work / "toy", ignore_errors=True)
    for command in (["train", "drafts"], ["train", "target"], ["distill", "distilled"]):
        result = CliRunner().invoke(toy_command, [*command, "--work", str(work)])
        assert result.exit_code == 0, result.stderr
    workshop = Workshop(toy_preset(), work)
    tokens = np.load(workshop.written / f"{WRITTEN}.train.npy")
    entry = workshop.manifest[f"{WRITTEN}.train"]
    assert (entry["tokens"], entry["documents"]) == (len(tokens), np.count_nonzero(tokens == END_ID))
    assert len(tokens) >= toy_preset().distilled.written
    state = json.loads((workshop.folder("distilled") / "last" / "state.json").read_text())
    assert state["inputs"][WRITTEN] == entry["sha256"]
    before = (workshop.written / f"{WRITTEN}.train.npy").stat().st_mtime_ns
    assert set(workshop.texts(toy_preset().control)) == set(toy_preset().control.mix)
    assert (workshop.written / f"{WRITTEN}.train.npy").stat().st_mtime_ns == before


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a card")
def test_a_preset_for_a_card_is_refused_where_there_is_none(packed_folder, tmp_path):
    result = CliRunner().invoke(main, ["train", "target", "--preset", "gpu", "--work", str(tmp_path / "work")])
    assert result.exit_code == 2
    assert result.stderr.startswith("error: --preset gpu trains on cuda; PyTorch sees none here.")
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "work").exists()
