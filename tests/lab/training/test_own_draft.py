"""``minispec train-draft``: a draft for a target of one's own; what it learns, goes on with, and refuses."""
# ruff: noqa: E402 - PyTorch is optional: skip before importing what needs it

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from click.testing import CliRunner, Result
from safetensors import SafetensorError
from safetensors.torch import save_file

from minispec import generate
from minispec.cli.main import cli
from minispec.cli.train_draft import train_draft
from minispec.engine.loading import load_model
from minispec.errors import InputError, MinispecError, OutputError
from minispec.lab.training.export import export_model, hugging_face_tensors
from minispec.lab.training.model import GPT2
from minispec.lab.training.own_draft import OwnDraft, measure
from minispec.lab.training.recipe import TARGET
from minispec.lab.training.trainer import Stage
from tests.lab.training.toys import documents, toy_preset


@pytest.fixture(scope="module")
def target(packed_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As `save_pretrained` may write one: bfloat16, and ``n_inner`` null."""
    torch.manual_seed(0)
    shape = toy_preset(context=48).shapes[TARGET]
    model = GPT2(replace(shape, inner=4 * shape.width))
    with torch.no_grad():
        model.wte.weight.mul_(20.0)  # far from uniform: something to be learnt
    folder = tmp_path_factory.mktemp("target") / "mine"
    export_model(model, packed_folder / "tokenizer.json", folder)
    tensors = {name: value.bfloat16() for name, value in hugging_face_tensors(model).items()}
    save_file(tensors, folder / "model.safetensors")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"n_inner": None}))
    (folder / "SHA256SUMS").unlink()
    return folder


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("text") / "mine.txt"
    path.write_text("".join(documents(seed) for seed in range(4)), encoding="utf-8")
    return path


def train(target: Path, text: Path, folder: Path, *flags: str) -> Result:
    command = ["--target", str(target), "--text", str(text), "-o", str(folder), "--size", "1x32", *flags]
    return CliRunner().invoke(train_draft, command)


def test_a_draft_is_trained_goes_on_where_it_stopped_and_drafts(
    target: Path, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flags = ("--write", "600", "--steps", "40", "--minutes", "600")
    whole = train(target, text, tmp_path / "whole", *flags)
    assert whole.exit_code == 0, whole.output
    assert whole.stdout.count("\n") == 2
    assert "what it gains here: minispec measure" in whole.stdout
    assert "α on held-out text" in whole.stderr

    update = Stage._update

    def interrupt(self: Stage, *args):
        self.stop_requested = self.step == 17
        return update(self, *args)

    with monkeypatch.context() as patch:
        patch.setattr(Stage, "_update", interrupt)
        stopped = train(target, text, tmp_path / "again", *flags)
    assert stopped.exit_code == 1  # click's own for what `minispec` ends with 130
    assert "stopped at step 18 of 40; the same command goes on" in stopped.stderr
    assert not (tmp_path / "again" / "config.json").exists()
    for other in (("--size", "2x32"), ("--steps", "41"), ("--write", "700")):
        with monkeypatch.context() as patch:
            if other[0] == "--size":  # the target is the next larger one
                patch.setattr("minispec.lab.training.own_draft.read_size", lambda size, shape: shape)
            refused = train(target, text, tmp_path / "again", *flags, *other).exception
        assert isinstance(refused, InputError), other
        assert "Give a folder of its own with --output" in str(refused)
    assert "(600, not 700)" in str(refused)
    written = list((tmp_path / "again" / "training").glob("written-*"))
    assert len(written) == 1, "the target has written nothing for what is refused"
    assert train(target, text, tmp_path / "again", *flags).exit_code == 0
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "again")]
    assert weights[0] == weights[1]
    assert not (tmp_path / "again" / "training").exists()

    draft = load_model(tmp_path / "whole")
    assert draft.config.eos_token_id == load_model(target).config.eos_token_id
    texts = [generate("The fox", target=str(target), draft=each, max_tokens=24, verify="match", seed=3).token_ids
             for each in (str(tmp_path / "whole"), None)]  # fmt: skip
    assert texts[0] == texts[1]
    assert "| mine | 1 |" in (tmp_path / "whole" / "README.md").read_text(encoding="utf-8")
    assert isinstance(train(target, text, tmp_path / "whole", *flags).exception, InputError)


@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), SafetensorError("No space left on device"), KeyboardInterrupt()]
)
def test_a_finished_training_outlives_an_export_that_fails(
    error: BaseException, target: Path, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object) -> str:
        raise error

    flags, folder = ("--write", "0", "--steps", "4"), tmp_path / "draft"
    with monkeypatch.context() as patch:
        patch.setattr("minispec.lab.training.own_draft.acceptance_table", fail)  # behind the weights
        failed = train(target, text, folder, *flags)
    assert failed.exit_code
    if isinstance(error, Exception):
        assert isinstance(failed.exception, OutputError)
        assert "No space left on device. Free some space; the same command goes on" in str(failed.exception)
    assert {path.name for path in folder.iterdir()} == {"training"}
    (folder / "model.safetensors").write_bytes(b"as if Ctrl-C came between two files")
    again = train(target, text, folder, *flags)
    assert again.exit_code == 0, again.output
    assert load_model(folder).config.n_layer == 1
    assert {path.name for path in folder.iterdir()} == {path.name for path in target.iterdir()} | {"README.md"}


def test_the_guide_runs_on_a_tiny_pair(
    target: Path, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[3] / "docs" / "your-own-gpt2.md").read_text(encoding="utf-8")
    block = re.findall(r"```bash\n(.*?)```", page.partition("## Train a draft")[2], re.DOTALL)[0]
    small = {
        "train-draft": "--steps 8 --write 300 --size 1x32",
        "measure": "--max-tokens 4 --repeats 1 --limit 1 --backend numpy",
    }
    for line in block.splitlines():
        program, name, *rest = shlex.split(line)
        named = [{"my-gpt2": str(target), "my-text.txt": str(text)}.get(word, word) for word in rest]
        done = CliRunner().invoke(cli, [name, *named, *small[name].split()])
        assert (program, done.exit_code) == ("minispec", 0), (done.output, done.exception)
    assert "my-draft" in done.output


def test_what_it_learns_is_accepted_more_often(target: Path, text: Path, tmp_path: Path) -> None:
    stage = OwnDraft(str(target), [text], tmp_path, "1x32", 0, 60).open()
    before = measure(stage, stage.models["draft"])
    for _ in stage.run():
        pass
    after = measure(stage, stage.models["draft"])
    assert after[1].shares[0] > 1.2 * before[1].shares[0]
    assert 0.0 <= before[1].shares[0] <= after[1].shares[0] <= 1.0


def test_bad_input_is_one_line_and_leaves_nothing(target: Path, text: Path, tmp_path: Path) -> None:
    short = tmp_path / "short.txt"
    short.write_text("Once.", encoding="utf-8")
    untied = tmp_path / "untied"
    untied.mkdir()
    for path in target.iterdir():
        (untied / path.name).write_bytes(path.read_bytes())
    config = json.loads((target / "config.json").read_text())
    (untied / "config.json").write_text(json.dumps({**config, "tie_word_embeddings": False}))
    for where, given, flags, said in (
        (target, text, ("--size", "2x33"), "--size 2x128"),
        (target, text, ("--size", "9x320"), "smaller than its target"),
        (target, short, (), "Give more text"),
        (tmp_path / "nothing", text, (), "no bundled model"),
        (untied, text, (), ""),
    ):
        found = train(where, given, tmp_path / "new", *flags).exception
        assert isinstance(found, MinispecError), (said, found)
        assert said in str(found)
        assert "\n" not in str(found)
        assert not (tmp_path / "new").exists()
