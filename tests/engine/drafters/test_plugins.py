"""Kinds that other packages register: found last, handed what a drafter needs, and refused in one line."""

from __future__ import annotations

from importlib.metadata import EntryPoint, EntryPoints

import pytest

import minispec
from minispec.engine.drafters import NgramDrafter, parse_draft, plugins
from minispec.engine.model.toy import TableModel
from minispec.errors import OptionError

HANDED: list[tuple] = []


def build_echo(target, sampler, options, coupled):
    HANDED.append((target, sampler, dict(options), coupled))
    return NgramDrafter(target.model.vocab_size, int(options.get("n", 3)))


def build_badly(target, sampler, options, coupled):
    raise KeyError("model")


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Pretend that packages are installed which register kinds; return which kinds were looked up."""
    asked: list[str] = []
    names = {"echo": "build_echo", "bad": "build_badly", "gone": "nothing", "ngram": "build_badly"}
    group = EntryPoints(EntryPoint(name, f"{__name__}:{value}", plugins.GROUP) for name, value in names.items())

    def entry_points(*, group: str, name: str) -> EntryPoints:
        assert group == plugins.GROUP
        asked.append(name)
        return found.select(name=name)

    found = group
    monkeypatch.setattr(plugins, "entry_points", entry_points)
    HANDED.clear()
    return asked


def test_a_registered_kind_drafts() -> None:
    made = minispec.generate([0, 1, 0, 1], target=TableModel(3), draft="echo:n=2", max_tokens=6, gamma=2)
    assert made.options["draft"] == "echo:n=2"
    assert made.metrics.num_draft_tokens > 0
    ((target, sampler, options, coupled),) = HANDED
    assert (target.model.vocab_size, sampler.num_prompt_tokens, options, coupled) == (3, 4, {"n": "2"}, False)


def test_a_coupled_rule_says_so() -> None:
    minispec.generate([0, 1], target=TableModel(3), draft="echo", verify="gumbel", max_tokens=2)
    assert HANDED[0][-1] is True


def test_what_is_ours_is_not_looked_up(installed: list[str], tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "echo").mkdir()
    assert parse_draft("ngram:n=2").options == {"n": 2, "min_n": 1}
    for name in ("draft-1.6m", "draft-1.6m:translate=true", "echo", "./echo", "owner/name"):
        assert parse_draft(name).kind == "model", name
    assert installed == []


def test_a_name_that_nobody_registered_is_a_models(installed: list[str]) -> None:
    assert parse_draft("gpt2").kind == "model"
    assert installed == ["gpt2"]


@pytest.mark.parametrize(
    ("draft", "problem"),
    [
        ("echo:n", "is no key=value"),
        ("echo:n=1,n=2", "given twice"),
        ("bad", "cannot be built .KeyError"),
        ("gone", "cannot be built .AttributeError"),
        ("echo:n=0", "ngram: n is 0"),
    ],
)
def test_what_cannot_be_used_is_refused_in_a_line(draft: str, problem: str) -> None:
    with pytest.raises(OptionError, match=problem) as refusal:
        minispec.generate([0], target=TableModel(3), draft=draft, max_tokens=1)
    assert "\n" not in str(refusal.value)


def test_no_package_registers_a_kind_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert plugins.find_plugin("echo") is None
