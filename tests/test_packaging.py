"""What is published is what is tested: README, CI, version and wheel agree."""

from __future__ import annotations

import html
import json
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import minispec

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
MOST_WEIGHTS = 45_000_000
"""Bytes of the files with weights, heads included."""
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_version_is_said_once_in_each_place() -> None:
    assert PROJECT["version"] == minispec.__version__
    assert f"version: {minispec.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_every_python_that_ci_tries_is_declared() -> None:
    declared = {name.rpartition(" ")[2] for name in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", name)}
    tried = re.search(r"versions=\((.+)\)", (ROOT / ".ci" / "pythons").read_text(encoding="utf-8"))
    assert tried
    assert declared == set(tried[1].split())
    assert PROJECT["requires-python"] == f">={min(declared)}"


def test_nobody_is_told_to_install_the_name_on_the_index() -> None:
    assert PROJECT["name"] != "minispec"
    for path in [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("weights/**/README.md")]:
        assert not re.search(r"pip install (-\S+ )*'?minispec\b(?!-)", path.read_text(encoding="utf-8")), path


def test_ci_runs_the_readme_test_command() -> None:
    """`.ci/run` cuts the command out of README; this finds what it would find."""
    found = re.search(r"<!-- test-command -->\n```bash\n(.+)\n```\n<!-- end -->", README)
    assert found
    assert "pytest" in found[1]
    assert "README.md" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_the_first_command_is_the_same_everywhere_and_what_it_printed_is_shown() -> None:
    """In each shell, on the site, in the picture; `docs/make_first_run.py` writes its output between the markers."""
    tutorial = (ROOT / "docs" / "first-run.md").read_text(encoding="utf-8")
    places = (README, (ROOT / "docs" / "index.md").read_text(encoding="utf-8"), tutorial)
    told = [
        found
        for text in places
        for found in re.findall(r'^minispec generate "(.+)" (--seed \d+) --compare$', text, re.M)
    ]
    assert len(told) == 5  # the tutorial has it for pip, uv and PowerShell
    ((prompt, options),) = set(told)
    block = r"<!-- first-run -->\n```text\n(.+?)\n```\n(The speedups of (\d).+)\n<!-- end first-run -->"
    lines, output = re.search(block, README, re.S), re.search(block, tutorial, re.S)
    assert lines
    assert output
    assert output[1].startswith(prompt)
    assert set(lines[1].splitlines()) < set(output[1].splitlines())
    assert lines[2] == output[2]
    assert len(re.findall(r"\d\.\d\dx[,.]", lines[2])) == int(lines[3])
    command, _, *picture = picture_lines()
    assert command == f'minispec generate "{prompt}" {options} --show-drafts'
    assert "".join(output[1].partition("\nmean acceptance length  ")[0].split()) in "".join("".join(picture).split())


def picture_lines() -> list[str]:
    """What is written in the picture at the top: its title, the legend, the text; what was rejected is left out."""
    picture = (ROOT / "docs" / "_static" / "live.svg").read_text(encoding="utf-8")
    struck = re.findall(r"\.(minispec-r\d+) {[^}]*line-through", picture)
    parts = re.findall(r'<text class="([^"]+)"[^>]*>([^<]*)</text>', picture)
    return [html.unescape(text).replace("\xa0", " ") for kind, text in parts if kind not in struck]


def test_all_weights_together_are_small() -> None:
    """Whoever clones the repository or installs the wheel gets them all."""
    assert 0 < sum(path.stat().st_size for path in (ROOT / "weights").rglob("*.safetensors")) < MOST_WEIGHTS


def test_importing_minispec_is_light() -> None:
    """Numba, rich and the optional packages wait until they are needed."""
    heavy = ("numba", "rich", "torch", "transformers", "huggingface_hub", "cupy", "matplotlib")
    code = f"import sys, minispec; print([name for name in {heavy!r} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def sdist(folder: Path) -> Path:
    """Build a source distribution, as a build frontend would."""
    code = f"from hatchling.build import build_sdist; print(build_sdist({str(folder)!r}))"
    made = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=300, check=True
    )
    return folder / made.stdout.splitlines()[-1]


@pytest.mark.slow
def test_a_wheel_alone_gives_a_working_command(tmp_path: Path) -> None:
    """Built, installed into an empty environment, run outside the repository."""

    def call(*command: str) -> str:
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=900, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    call(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", "dist", str(ROOT))
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    for name in zipfile.ZipFile(wheel).namelist():  # what would give answers away stays in the repository
        assert not {"assignments", "mutants", "held_out", "tests", "solution.py"} & set(name.split("/")), name
    call(sys.executable, "-m", "venv", "env")
    names = zipfile.ZipFile(wheel).namelist()  # what a learner needs is there
    lessons = "minispec/_bundled/lessons"
    for source in sorted((ROOT / "lessons" / "source").glob("*.py")):
        assert f"{lessons}/notebooks/{source.stem}.ipynb" in names
        assert f"{lessons}/checks/lesson_{source.stem[:2]}.py" in names
    assert {"minispec/lab/prompts.jsonl", "minispec/lab/ledger/prompts.jsonl"} <= set(names)
    weights = "minispec/_bundled/weights"
    assert [name for name in names if name.endswith("tokenizer.json")] == [f"{weights}/tokenizer.json"]
    for path in (ROOT / "weights").rglob("*"):  # models, and the heads in their folders
        if path.is_file() and path.name != "tokenizer.json":
            assert f"{weights}/{path.relative_to(ROOT / 'weights').as_posix()}" in names
    call(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", "again", str(sdist(tmp_path)))
    (again,) = (tmp_path / "again").glob("*.whl")
    assert sorted(zipfile.ZipFile(again).namelist()) == sorted(names)  # the source distribution lacks nothing
    call("env/bin/python", "-m", "pip", "install", "-q", str(wheel))
    told = json.loads(call("env/bin/minispec", "generate", "Once upon a time", "--max-tokens", "20", "--json"))
    assert len(told["token_ids"]) == 20 or told["finish_reason"] == "eos"
    assert told["metrics"]["num_accepted_tokens"] > 0
    top_level = call("env/bin/python", "-c", "import importlib.util as u; print(u.find_spec('weights'))")
    assert top_level == "None\n"
