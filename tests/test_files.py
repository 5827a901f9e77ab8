"""Files that commands write: nothing else is ever in their place, and no input is lost."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from minispec.engine.files import (
    HeldFile,
    check_apart,
    check_writable,
    hold_folder,
    new_folder,
    open_whole,
    write_text,
)
from minispec.errors import OutputError
from minispec.lab.viz.plots import style
from tests.cli.conftest import Run, draft, run_here, target  # noqa: F401  # fixtures

A1 = Path(__file__).parents[1] / "lessons" / "assignments" / "a1"


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    write_text(path, "first")
    with pytest.raises(UnicodeEncodeError), open_whole(path) as file:
        print("half", "\ud800", file=file)
    assert path.read_text() == "first"
    assert [each.name for each in tmp_path.iterdir()] == ["out.txt"]


def test_of_two_that_write_one_file_the_later_one_is_there_whole(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    with open_whole(path) as first:
        first.write("first" * 10_000)
        write_text(path, "second")
        assert path.read_text() == "second"
    assert path.read_text() == "first" * 10_000
    assert [each.name for each in tmp_path.iterdir()] == ["out.txt"]


def test_what_fails_beside_a_file_is_not_its_fault(tmp_path: Path) -> None:
    with pytest.raises(BrokenPipeError), open_whole(tmp_path / "out.txt"):
        raise BrokenPipeError
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("hold", [HeldFile, hold_folder])
def test_a_file_and_a_folder_are_held_by_one_process_until_it_ends(
    tmp_path: Path, hold: Callable[[Path], AbstractContextManager[object]]
) -> None:
    """Also where the process is killed; and whoever waits for a name that is removed holds no file without one."""
    path = tmp_path / "held"
    code = f"import sys, minispec.engine.files as f\nwith f.{hold.__name__}(f.Path(sys.argv[1])):"
    code += "\n print(flush=True); input()"
    holder = subprocess.Popen([sys.executable, "-c", code, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdout is not None
    holder.stdout.readline()
    with pytest.raises(OutputError, match=r"'.*/held' is being written by another process. Wait for it, or name"):
        hold(path).__enter__()
    holder.kill()
    holder.communicate()
    with hold(path), pytest.raises(OutputError, match="another process"):
        hold(path).__enter__()
    if path.is_dir():
        assert list(path.iterdir()) == []
    with hold(path):
        pass


def test_a_file_that_its_holder_has_just_removed_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, locked = tmp_path / "log", []

    def removed_before(file: object, how: int) -> None:
        if not locked:
            path.unlink()
        locked.append(how)

    monkeypatch.setattr("minispec.engine.files.fcntl.flock", removed_before)
    with HeldFile(path) as file:
        file.write("a")
        assert path.read_text() == "a"
    assert len(locked) == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("batch", "p.jsonl", "-o", "held"),
        ("measure", "p.jsonl", "--journal", "held", "--no-timing", "--max-tokens", "4"),
        ("serve", "--port", "0", "--canary", "0.5", "--canary-log", "held"),
        ("experiment", "run", "tau", "--results", "held folder"),
        ("experiment", "judge", "--results", "held folder"),
        ("grade-class", "work", "--assignment", "a1", "--output", "held folder"),
        ("assignment", "build", "a1", "--for", "student", "--output", "."),
    ],
)
def test_no_command_writes_what_another_process_writes(
    run_here: Run,  # noqa: F811
    tmp_path: Path,
    target: str,  # noqa: F811
    draft: str,  # noqa: F811
    arguments: tuple[str, ...],
) -> None:
    (tmp_path / "p.jsonl").write_text('{"prompt": "the"}\n')
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a1.py").write_text("")
    models = ("--target", target, "--draft", draft) if arguments[0] in ("batch", "measure", "serve") else ()
    with HeldFile(tmp_path / "held"), hold_folder(tmp_path / "held folder"), hold_folder(tmp_path / "a1"):
        done = run_here(*arguments, *models)
    assert done.returncode == 2, done.stderr
    assert done.stderr.endswith("is being written by another process. Wait for it, or name another one\n")


def test_what_is_added_is_read_and_cut_and_a_device_is_shared(tmp_path: Path) -> None:
    with HeldFile(tmp_path / "log") as file, HeldFile(Path(os.devnull)) as one, HeldFile(Path(os.devnull)) as other:
        for text in ("é\n", "half"):
            file.write(text)
        file.sync()
        file.cut(len("é\n".encode()))
        file.write("b")
        assert file.read() == (tmp_path / "log").read_bytes() == "é\nb".encode()
        one.write("a")
        other.write("a")
        file.remove()
    assert list(tmp_path.iterdir()) == []
    if Path("/dev/full").exists():
        with HeldFile(Path("/dev/full")) as full, pytest.raises(OutputError, match="'/dev/full' cannot be written"):
            full.write("a")


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "theirs").write_text("theirs")
    (tmp_path / "link").symlink_to(tmp_path / "theirs")
    write_text(tmp_path / "link", "ours")
    assert (tmp_path / "theirs").read_text() == "theirs"
    assert (tmp_path / "link").read_text() == "ours"
    assert not (tmp_path / "link").is_symlink()


@pytest.mark.parametrize("name", ["x" * 255, "🙂" * 63])
def test_a_name_may_be_as_long_as_the_system_takes(tmp_path: Path, name: str) -> None:
    """What a file is called while it is written, with more at its ends, is no longer."""
    longest, longer = tmp_path / name, tmp_path / (5 * name)
    write_text(longest, "whole")
    assert longest.read_text() == "whole"
    longest.unlink()
    with new_folder(longest) as folder:
        (folder / "file").touch()
    assert longest.is_dir()
    for refuse in (check_writable, lambda path: new_folder(path).__enter__()):
        for path in (longer, longer / "out.txt"):
            with pytest.raises(OutputError, match=r"cannot be written .*too long.* Choose another place"):
                refuse(path)
    assert list(tmp_path.iterdir()) == [longest]


@pytest.mark.parametrize(
    "arguments",
    [
        ("plan", "--alpha", "0.8", "--cost-ratio", "0.1", "--plot"),
        ("measure", "p.txt", "--csv"),
        ("measure", "p.txt", "--no-timing", "--max-tokens", "4", "--journal"),
        ("batch", "p.txt", "--output"),
        ("generate", "the", "--trace"),
        ("serve", "--canary", "0.5", "--canary-log"),
        ("replay", "p.txt", "--html"),
        ("grade", "p.txt", "--assignment", "a1", "--output"),
        ("page", "--output"),
        ("export", "target-17m", "--to", "hf", "--output"),
        ("experiment", "report", "--partial", "--results", "results", "--write"),
        ("train-draft", "--target", "target-17m", "--text", "p.txt", "--output"),
    ],
)
def test_every_command_refuses_a_name_that_is_too_long(
    run_here: Run,  # noqa: F811
    tmp_path: Path,
    target: str,  # noqa: F811
    draft: str,  # noqa: F811
    arguments: tuple[str, ...],
) -> None:
    if arguments[0] == "train-draft":
        pytest.importorskip("torch")
    (tmp_path / "p.txt").write_text("the\n")
    copy_of_a_claim = tmp_path / "results" / "tau.json"
    copy_of_a_claim.parent.mkdir()
    shutil.copy(Path(__file__).parents[1] / "docs" / "claims" / "tau.json", copy_of_a_claim)
    before = sorted(tmp_path.rglob("*"))
    models = ("--target", target, "--draft", draft) if arguments[0] in ("batch", "measure", "generate", "serve") else ()
    done = run_here(*arguments, "x" * 300 + ".png", *models)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "xxx.png' cannot be written (File name too long). Choose another place" in done.stderr
    assert sorted(tmp_path.rglob("*")) == before


def test_a_file_that_a_folder_does_not_take_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder may be writable and take no files, as /proc is for root."""
    monkeypatch.setattr("minispec.engine.files.secrets.token_hex", lambda size: "x" * 300)
    with pytest.raises(OutputError, match=r"plot.png' cannot be written \("):
        style.save(style.new_figure()[0], tmp_path / "plot.png")
    assert list(tmp_path.iterdir()) == []


