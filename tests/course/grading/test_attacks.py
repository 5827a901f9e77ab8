"""Attacks that strangers found, as whole submissions through the supervised grader: each gets its report, in time.

What one does to its grader costs nobody else a point, and nothing of the class is lost.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from minispec.course.grading.classroom import Job, grade_all, submissions_in
from minispec.course.grading.formats import FORMATS, render
from minispec.course.grading.grader_process import MEMORY_MB
from minispec.course.grading.jail import LAYERS
from minispec.course.grading.manifest import load_assignment
from minispec.course.grading.report import Report

from . import odd
from .example import ASSIGNMENTS, SECRET, example, with_accept, write
from .test_exploits import IDLE, SOURCES, earns

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="full isolation needs Linux")

LENT = {
    # Fails an early question, so that ours is lent in a later one, and asks too much of it there.
    "a3-time": ("a3", "tau", "speedup", "tau(0.5, 10**15)"),
    "a3-bignum": ("a3", "tau", "speedup", "tau(10**90, 10**9)"),
    "a3-memory": ("a3", "tokens_law", "expected_steps", "tokens_law(0.5, 3 * 10**8)"),
    "a4-text": ("a4", "cut", "release", "cut('a' * 3_000_000, ['b'])"),
    "a1-broadcast": ("a1", "layer_norm", "forward", "layer_norm(np.zeros((30_000, 1)), np.ones(30_000), 0.0)"),
    "a1-scores": (
        "a1",
        "causal_attention",
        "forward",
        "causal_attention(*[np.zeros((15_000, 1, 1), np.float32)] * 3)",
    ),
}


def lent(name: str, wrong: str, asks: str, question: str) -> str:
    solution = load_assignment(name).solution
    spoilt = (
        f"def {wrong}(*args, **kwargs):\n    return None\n\n\ndef {asks}(*args, **kwargs):\n    return {question}\n"
    )
    return f"{solution}\n\nimport numpy as np\n\n\n{spoilt}"


def supervised(name: str, *paths: Path, folder: Path | None = None, jobs: int = 1) -> list[Report]:
    return grade_all(Job(name, folder, SECRET, LAYERS, examples=False), list(paths), jobs=jobs)


@pytest.mark.parametrize(
    "attack", [*(pytest.param(name, marks=pytest.mark.slow) for name in LENT if name != "a3-time"), "a3-time"]
)
def test_lent_code_is_held_to_limits(attack: str, tmp_path: Path) -> None:
    name, wrong, asks, question = LENT[attack]
    (report,) = supervised(name, write(tmp_path / f"{name}.py", lent(name, wrong, asks, question)))
    assert not report.clocked  # a limit ended it; the clock would have said so, twice
    assert len(report.checks) == len(load_assignment(name).checks)
    passed = {check.id for check in report.checks if check.points}
    assert len(passed) >= 0.3 * len(report.checks), render([report], "terminal")  # the rest of it is right


@pytest.mark.slow
def test_a_session_refuses_what_no_text_is(tmp_path: Path) -> None:
    source = load_assignment("a2").solution + (
        "\n\ndef propose(draft, tokens, gamma, noise):\n    draft.score([0] * 90_000)\n    return [], []\n"
    )
    (report,) = supervised("a2", write(tmp_path / "a2.py", source))
    failed = {check.id for check in report.checks if not check.points}
    assert {"a2.q5.law", "a2.q5.cost"} <= failed
    assert "room for" in next(check.message for check in report.checks if check.id == "a2.q5.law")


def odd_files(room: Path) -> None:
    """Submissions that broke the intake of a whole class."""
    solution = example().solution
    for kind, name in ((zipfile.ZIP_DEFLATED, "deflate"), (zipfile.ZIP_LZMA, "lzma"), (zipfile.ZIP_BZIP2, "bzip2")):
        with zipfile.ZipFile(room / f"{name}.zip", "w", kind) as archive:
            archive.writestr("a0.py", solution * 20)
        data = bytearray((room / f"{name}.zip").read_bytes())
        data[60:90] = os.urandom(30)
        (room / f"{name}.zip").write_bytes(data)
    cell = {"cell_type": "code", "source": solution, "outputs": []}
    for name, metadata in (("null", None), ("list", []), ("text", {"nbgrader": "x"})):
        write(room / f"{name}.ipynb", json.dumps({"cells": [{**cell, "metadata": metadata}], "metadata": {}}))
    write(room / "cells.ipynb", json.dumps({"cells": {"a": 1}}))
    write(room / "number.ipynb", "7")
    with zipfile.ZipFile(room / "many.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for i in range(1990):
            archive.writestr(f"f{i}.py", "#" * (1 << 20))
    with zipfile.ZipFile(room / "beside.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a0.py", solution)
        for i in range(30):
            archive.writestr(f"f{i}.py", "#" * (1 << 20))
    os.mkfifo(room / "pipe.py")
    (room / "link.py").symlink_to("/etc/passwd")
    (Path(os.fsdecode(os.fsencode(room) + b"/\xff\xfe.py"))).write_text(solution, encoding="utf-8")


def is_whole(name: str) -> bool:
    """Whether one of these can be read all the same, and is right."""
    return (
        name in ("null.ipynb", "list.ipynb", "text.ipynb", "beside.zip") or not name.isprintable() or "\ufffd" in name
    )


def test_no_file_ends_a_class(tmp_path: Path) -> None:
    odd_files(tmp_path)
    reports = {report.submission: report for report in supervised("a0", *submissions_in(tmp_path), folder=ASSIGNMENTS)}
    for name, report in reports.items():
        assert len(report.checks) == 3
        right = is_whole(name)
        assert report.score == (10 if right else 0), render([report], "terminal")
        assert right or report.notes[0].startswith("nothing could be graded: "), name
    for form in FORMATS:
        render(list(reports.values()), form).encode("utf-8")


def test_a_judge_that_dies_costs_one_question(tmp_path: Path) -> None:
    """Whatever ends the judge: the question it was at is lost, and no other."""
    question = "tau(10**90, 10**9)"  # one call into C that no signal interrupts
    reports = supervised(
        "a3",
        write(tmp_path / "hostile" / "a3.py", lent("a3", "tau", "speedup", question)),
        write(tmp_path / "honest" / "a3.py", load_assignment("a3").solution),
        jobs=2,
    )
    hostile, honest = reports
    assert honest.score == 100
    lost = {check.id for check in hostile.checks if not check.points}
    assert {"a3.q4.speedup", "a3.q2.tau"} <= lost
    assert not hostile.clocked


def test_the_grader_dies_and_takes_its_workers_along(tmp_path: Path) -> None:
    path = write(tmp_path / "a0.py", with_accept("__import__('time').sleep(1000)"))
    code = (
        "import sys\nfrom pathlib import Path\nfrom minispec.course.grading.classroom import *\n"
        "from minispec.course.grading.jail import LAYERS\n"
        f"grade_all(Job('a0', Path({str(ASSIGNMENTS)!r}), b'', LAYERS), [Path({str(path)!r})], jobs=1)\n"
    )
    supervisor = subprocess.Popen([sys.executable, "-c", code])
    deadline = time.monotonic() + 20.0
    family: set[int] = set()
    while len(family) < 4 and time.monotonic() < deadline:  # judge, the worker and its two outer processes
        time.sleep(0.2)
        family = descendants(supervisor.pid)
    assert len(family) >= 2
    os.kill(supervisor.pid, signal.SIGKILL)
    supervisor.wait()
    deadline = time.monotonic() + 30.0
    while any(map(is_alive, family)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not [pid for pid in family if is_alive(pid)]


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def descendants(pid: int) -> set[int]:
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {pid}


def test_the_judge_is_limited() -> None:
    """Negative control: what the limit refuses is refused by the limit."""
    code = (
        f"import resource\nresource.setrlimit(resource.RLIMIT_DATA, ({MEMORY_MB << 20},) * 2)\n"
        "import numpy as np\ntry:\n    np.ones(200 << 20, np.uint8).sum() and np.ones(400 << 20, np.uint8)\n"
        "except MemoryError:\n    print('refused')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "refused\n"


PLAIN = {
    "exits": "raise SystemExit",
    "loops": "def accept(*args):\n    while True:\n        pass\n\n\ndraw_two = accept",
    "imports": "import torch",
    "syntax": "def accept(:",
}


def hostile_ones(room: Path, workshop: Path) -> dict[str, float]:
    """Hand in every exploit and every odd file there is; return what each is worth, by its name in the folder."""
    odd_files(room)
    worth = {path.name: 10.0 if is_whole(path.name) else 0.0 for path in room.iterdir()}
    for name, source in {**PLAIN, **SOURCES}.items():
        path = write(room / f"{name}.py", source)
        worth[path.name] = 0.0 if name in PLAIN else earns(name)
    for name, make in odd.MAKERS.items():
        (workshop / name).mkdir(parents=True)
        made = make(workshop / name)
        worth[made.rename(room / f"{name}{made.suffix}").name] = earns(name)
    return worth


@pytest.mark.exhaustive
def test_a_class_of_three_hundred_with_every_hostile_one(tmp_path: Path) -> None:
    (room := tmp_path / "class").mkdir()
    worth = hostile_ones(room, tmp_path / "workshop")
    assert len(worth) >= 60
    for i in range(len(worth), 300):
        path = write(room / f"student{i}.py", f"{example().solution if i % 3 else with_accept('return True')}\n# {i}\n")
        worth[path.name] = 10.0 if i % 3 else 4.0
    start = time.monotonic()
    paths = submissions_in(room)
    reports = grade_all(Job("a0", ASSIGNMENTS, SECRET, LAYERS), paths, jobs=os.cpu_count() or 1)
    seconds = time.monotonic() - start
    assert {path.name: report.score for path, report in zip(paths, reports, strict=True)} == worth
    assert {report.submission.removesuffix(".py") for report in reports if report.clocked} <= IDLE
    grown = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"{len(reports)} submissions in {seconds:.0f} s; largest process {grown:.0f} MB")
    assert grown < MEMORY_MB
