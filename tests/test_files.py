"""Files that commands write: nothing else is ever in their place, and no input is lost."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from minispec.errors import OutputError
from minispec.files import check_apart, check_writable, open_whole, write_text
from tests.cli.conftest import Run, run_here  # noqa: F401  # a fixture


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    write_text(path, "first")
    with pytest.raises(UnicodeEncodeError), open_whole(path) as file:
        print("half", "\ud800", file=file)
    assert path.read_text() == "first"
    assert [each.name for each in tmp_path.iterdir()] == ["out.txt"]


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "theirs").write_text("theirs")
    (tmp_path / "link").symlink_to(tmp_path / "theirs")
    write_text(tmp_path / "link", "ours")
    assert (tmp_path / "theirs").read_text() == "theirs"
    assert (tmp_path / "link").read_text() == "ours"
    assert not (tmp_path / "link").is_symlink()


def test_pipes_and_devices_stay_what_they_are(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(os.devnull)
    for path in (tmp_path / "pipe", tmp_path / "link", Path(os.devnull)):
        with pytest.raises(OutputError, match="is a pipe or a device"):
            check_writable(path)
    with pytest.raises(OutputError, match="is a pipe or a device"):
        write_text(tmp_path / "pipe", "x")
    assert (tmp_path / "pipe").is_fifo()


def test_one_file_under_two_names_is_found(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("out.txt")
    check_apart({"RUN": tmp_path / "run.jsonl", "--html": tmp_path / "out.txt", "--svg": None})
    for other in ("out.txt", "link", f"../{tmp_path.name}/out.txt"):
        with pytest.raises(OutputError, match="is both RUN and --html, and would be overwritten"):
            check_apart({"RUN": tmp_path / "out.txt", "--html": tmp_path / other})


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("measure", "p.txt", "--json", "p.txt"), "'p.txt' is both PROMPTS and --json"),
        (("measure", "p.txt", "--journal", "j", "--json", "j"), "'j' is both --journal and --json"),
        (("measure", "p.txt", "--csv", "x.csv", "--markdown", "x.csv"), "'x.csv' is both --csv and --markdown"),
        (("replay", "p.txt", "--html", "p.txt"), "'p.txt' is both RUN and --html"),
        (("replay", "r.txt", "--race", "p.txt", "--svg", "p.txt"), "'p.txt' is both --race and --svg"),
        (("grade", "p.txt", "--assignment", "a1", "--output", "p.txt"), "'p.txt' is both SUBMISSIONS and --output"),
    ],
)
def test_no_command_overwrites_what_it_reads(
    run_here: Run,  # noqa: F811
    tmp_path: Path,
    arguments: tuple[str, ...],
    complaint: str,
) -> None:
    (tmp_path / "p.txt").write_text("Once\n")
    done = run_here(*arguments)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert complaint in done.stderr
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("p.txt", "Once\n")]
