"""Every command line of the user's guide runs, behind those that write what it reads."""

from __future__ import annotations

import ast
import functools
import itertools
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path, PurePath

import pytest
from click.testing import CliRunner

from minispec.cli.main import cli
from minispec.engine.control.fallback import SCOPES
from minispec.engine.drafters.spec import HEADS, KINDS, MODEL
from minispec.engine.loading import load_model
from minispec.engine.loading.bundled import DEFAULT_TARGET
from minispec.engine.verifiers import VERIFIER_NAMES
from tests.engine.drafters.random_head import write_head

load_once = functools.cache(load_model)  # a loaded model has no state
DOCS = Path(__file__).resolve().parents[1] / "docs"


def command_lines(page: str) -> list[str]:
    """Return the lines of a page's shell blocks, after those that its tables show as options of ``generate``."""
    text = (DOCS / page).read_text(encoding="utf-8")
    shown = [options.replace("\\|", "|") for options in re.findall(r"^\| `(--[^`]+)`", text, re.MULTILINE)]
    lines = [line for block in re.findall(r"```bash\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]
    return [
        *(f'minispec generate "Once upon a time" {options}' for options in shown),
        *(line for line in lines if line.startswith("minispec ")),
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the guide is read: it has a text and heads, and keeps what its commands write."""
    folder = tmp_path_factory.mktemp("guide")
    for kind in HEADS:
        write_head(folder / f"{kind}-head", kind, load_once(DEFAULT_TARGET))
    (folder / "story.txt").write_text("Once upon a time there was a king. " * 50, encoding="utf-8")
    return folder


def with_what_it_reads(lines: list[str]) -> list[list[str]]:
    """Return each line behind those that write the traces it reads: tests may run in any order, in several places."""
    result = []
    for number, line in enumerate(lines):
        read = [name for name in re.findall(r"\w+\.jsonl", line) if f"--trace {name}" not in line]
        writers = [next(one for one in reversed(lines[:number]) if f"--trace {name}" in one) for name in read]
        result.append([*writers, line])
    return result


@pytest.mark.parametrize(
    "lines",
    [*with_what_it_reads(command_lines("first-run.md")), *with_what_it_reads(command_lines("options.md"))],
    ids=lambda lines: lines[-1],
)
def test_a_line_of_the_guide_runs(lines: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith("MINISPEC_") and name != "MINISPEC_DRAFT":
            monkeypatch.delenv(name)
    monkeypatch.setenv("MINISPEC_MAX_TOKENS", "16")
    monkeypatch.setattr("minispec.cli.pair.load_model", load_once)
    monkeypatch.setattr("minispec.cli.diff.load_model", load_once)
    monkeypatch.chdir(folder)
    *before, line = lines
    for one in before:
        assert CliRunner().invoke(cli, shlex.split(one)[1:]).exit_code == 0
    done = CliRunner().invoke(cli, shlex.split(line)[1:])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert done.exit_code == 0, done.output
    assert done.stdout
    expected = re.search(r"--verify (typical|lenient)", line)
    if "generate" in line and "--json" not in line:
        assert ("lossy" in done.stderr) == (expected is not None)


def test_the_guide_names_every_rule_kind_policy_and_scope() -> None:
    lines = "\n".join(command_lines("options.md"))
    for rule in VERIFIER_NAMES:
        assert f"--verify {rule}" in lines, rule
    for kind in KINDS:
        assert kind == MODEL or f"--draft {kind}" in lines, kind
    for scope in SCOPES:
        assert f"--fallback {scope}" in lines, scope
    for policy in ("heuristic", "confidence", "auto", "replay"):
        assert f"--gamma {policy}" in lines, policy


ROOT = DOCS.parent
MADE = {"claims.md", "mutation-score.md"}  # by commands; they name the machine of each figure
HISTORY = re.compile(
    r"\b(EPYC|Xeon|Ryzen|Zen \d|Sapphire Rapids|rocketlake)\b|\bcommit [0-9a-f]{7}|(?i:we had hoped|since then)"
)


def test_only_lab_notes_name_machines_commits_and_hopes() -> None:
    assert HISTORY.search("On an EPYC (commit 646ba88) it was slow; since then it is not. We had hoped for more.")
    pages = [ROOT / "README.md", *(page for page in DOCS.glob("*.md") if page.name not in MADE)]
    found = {page.name: match[0] for page in pages if (match := HISTORY.search(page.read_text(encoding="utf-8")))}
    assert found == {}


def test_a_page_whose_code_needs_pytest_says_how_to_install_it() -> None:
    """README's install has none."""
    pages = [path.read_text(encoding="utf-8") for path in DOCS.glob("*.md")]
    importing = [page for page in pages if "\nimport pytest\n" in page]
    assert importing
    assert all("pip install pytest" in page for page in importing)


def test_pages_are_short_enough_to_be_read() -> None:
    limits = {"README.md": 120, "extend.md": 250}  # four programs, complete
    pages = [ROOT / "README.md", *(page for page in DOCS.glob("*.md") if page.name not in MADE)]
    lines = {page.name: len(page.read_text(encoding="utf-8").splitlines()) for page in pages}
    assert {name: count for name, count in lines.items() if count > limits.get(name, 200)} == {}


LINES_OF_THE_PATH = 2000
ROWS = re.findall(
    r"^\| (\d+) \| `minispec/engine/([\w/]+)\.py` \|", (DOCS / "reading.md").read_text(encoding="utf-8"), re.MULTILINE
)
STOPS = [file for _, file in ROWS]
ENGINE = ROOT / "minispec" / "engine"


def opening(file: str) -> str:
    folder = ROOT / "minispec" if file == "tiny" else ENGINE
    return ast.get_docstring(ast.parse((folder / f"{file}.py").read_text(encoding="utf-8"))) or ""


def test_the_reading_path_is_numbered_as_its_page_says() -> None:
    assert [int(number) for number, _ in ROWS] == list(range(1, len(ROWS) + 1))
    assert 12 <= len(STOPS) <= 14
    expected = dict(zip(["tiny", *STOPS], range(len(STOPS) + 1), strict=True))
    for path in (ROOT / "minispec").rglob("*.py"):
        file = path.relative_to(ENGINE if ENGINE in path.parents else ROOT / "minispec").with_suffix("").as_posix()
        says = re.match(r"Stop (\d+) of (\d+): ", ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "")
        found = None if says is None else (int(says[1]), int(says[2]))
        assert found == ((expected[file], len(STOPS)) if file in expected else None), file


def test_each_stop_ends_its_opening_with_the_next() -> None:
    for file, following in itertools.pairwise(["tiny", *STOPS]):
        assert opening(file).splitlines()[-1].startswith(f"Next: `{following}.py`, "), file
    last = re.match(r"Next: `(docs/.+\.md)`, ", opening(STOPS[-1]).splitlines()[-1])
    assert last is not None
    assert (ROOT / last[1]).is_file()


def test_the_reading_path_is_short_enough_to_be_read() -> None:
    lines = {file: len((ENGINE / f"{file}.py").read_text(encoding="utf-8").splitlines()) for file in STOPS}
    assert sum(lines.values()) <= LINES_OF_THE_PATH, lines


CARRIED = """
import sys
from pathlib import Path
import minispec

files, package = set(), Path(minispec.__file__).parent / "engine"

def note(frame, event, argument):
    if event == "call" and frame.f_code.co_name != "<module>":
        path = Path(frame.f_code.co_filename)
        if package in path.parents:
            files.add(path.relative_to(package).as_posix())

minispec.generate("Once", max_tokens=2)  # what must be compiled is compiled unwatched, which takes seconds, not minutes
sys.setprofile(note)
minispec.generate("Once upon a time", max_tokens=12)
sys.setprofile(None)
print(*sorted(files))
"""


def test_every_file_that_carries_a_default_run_is_on_the_path_or_named_beside_it() -> None:
    """Files of constants and ``__init__`` do no work; compiled code is named by hand."""
    done = subprocess.run([sys.executable, "-c", CARRIED], capture_output=True, text=True, timeout=300, check=True)
    carried = {file for file in done.stdout.split() if not file.endswith("__init__.py")}
    path = (DOCS / "reading.md").read_text(encoding="utf-8").partition("## One step")[0]
    named = {name.removeprefix("minispec/engine/") for name in re.findall(r"`([\w/]+(?:\.py|/))`", path)}
    assert {file for file in carried if named.isdisjoint({file, *(f"{up}/" for up in PurePath(file).parents)})} == set()
    references = {"backends/base.py", "sampling/processors.py"}  # for what the fast ones compute
    assert {f"{stop}.py" for stop in STOPS} - carried <= references
    for name in named:
        assert (ENGINE / name).exists() or (ROOT / name).exists(), name
