"""Laws of the training loop: it learns, it resumes bit for bit, and batches depend on (seed, step) alone."""
# ruff: noqa: E402 - PyTorch is optional: skip before importing what needs it

from __future__ import annotations

import json
import resource
import shutil
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from click.testing import CliRunner
from tokenizers import Tokenizer

from minispec.errors import CheckpointError, OutputError
from minispec.lab.training import checkpoint, trainer
from minispec.lab.training.data import Batches, load_packed
from minispec.lab.training.mixture import DOMAINS
from minispec.lab.training.model import GPT2, carry_over
from minispec.lab.training.recipe import TARGET
from minispec.lab.training.stages import Workshop
from minispec.lab.training.trainer import Stage
from tests.lab.training.toys import toy_preset


def toy_stage(packed_folder: Path, folder: Path, **changes) -> Stage:
    preset = toy_preset()
    plan = replace(preset.target, **changes)
    packed = load_packed(packed_folder / "packed", "train", tuple(plan.mix))
    valid = load_packed(packed_folder / "packed", "valid", tuple(DOMAINS))
    return Stage(folder, {TARGET: preset.shapes[TARGET]}, plan, packed, valid)


def take(stage: Stage, num_steps: int) -> None:
    """Run a number of steps, then stop as a signal would."""
    for tick in stage.run(report_every=1):
        if tick.step == num_steps:
            stage.stop_requested = True


def all_tensors(stage: Stage) -> dict[str, torch.Tensor]:
    weights = {f"model/{key}": value for key, value in stage.models[TARGET].state_dict().items()}
    return weights | checkpoint.optimizer_tensors(stage.optimizers, stage.names)


def differing(left: dict[str, torch.Tensor], right: dict[str, torch.Tensor]) -> list[str]:
    assert left.keys() == right.keys()
    return [key for key in left if not torch.equal(left[key], right[key])]


def test_the_loss_falls(packed_folder, tmp_path):
    ticks = list(toy_stage(packed_folder, tmp_path, steps=40, validate_every=20).run(report_every=10))
    assert ticks[-1].losses[TARGET] < ticks[0].losses[TARGET] - 1.0
    first, last = (sum(t.validation[TARGET].values()) for t in ticks if t.validation is not None)
    assert last < first


def test_without_a_learning_rate_the_loss_does_not_fall(packed_folder, tmp_path):
    """The control of the test above: what falls is learnt, not an artefact of the reporting."""
    ticks = list(toy_stage(packed_folder, tmp_path, steps=40, muon_lr=0.0, adamw_lr=0.0).run(report_every=10))
    assert ticks[-1].losses[TARGET] > ticks[0].losses[TARGET] - 0.2


def test_resuming_is_exact(packed_folder, tmp_path):
    whole = toy_stage(packed_folder, tmp_path / "whole")
    take(whole, 6)
    take(toy_stage(packed_folder, tmp_path / "parts"), 3)
    resumed = toy_stage(packed_folder, tmp_path / "parts")
    assert (resumed.step, resumed.tokens) == (3, 3 * 8 * 16)
    take(resumed, 6)
    assert differing(all_tensors(whole), all_tensors(resumed)) == []
    assert resumed.tokens == whole.tokens


def test_a_resumed_run_keeps_its_number_format(packed_folder, tmp_path, monkeypatch):
    """Which format is the faster one is measured once: measured again on a busy machine, it came out otherwise."""
    monkeypatch.setattr(trainer, "bfloat16_pays", lambda device: True)
    whole = toy_stage(packed_folder, tmp_path / "whole")
    take(whole, 6)
    take(toy_stage(packed_folder, tmp_path / "parts"), 3)
    monkeypatch.setattr(trainer, "bfloat16_pays", lambda device: False)
    resumed = toy_stage(packed_folder, tmp_path / "parts")
    take(resumed, 6)
    assert differing(all_tensors(whole), all_tensors(resumed)) == []


def test_resuming_without_the_optimizer_state_would_differ(packed_folder, tmp_path):
    whole = toy_stage(packed_folder, tmp_path / "whole")
    take(whole, 6)
    take(toy_stage(packed_folder, tmp_path / "parts"), 3)
    resumed = toy_stage(packed_folder, tmp_path / "parts")
    for optimizer in resumed.optimizers[TARGET]:
        optimizer.state.clear()
    take(resumed, 6)
    assert differing(all_tensors(whole), all_tensors(resumed))


def test_a_run_resumed_over_its_long_rows_and_end_is_exact_too(packed_folder, tmp_path):
    whole = toy_stage(packed_folder, tmp_path / "whole")
    list(whole.run())
    for stop in (5, 10, 99):
        part = toy_stage(packed_folder, tmp_path / "parts")
        take(part, stop)
    assert part.finished
    assert differing(all_tensors(whole), all_tensors(part)) == []
    assert part.history == whole.history