def test_pipes_and_devices_stay_what_they_are(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(os.devnull)
    for path in (tmp_path / "pipe", tmp_path / "link", Path(os.devnull)):
        with pytest.raises(OutputError, match="is a pipe or a device"):
            check_writable(path)
    with pytest.raises(OutputError, match="is a pipe or a device"):
        write_text(tmp_path / "pipe", "x")
    assert (tmp_path / "pipe").is_fifo()


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="this system has no names for what a process has open")
def test_standard_output_keeps_its_name_where_it_is_a_file(tmp_path: Path) -> None:
    """``--trace /dev/stdout > FILE``: a file that took the place of the link would be everyone's standard output."""
    with (tmp_path / "out").open("w") as file, pytest.raises(OutputError, match="is a pipe or a device"):
        check_writable(Path(f"/dev/fd/{file.fileno()}"))


def test_one_file_under_two_names_is_found(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("out.txt")
    check_apart({"RUN": tmp_path / "run.jsonl", "--html": tmp_path / "out.txt", "--svg": None})
    for other in ("out.txt", "link", f"../{tmp_path.name}/out.txt"):
        with pytest.raises(OutputError, match="is both RUN and --html, and would be overwritten"):
            check_apart({"RUN": tmp_path / "out.txt", "--html": tmp_path / other})


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("measure", "p.txt", "--csv", "p.txt"), "'p.txt' is both PROMPTS and --csv"),
        (("measure", "p.txt", "--journal", "j", "--csv", "j"), "'j' is both --journal and --csv"),
        (("measure", "p.txt", "--csv", "x.csv", "--markdown", "x.csv"), "'x.csv' is both --csv and --markdown"),
        (("replay", "p.txt", "--html", "p.txt"), "'p.txt' is both RUN and --html"),
        (("replay", "r.txt", "--race", "p.txt", "--svg", "p.txt"), "'p.txt' is both --race and --svg"),
        (("grade", "p.txt", "--assignment", "a1", "--output", "p.txt"), "'p.txt' is both SUBMISSIONS and --output"),
        (("grade", ".", "--assignment", "a1", "--output", "p.txt"), "'p.txt' is --output and lies in '"),
        (("grade", ".", "--assignment", "a1", "--output", "new"), "which is SUBMISSIONS and would be changed"),
        (("grade", "p.txt", "-a", "a1", "--times", "t", "-o", "t"), "'t' is both --times and --output"),
        (("grade", "p.txt", "-a", "a1", "--secret-file", "k", "-o", "k"), "'k' is both --secret-file and --output"),
        (("grade", "p.txt", "-a", "a1", "-o", str(A1 / "report.txt")), "which is --assignment and would be changed"),
        (("bench", "--quick", "--prompts", "p.svg", "--plot", "p.svg"), "'p.svg' is both --prompts and --plot"),
        (("plan", "--limit", "1", "--prompts", "p.svg", "--plot", "p.svg"), "'p.svg' is both --prompts and --plot"),
        (
            ("plan", "--measured", "--limit", "1", "--draft", "suffix:corpus=p.svg", "--plot", "p.svg"),
            "'p.svg' is read for --draft",
        ),
        (("serve", "--api-key-file", "p.txt", "--canary", "0.5", "--canary-log", "p.txt"), "and --canary-log"),
        (("experiment", "report", "--results", ".", "--write", "tau.json"), "both the result of tau and --write"),
        (("train-draft", "--target", "t", "--text", "p.txt", "-o", "."), "'p.txt' is --text and lies in '"),
    ],
)
def test_no_command_overwrites_what_it_reads(
    run_here: Run,  # noqa: F811
    tmp_path: Path,
    arguments: tuple[str, ...],
    complaint: str,
) -> None:
    if arguments[0] == "train-draft":
        pytest.importorskip("torch")
    for name in ("p.txt", "p.svg"):
        (tmp_path / name).write_text("a-key-of-sixteen\n")
        (tmp_path / name).chmod(0o600)  # as a key must be
    done = run_here(*arguments)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert complaint in done.stderr
    left = {each.name: each.read_text() for each in tmp_path.iterdir()}
    assert left == {"p.txt": "a-key-of-sixteen\n", "p.svg": "a-key-of-sixteen\n"}
