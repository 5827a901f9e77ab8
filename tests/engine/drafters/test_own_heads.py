"""Heads in their target's folder: found without a name, listed, and no part of the target."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from minispec.cli.main import cli
from minispec.engine.batching import Engine
from minispec.engine.drafters.heads import find_heads
from minispec.engine.generation import generate
from minispec.engine.loading import load_model
from minispec.engine.loading.bundled import CHECKSUMS
from minispec.engine.model import GPT2
from minispec.engine.model.toy import TableModel
from minispec.errors import InputError
from tests.benchmarks.heads import put_cost
from tests.engine.drafters.random_head import write_head
from tests.engine.loading.folders import CONFIG, assert_clear, write_model

PLAIN = {"temperature": 1.0, "top_p": 1.0, "max_tokens": 10, "gamma": 3}
WAYS = ("{}", "tree:draft={},shape=dynamic", "tree:draft={},shape=2x1", "forced:draft={}")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A target that brings an eagle and a block, and has checksums of its own."""
    folder = write_model(tmp_path / "toy")
    names = ("config.json", "model.safetensors", "tokenizer.json")
    sums = [f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n" for name in names]
    (folder / CHECKSUMS).write_text("".join(sums))
    for kind in ("eagle", "block"):
        write_head(folder / kind, kind, load_model(folder))
    return folder


@pytest.fixture
def target(folder: Path) -> GPT2:
    return load_model(folder)


@pytest.mark.parametrize("way", WAYS)
def test_a_head_without_a_name_is_the_targets_own(target: GPT2, folder: Path, way: str) -> None:
    """As if it were named; also of a target under another name, which is what a server makes of it."""
    verify = "tree" if "tree" in way else "rejection"
    named, own, renamed = (
        generate([1, 2], target=each, draft=way.format(draft), verify=verify, **PLAIN)
        for each, draft in (
            (target, f"eagle:head={folder / 'eagle'}"),
            (target, "eagle"),
            (replace(target, name="elsewhere"), "eagle"),
        )
    )
    assert named.token_ids == own.token_ids == renamed.token_ids
    assert named.sources == own.sources == renamed.sources
    assert own.metrics.num_draft_tokens > 0


def test_a_folder_is_found_from_anywhere(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    target = load_model("toy")
    monkeypatch.chdir(folder)
    assert generate([1], target=target, draft="eagle", **PLAIN).metrics.num_draft_tokens > 0


def test_a_batch_takes_it(target: GPT2) -> None:
    engine = Engine(target, max_running=2)
    keys = [engine.add([1, 2], draft=draft, seed=7, **PLAIN) for draft in ("eagle", "block")]
    engine.run()
    for key, draft in zip(keys, ("eagle", "block"), strict=True):
        alone = generate([1, 2], target=target, draft=draft, seed=7, **PLAIN)
        assert engine.generation(key).token_ids == alone.token_ids
        assert engine.generation(key).sources == alone.sources


def test_a_target_without_one_says_which_it_has(target: GPT2, tmp_path: Path) -> None:
    bare = load_model(write_model(tmp_path / "bare", seed=1))
    for each, draft, words in (
        (target, "medusa", r"^medusa: no medusa head comes with .*toy; its heads are eagle, block\. Train one "),
        (bare, "eagle", r"^eagle: no eagle head comes with .*bare; it has no head of any kind\. Train one "),
        (bare, "forced:draft=eagle", "no eagle head comes with"),
        (replace(target, folder=None), "eagle", "it has no head of any kind"),
        (TableModel(5), "eagle", "has no hidden states to read"),
    ):
        with pytest.raises(InputError, match=words) as error:
            generate([1], target=each, draft=draft, **PLAIN)
        assert "\n" not in str(error.value)
    with pytest.raises(InputError, match="no eagle head comes with"):
        generate([1], target=bare, draft="tree:draft=eagle,shape=2x1", verify="tree", **PLAIN)


def test_the_head_of_a_target_that_was_trained_again_is_refused(folder: Path) -> None:
    write_model(folder, seed=2)
    (folder / CHECKSUMS).unlink()
    with pytest.raises(InputError, match=r"was trained for .* and .* has another") as error:
        generate([1], target=load_model(folder), draft="eagle", **PLAIN)
    assert "\n" not in str(error.value)


def test_a_cascade_wants_a_model(target: GPT2) -> None:
    with pytest.raises(InputError, match="cascade: draft is 'eagle'; it must be a model") as error:
        generate([1], target=target, draft="cascade:draft=eagle", **PLAIN)
    assert_clear(error.value)


def test_models_lists_heads_under_their_target(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minispec.engine.loading.bundled._PLACES", (folder.parent,))
    (folder / "eagle" / "README.md").write_text("---\nkind: eagle\n---\n# An eagle\n")
    assert "costs" not in CliRunner().invoke(cli, ["models"]).stdout
    card = folder / "eagle" / "README.md"
    for cost in (0.05, 0.0625):  # measured twice: the later figure stays
        card.write_text(put_cost(card.read_text(), cost, "a machine"))
    assert card.read_text().count("cost_per_token") == card.read_text().count("cost_measured_on") == 1
    shown = CliRunner().invoke(cli, ["models"]).stdout
    assert [line.split()[0] for line in shown.splitlines()[1:4]] == ["toy", "eagle", "block"]
    assert "--draft eagle; a drafted token costs 0.062 of a one-row pass of the target" in " ".join(shown.split())
    (listed,) = json.loads(CliRunner().invoke(cli, ["models", "--json"]).stdout)
    eagle, block = listed["heads"]
    assert (eagle["kind"], eagle["cost_per_token"], block["cost_per_token"]) == ("eagle", 0.062, None)
    assert eagle["bytes"] > 4 * eagle["parameters"]  # float32 and a header
    assert eagle["vocabulary"] == CONFIG["vocab_size"]
    assert {Path(eagle["folder"]), Path(block["folder"])} == {*find_heads(folder).values()}


def test_the_command_takes_it(folder: Path) -> None:
    words = ["generate", "the", "--target", str(folder), "--max-tokens", "5", "--json", "--draft"]
    done = CliRunner().invoke(cli, [*words, "eagle"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["metrics"]["num_draft_tokens"] > 0
    refused = CliRunner().invoke(cli, [*words, "medusa"])
    assert isinstance(refused.exception, InputError)  # of which `minispec` makes one line and exit code 2
    assert "its heads are eagle, block" in str(refused.exception)