def test_every_fourth_step_and_held_out_text_have_rows_as_long_as_the_context(packed_folder, tmp_path, monkeypatch):
    """With short rows alone, or a best checkpoint chosen on them, the export would see nothing behind a short row."""
    stage, fed, held_out = toy_stage(packed_folder, tmp_path, steps=8, validate_every=8), [], []
    update, mean_loss = stage._update, trainer.mean_loss

    def note_batch(compute, tokens, offsets):
        fed.append(tokens.shape[1] - 1)
        return update(compute, tokens, offsets)

    def note_rows(model, rows, device):
        held_out.append(rows.shape[1] - 1)
        return mean_loss(model, rows, device)

    monkeypatch.setattr(stage, "_update", note_batch)
    monkeypatch.setattr(trainer, "mean_loss", note_rows)
    list(stage.run())
    assert fed == [16, 16, 16, 256] * 2
    assert set(held_out) == {256}


def test_batches_are_a_pure_function_of_seed_and_step(packed_folder):
    packed = load_packed(packed_folder / "packed", "train", ("tinystories", "functions"))
    batches = Batches(packed, {"tinystories": 0.5, "functions": 0.5}, 64, seed=1)
    later = batches.at(7, 8, 16)
    for step in (3, 0, 12):
        batches.at(step, 8, 16)
    again = Batches(packed, {"functions": 0.5, "tinystories": 0.5}, 64, seed=1).at(7, 8, 16)
    np.testing.assert_array_equal(later.tokens, again.tokens)
    np.testing.assert_array_equal(later.offsets, again.offsets)
    for other in (batches.at(8, 8, 16), replace(batches, seed=2).at(7, 8, 16)):
        assert not np.array_equal(later.tokens, other.tokens)


def test_batches_keep_the_mix_and_reach_every_position():
    packed = {"a": np.full(500, 1, np.uint16), "b": np.full(500, 2, np.uint16)}
    batches = Batches(packed, {"a": 0.25, "b": 0.75}, 64, seed=0)
    drawn = [batches.at(step, 8, 16) for step in range(400)]
    assert {int((batch.tokens[:, 0] - 1).sum()) for batch in drawn} == {6}  # 0.75 of 8 rows, in every batch
    offsets = np.concatenate([batch.offsets for batch in drawn])
    assert set(offsets) == set(range(64 - 16 + 1))
    assert 0.4 < (offsets == 0).mean() < 0.6


def test_a_deadline_shortens_the_run_and_the_rate_still_falls_to_its_end(packed_folder, tmp_path):
    stage = toy_stage(packed_folder, tmp_path, steps=100_000, validate_every=50, patience=10_000)
    list(stage.run(deadline=time.time() + 2.0))
    assert stage.finished
    assert 20 < stage.step < 100_000
    assert stage.schedule.scale(stage.schedule.end) == pytest.approx(stage.schedule.final)


def test_a_time_limit_stops_and_leaves_a_checkpoint(packed_folder, tmp_path):
    stage = toy_stage(packed_folder, tmp_path)
    list(stage.run(stop_at=time.time() - 1))
    assert stage.step == 0
    assert not stage.finished
    assert toy_stage(packed_folder, tmp_path).step == 0


def test_early_stop(packed_folder, tmp_path):
    stage = toy_stage(packed_folder, tmp_path, steps=60, validate_every=1, patience=2, muon_lr=0.0, adamw_lr=0.0)
    list(stage.run())
    assert stage.step == 3  # a first best, then two validations no better


def test_a_checkpoint_of_another_shape_is_refused(packed_folder, tmp_path):
    take(toy_stage(packed_folder, tmp_path), 1)
    preset = toy_preset(context=32)
    wide = replace(preset.shapes[TARGET], width=48)
    with pytest.raises(CheckpointError, match=r"has h\.0\..* of shape .*; this model needs"):
        Stage(tmp_path, {TARGET: wide}, toy_preset().target, {}, {})


def test_a_checkpoint_of_another_plan_is_refused(packed_folder, tmp_path):
    take(toy_stage(packed_folder, tmp_path), 1)
    with pytest.raises(CheckpointError, match="other seed;"):
        toy_stage(packed_folder, tmp_path, seed=99)


def test_a_checkpoint_of_before_a_number_was_added_goes_on(packed_folder, tmp_path):
    take(toy_stage(packed_folder, tmp_path), 1)
    path = tmp_path / "last" / "state.json"
    state = json.loads(path.read_text(encoding="utf-8"))
    del state["plan"]["acceptance_weight"]
    path.write_text(json.dumps(state), encoding="utf-8")
    assert toy_stage(packed_folder, tmp_path).step == 1
    with pytest.raises(CheckpointError, match="other acceptance_weight;"):
        toy_stage(packed_folder, tmp_path, acceptance_weight=0.5)


