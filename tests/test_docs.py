"""Every command line of the user's guide runs, in order, in one folder."""

from __future__ import annotations

import functools
import os
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from minispec.cli.main import cli
from minispec.control.fallback import SCOPES
from minispec.drafters.spec import KINDS, MODEL
from minispec.loading import load_model
from minispec.verifiers import VERIFIER_NAMES

load_once = functools.cache(load_model)  # a loaded model has no state
DOCS = Path(__file__).resolve().parents[1] / "docs"


def command_lines(page: str) -> list[str]:
    blocks = re.findall(r"```bash\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line.startswith("minispec ")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the guide is read: it has a text, and keeps what its commands write."""
    folder = tmp_path_factory.mktemp("guide")
    (folder / "story.txt").write_text("Once upon a time there was a king. " * 50, encoding="utf-8")
    return folder


@pytest.mark.parametrize("line", [*command_lines("getting-started.md"), *command_lines("methods.md")])
def test_a_line_of_the_guide_runs(line: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith("MINISPEC_") and name != "MINISPEC_DRAFT":
            monkeypatch.delenv(name)
    monkeypatch.setenv("MINISPEC_MAX_TOKENS", "16")
    monkeypatch.setattr("minispec.cli.pair.load_model", load_once)
    monkeypatch.setattr("minispec.cli.diff.load_model", load_once)
    monkeypatch.chdir(folder)
    done = CliRunner().invoke(cli, shlex.split(line)[1:])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert done.exit_code == 0, done.output
    assert done.stdout
    expected = re.search(r"--verify (typical|lenient)", line)
    if "generate" in line and "--json" not in line:
        assert ("lossy" in done.stderr) == (expected is not None)


def test_the_guide_names_every_rule_kind_policy_and_scope() -> None:
    lines = "\n".join(command_lines("methods.md"))
    for rule in VERIFIER_NAMES:
        assert f"--verify {rule}" in lines, rule
    for kind in KINDS:
        assert kind == MODEL or f"--draft {kind}" in lines, kind
    for scope in SCOPES:
        assert f"--fallback {scope}" in lines, scope
    for policy in ("heuristic", "confidence", "auto", "replay"):
        assert f"--gamma {policy}" in lines, policy


def test_the_reading_path_has_twelve_stops_that_name_their_neighbours() -> None:
    path = re.findall(
        r"^\| (\d+) \| `minispec/(.+)\.py` \|", (DOCS / "reading.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    stops = {
        (DOCS.parent / "minispec" / f"{name}.py"): (number, before, after)
        for (number, name), (_, before), (_, after) in zip(path, [("", ""), *path], [*path[1:], ("", "")], strict=False)
    }
    assert [number for number, _, _ in stops.values()] == [str(n) for n in range(1, 13)]
    for file in (DOCS.parent / "minispec").rglob("*.py"):
        head = file.read_text(encoding="utf-8").partition("\n")[0]
        if file not in stops:
            assert not re.match(r'"""Stop \d', head), file
            continue
        number, before, after = stops[file]
        assert head.startswith(f'"""Stop {number} of 12 · '), file
        assert re.findall(r"Before: (\S+)\.", head) == [before] * bool(before), file
        assert re.findall(r"Next: (\S+)\.", head) == [after] * bool(after), file
