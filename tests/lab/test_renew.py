"""What is generated is remade where it is stale, and nowhere else; an interruption loses nothing that was done."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from minispec.errors import quote
from minispec.lab import renew
from minispec.lab.ledger.framework import NAMES
from minispec.lab.renew import RECORD, ROOT, STEPS, Repository, Step, describe_code, main

NOTE = "import sys; open('log', 'a').write(' '.join(sys.argv[1:]) + chr(10))"
TABLE = (
    Step("page-a", ("docs/a.md",), (f'python -c "{NOTE}" a {{since}}',), {"code": ("src/*.py",)}, 1),
    Step("page-b", ("docs/b.md",), (f'python -c "{NOTE}" b', 'python -c "import ok"'), {"data": ("=data/*",)}, 1),
    Step(
        *("tables", ("docs/a.md",), (f'python -c "{NOTE}" {{parts}}',), {}, 1),
        parts={"one": {"own": ("src/code.py:one",)}, "two": {"own": ("data/d.json:two",)}},
    ),
    Step("quoted", ("docs/c.md",), (), {"code": ("src/*.py",)}, 0),
)
CODE = "import os\n\nBASE = 1\n\n\ndef one():\n    return helper()\n\n\ndef helper():\n    return BASE\n\n\nOTHER = 3\n"
Call = Callable[..., int]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in {
        "src/code.py": CODE,
        "data/d.json": '{"one": 1, "two, a": 2}',
        "docs/a.md": "",
        "ok.py": "",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return tmp_path


@pytest.fixture
def call(root: Path) -> Call:
    return lambda *arguments: main(arguments, Repository(root, TABLE))


def made(root: Path) -> list[str]:
    """Return what was made since this was asked last: the first words."""
    log = root / "log"
    lines = log.read_text().splitlines() if log.exists() else []
    log.unlink(missing_ok=True)
    return [line.split(" 20")[0] for line in lines]


def test_what_is_stale_is_made_and_what_is_current_is_not(
    root: Path, call: Call, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("--check") == 1
    assert call() == 0
    assert made(root) == ["a", "b", "one two"]
    assert call() == 0
    assert made(root) == []
    assert not (root / ".work/renew/round.json").exists()
    assert call("--check", "--only", "page,tables") == 0
    assert call("--record", "quoted") == 0
    assert call("--check") == 0
    (root / "src/code.py").rename(root / "src/elsewhere.py")
    assert call("--check", "--only", "page,quoted") == 0
    (root / "src/code.py").write_text(CODE.replace("OTHER = 3", "OTHER = 4"))
    (root / "src/elsewhere.py").unlink()
    (root / "data/d.json").write_text('{"one": 5, "two, a": 2}')
    capsys.readouterr()
    assert call("--check") == 1
    shown = capsys.readouterr().out
    assert [line.split()[0] for line in shown.splitlines() if "stale, " in line] == ["page-a", "page-b", "quoted"]
    assert "stale, changed since: data\n" in shown
    assert "at most 2 minutes" in shown
    (root / "data/d.json").write_text('{"one": 5, "two, a": 3}')
    assert Repository(root, TABLE).find_stale(TABLE[2]) == {"tables/two": ["own"]}
    assert "page-a: changed since: code. tables: changed since: own in 1 of 2 (two)." in (
        Repository(root, TABLE).describe_page("docs/a.md")
    )
    assert call("--only", "tables") == 0  # named: all of it
    assert made(root) == ["one two"]
    assert Repository(root, TABLE).describe_page("docs/b.md").startswith("> **Stale.** page-b: changed since: data.")
    assert call() == 0
    assert made(root) == ["a", "b"]
    assert Repository(root, TABLE).describe_page("docs/a.md") == ""
    assert all(json.loads(line.strip(",").join("{}")) for line in (root / RECORD).read_text().splitlines()[1:-1])


def test_a_step_that_fails_stops_no_other_and_is_tried_again(
    root: Path, call: Call, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "ok.py").write_text("raise SystemExit(7)")
    assert call() == 1
    assert made(root) == ["a", "b", "one two"]
    assert "page-b: `-c import ok` ended with exit code 7, see .work/renew/page-b.log" in capsys.readouterr().out
    assert Repository(root, TABLE).recorded().keys() == {"page-a", "tables/one", "tables/two"}
    (root / "ok.py").write_text("")
    assert call() == 0
    assert made(root) == ["b"]
    assert call("--only", "quoted") == 1
    assert "by hand, then --record quoted" in capsys.readouterr().out


def test_an_interrupted_round_goes_on(root: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    run, calls = renew._run, []

    def interrupted(words: list[str], *rest: object) -> int | None:
        calls.append(words)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return run(words, *rest)  # type: ignore[arg-type]

    assert call() == 0
    made(root)
    monkeypatch.setattr(renew, "_run", interrupted)
    assert call("--only", "page,tables") == 130
    assert made(root) == ["a"]
    round_file = root / ".work/renew/round.json"
    known = json.loads(round_file.read_text())
    known["steps"]["page-b"]["since"] = "2000-01-01T00:00"
    round_file.write_text(json.dumps(known))
    assert call("--only", "page,tables") == 0
    assert made(root) == ["b", "one two"]
    calls.clear()
    assert call("--only", "page,tables") == 130  # a new round
    (root / "src/code.py").write_text(CODE + "MORE = 1\n")
    assert call("--only", "page,tables") == 0  # page-a was done, and is made from something else now
    assert made(root) == ["a", "a", "b", "one two"]


@pytest.mark.parametrize("ends", ["exit code 7", "interrupted"])
def test_an_interrupted_step_keeps_the_parts_that_it_wrote(
    ends: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = "import sys; open('docs/' + sys.argv[1], 'w')"
    halves = {"one": {"own": ("src/code.py:one",)}, "two": {"own": ("src/code.py:OTHER",)}}
    step = Step(
        "halves", (), (f'python -c "{write}" {{parts}}', 'python -c "import ok"'), {}, 1, (), halves, "docs/{part}"
    )
    (root / "docs/two").write_text("written before")
    repository, run = Repository(root, (step,)), renew._run

    def interrupted(words: list[str], *rest: object) -> int | None:
        if "import ok" in words:
            raise KeyboardInterrupt
        return run(words, *rest)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        if ends == "interrupted":
            patch.setattr(renew, "_run", interrupted)
        (root / "ok.py").write_text("raise SystemExit(7)")
        assert main((), repository) == (1 if ends == "exit code 7" else 130)
    assert repository.find_stale(step) == {"halves/two": ["own"]}
    (root / "ok.py").write_text("")
    assert main((), repository) == 0
    assert repository.find_stale(step) == {}


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_whoever_ends_it_ends_what_it_began(root: Path) -> None:
    begun = "import os, time; open('pid', 'w').write(str(os.getpid())); time.sleep(600)"
    step = Step("slow", (), (f'python -c "{begun}"',), {}, 9)
    before = signal.getsignal(signal.SIGTERM)

    def end() -> None:
        while not (root / "pid").exists() or not (root / "pid").read_text():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=end).start()
    assert main(("--only", "slow"), Repository(root, (step,))) == 130
    with pytest.raises(ProcessLookupError):
        os.kill(int((root / "pid").read_text()), 0)
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_reader_that_has_seen_enough_ends_it_in_silence() -> None:
    command = [sys.executable, "-m", "minispec.lab.renew", "--check", "--only", "notebooks"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert (process.stderr.read(), process.wait()) == ("", 1)


def test_since_is_when_the_interrupted_step_was_begun(root: Path) -> None:
    repository = Repository(root, TABLE)
    key = renew._digest(json.dumps(repository.products(TABLE[0])))
    (root / ".work/renew").mkdir(parents=True)
    for known, since in ((key, "2000-01-01T00:00"), ("another", "20")):
        begun = {"page-a": {"key": known, "since": "2000-01-01T00:00", "done": False}}
        (root / ".work/renew/round.json").write_text(json.dumps({"asked": ["page-a"], "steps": begun}))
        assert repository.remake(TABLE[:1], named=True) == []
        assert (root / "log").read_text().splitlines()[-1].startswith(f"a {since}")
    assert "2000" not in (root / "log").read_text().splitlines()[-1]


def test_a_step_that_takes_too_long_is_stopped_and_one_that_lacks_something_left_out(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    slow = Step("slow", ("a",), ('python -c "import time; time.sleep(600)"',), {"code": ("src/*.py",)}, 0)
    lacking = Step("lacking", ("a",), ("python -c pass",), slow.inputs, 1, ("json", "no_such_module", "no/file"))
    repository = Repository(root, (slow, lacking))
    assert repository.remake((slow, lacking), named=False) == ["slow", "lacking"]
    told = capsys.readouterr().out
    assert "slow: stopped after 0 minutes" in told
    assert "lacking: left out, because it needs no_such_module, no/file\n" in told
    assert repository.recorded() == {}


def test_what_trains_is_made_only_by_its_own_name(root: Path) -> None:
    trained = Step("page-trained", ("a",), (), {}, 0, only_named=True)
    repository = Repository(root, (*TABLE, trained))
    assert [step.name for step in repository.choose(["page"])] == ["page-a", "page-b"]
    assert repository.choose(["page-trained"]) == [trained]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("--only", "pages"), "no step is called 'pages'; there are page-a, page-b, tables, quoted"),
        (("--only", ""), "no step is called ''; there are page-a, page-b, tables, quoted"),
        (("--record", ""), "no step is called ''; there are x"),
        (("--record", "x", "--check"), "--record writes down what was made by hand, and --check does not. Leave one"),
        (
            ("--record", "x", "--only", "x"),
            "--record writes down what was made by hand, and --only does not. Leave one",
        ),
        (("--check",), "gone.py names no file in "),
    ],
)
def test_bad_input_is_one_line(
    root: Path, arguments: tuple[str, ...], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    table = TABLE if "--only" in arguments else (Step("x", (), (), {"own": ("src/gone.py",)}, 0),)
    assert main(arguments, Repository(root, table)) == 2
    told = capsys.readouterr()
    assert line in told.err
    assert (told.out, told.err.count("\n")) == ("", 1)
    assert not (root / RECORD).exists()


@pytest.mark.parametrize("text", ["[]", "3", "null", "[" * 100_000, "{"])
@pytest.mark.parametrize("name", [RECORD, ".work/renew/round.json"])
def test_what_is_kept_and_is_no_object_is_one_line(
    root: Path, call: Call, name: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    assert call() == 2
    told = capsys.readouterr()
    assert told.err == f"error: {quote(str(path))} is no JSON object; take it from git again, or delete it\n"
    assert (told.out, made(root), path.read_text()) == ("", [], text)


@pytest.mark.parametrize(
    ("other", "same"),
    [
        ('"""What it is."""\nfrom elsewhere import os\n# why\nBASE = (\n    1\n)\ndef one(): return helper()\n'
         "def helper():\n    '''Doc.'''\n    return BASE\nOTHER = 3", True),
        (CODE.replace("OTHER = 3", "OTHER = 4"), False),
        (CODE.replace("OTHER = 3", "OTHER = None"), False),
        (CODE.replace("return helper()", "return helper"), False),
    ],
)  # fmt: skip
def test_code_counts_by_what_it_computes(other: str, same: bool) -> None:
    assert (describe_code(other) == describe_code(CODE)) is same
    assert describe_code(CODE.replace("OTHER = 3", "OTHER = 4"), "one") == describe_code(CODE, "one")
    assert describe_code(CODE.replace("BASE = 1", "BASE = 2"), "one") != describe_code(CODE, "one")
    with pytest.raises(renew.InputError, match="no two in a module"):
        describe_code(CODE, "two")


def test_the_table_names_what_there_is() -> None:
    """Also every input: a product of which none is found is refused."""
    repository = Repository()
    products = {name for step in STEPS for name in repository.products(step)}
    assert repository.recorded().keys() <= products
    assert len({step.name for step in STEPS}) == len(STEPS)
    for step in STEPS:
        files = [step.part_file.format(part=part) for part in step.parts if step.part_file]
        assert [name for name in (*step.writes, *files) if not (ROOT / name).exists()] == []
        for command in step.commands:
            word, *rest = command.split()
            module = rest[1].replace(".", "/") if rest[0] == "-m" else rest[0].removesuffix(".py")
            assert word == "minispec" or (ROOT / f"{module}.py").exists() or (ROOT / module / "__main__.py").exists()
    ledger = [part for step in STEPS if step.name.startswith("ledger-") for part in step.parts]
    assert sorted(ledger) == sorted(NAMES)
    assert sum(step.minutes for step in STEPS if not step.only_named) <= 4 * 60


def test_check_is_light() -> None:
    code = (
        "import sys, minispec; before = set(sys.modules)\nfrom minispec.lab.renew import main\n"
        "main(['--check', '--only', 'notebooks'])\n"
        "print(*sorted({name.partition('.')[0] for name in set(sys.modules) - before}))"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert "minispec" in done.stdout.splitlines()[-1]
    heavy = {"tests", "numba", "torch", "matplotlib", "click", "rich", "joblib"}
    assert heavy.isdisjoint(done.stdout.splitlines()[-1].split())


def test_the_site_says_it_under_the_title(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = importlib.util.spec_from_file_location("stale_pages", ROOT / "docs" / "_extensions" / "stale_pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    repository = Repository(root, TABLE)
    monkeypatch.setattr(module, "Repository", lambda: repository)
    site, content = SimpleNamespace(srcdir=ROOT / "docs"), ["(mark)=\n# Title\n\nText.\n"]
    module.tell(site, "lab/a", content)
    assert content == ["(mark)=\n# Title\n\nText.\n"]
    module.tell(site, "b", content)
    line = "> **Stale.** page-b: changed since: data. See `python -m minispec.lab.renew --check`."
    assert content == [f"(mark)=\n# Title\n\n{line}\n\nText.\n"]