def test_a_damaged_checkpoint_is_refused(packed_folder, tmp_path):
    take(toy_stage(packed_folder, tmp_path), 1)
    weights = tmp_path / "last" / f"{TARGET}.safetensors"
    weights.write_bytes(weights.read_bytes()[:100])
    with pytest.raises(CheckpointError, match="not a whole safetensors file"):
        toy_stage(packed_folder, tmp_path)


def test_what_no_longer_fits_on_the_disk_leaves_the_older_checkpoint(packed_folder, tmp_path):
    stage = toy_stage(packed_folder, tmp_path)
    take(stage, 1)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(OutputError, match=r"last cannot be written: .*Free some space; the same command goes on"):
            take(stage, 1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_no_room_on_disk_is_said_before_any_work(packed_folder, tmp_path, monkeypatch):
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=1000))
    with pytest.raises(OutputError, match="0 MB free"):
        toy_stage(packed_folder, tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "command",
    [
        ["pack", "--corpus", "{corpus}", "--code", "{code}", "--work", "{work}"],
        ["train", "target", "--work", "{work}"],
    ],
)
def test_a_full_disk_is_one_line_at_the_command(
    command, toy_command, packed_folder, corpus_folder, code_folder, tmp_path, monkeypatch
):
    shutil.copytree(packed_folder, tmp_path / "work")
    shutil.rmtree(tmp_path / "work" / "toy", ignore_errors=True)
    before = sorted(tmp_path.rglob("*"))
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=1000))
    arguments = [part.format(corpus=corpus_folder, code=code_folder, work=tmp_path / "work") for part in command]
    result = CliRunner().invoke(toy_command, arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")
    assert "0 MB free" in result.stderr
    assert result.stderr.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_the_recipe_learns_on_a_gpu(packed_folder, tmp_path):
    stage = toy_stage(packed_folder, tmp_path, steps=40)
    on_gpu = Stage(tmp_path, stage.shapes, stage.plan, stage.packed, stage.valid, device="cuda", compiled=True)
    ticks = list(on_gpu.run(report_every=10))
    assert ticks[-1].losses[TARGET] < ticks[0].losses[TARGET] - 1.0


def test_a_stage_asks_for_the_one_before_it(packed_folder):
    with pytest.raises(CheckpointError, match="Finish drafts first"):
        Workshop(toy_preset(), packed_folder).stage("distilled")


def test_no_checkpoint_file_is_a_pickle(packed_folder, tmp_path):
    list(toy_stage(packed_folder, tmp_path).run())
    suffixes = {path.suffix for path in tmp_path.rglob("*") if path.is_file()}
    assert suffixes == {".safetensors", ".json"}


def test_weights_carried_over_to_another_vocabulary_keep_what_both_have(packed_folder, tmp_path):
    old = Tokenizer.from_file(str(packed_folder / "tokenizer.json"))
    words = json.loads(old.to_str())["model"]["vocab"]
    shuffled = dict(
        zip(words, [0, *np.random.default_rng(0).permutation(np.arange(1, len(words))).tolist()], strict=True)
    )
    new = json.loads(old.to_str())
    new["model"]["vocab"] = shuffled
    new = Tokenizer.from_str(json.dumps(new))
    model = GPT2(toy_preset().shapes[TARGET])
    before = model.wte.weight.detach().clone()
    assert carry_over(model, old, new) == len(words)
    for word, number in shuffled.items():
        assert torch.equal(model.wte.weight[number], before[words[word]])


def test_a_new_token_begins_as_the_mean_of_its_pieces(packed_folder):
    new = Tokenizer.from_file(str(packed_folder / "tokenizer.json"))
    content = json.loads(new.to_str())
    merge = content["model"]["merges"].pop()  # the last token made: no other is made of it
    word = "".join(merge)
    number = content["model"]["vocab"].pop(word)
    old = Tokenizer.from_str(json.dumps(content))
    model = GPT2(toy_preset().shapes[TARGET])
    before = model.wte.weight.detach().clone()
    assert carry_over(model, old, new) == len(content["model"]["vocab"])
    pieces = [content["model"]["vocab"][part] for part in merge]
    torch.testing.assert_close(model.wte.weight[number], before[pieces].mean(0))


def test_dropout_is_left_out_of_what_is_held_out(packed_folder, tmp_path):
    """The same weights score the same held-out text with and without it; in training they do not."""
    stages = [toy_stage(packed_folder, tmp_path / str(share), dropout=share) for share in (0.0, 0.5)]
    assert stages[0].validate() == stages[1].validate()
    first = [next(iter(stage.run(report_every=1))).losses[TARGET] for stage in stages]
    assert first[0] != first[1]
