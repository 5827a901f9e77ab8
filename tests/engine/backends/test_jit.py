"""Kernels compile where nothing can be written, and the package imports there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import minispec
from minispec.engine.kernel_cache import KernelFiles
from minispec.engine.loading.bundled import bundled_folders

# Numba asks each locator for a folder it can write to, at decoration, and raises RuntimeError if none has one. A
# read-only install without a home does that. Tests may run as root, whom no permission binds: here no locator answers.
NO_PLACE = """
from numba.core import caching
caching.CacheImpl._locator_classes = []
import numba
try:
    numba.njit(cache=True)(lambda x: x)
except RuntimeError as error:
    assert "no locator" in str(error), error
else:
    raise SystemExit("the simulation does not work: Numba found a place")
"""

USE = """
import logging, sys
import numpy as np
from minispec.engine.backends import get_backend
backend = get_backend("numba")
x = np.arange(8, dtype=np.float32).reshape(2, 4)
assert backend.linear(x, backend.pack(np.eye(4, dtype=np.float32), None)).tolist() == x.tolist()
"""


NO_HOME = """
import os.path
os.path.expanduser = lambda path: path
"""


def run(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_without_a_place_to_write_kernels_are_compiled_in_memory():
    log = "import logging; logging.basicConfig(level=logging.INFO)\n"
    result = run(NO_PLACE + log + USE)
    assert result.returncode == 0, result.stderr
    assert "NUMBA_CACHE_DIR" in result.stderr  # -v says what would help


def test_without_a_place_to_write_nothing_is_said_unasked():
    result = run(NO_PLACE + USE)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_a_command_says_it_once_in_one_line():
    warn = "\nfrom minispec.engine.jit import warn_if_in_memory\nwarn_if_in_memory()\nwarn_if_in_memory()\n"
    without, with_place = run(NO_PLACE + USE + warn), run(USE + warn)
    assert (without.returncode, len(without.stderr.splitlines())) == (0, 1), without.stderr
    assert "NUMBA_CACHE_DIR" in without.stderr
    assert (with_place.returncode, with_place.stderr) == (0, "")


@pytest.mark.slow
def test_generating_from_a_read_only_install_without_a_home(tmp_path):
    """The package's own folders take no ``__pycache__`` (there is a file of that name; permissions would not bind
    root), the home is a file, and nothing else is offered: everything is compiled in memory, and one line says so."""
    root = Path(minispec.__file__).resolve().parent
    shutil.copytree(root, tmp_path / "minispec", ignore=shutil.ignore_patterns("__pycache__", "_bundled"))
    (tmp_path / "weights").symlink_to(bundled_folders()["target-17m"].parent)
    for folder in {path.parent for path in (tmp_path / "minispec").rglob("*.py")}:
        (folder / "__pycache__").touch()
    (tmp_path / "home").touch()
    offered = {"HOME": str(tmp_path / "home"), "XDG_CACHE_HOME": str(tmp_path / "home" / "cache")}
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"} | offered
    command = "import sys; from minispec.cli.main import main; main()"
    result = subprocess.run(
        [sys.executable, "-B", "-c", command, "generate", "Once", "--max-tokens", "3", "--quiet"],
        cwd=tmp_path,
        env={**environment, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip()
    assert result.stderr.count("\n") == 1, result.stderr
    assert "NUMBA_CACHE_DIR" in result.stderr


def test_a_cache_folder_that_is_a_file(tmp_path):
    """NUMBA_CACHE_DIR and the home both point at a file: Numba falls through to the package or to memory."""
    (tmp_path / "file").touch()
    result = run(USE, NUMBA_CACHE_DIR=str(tmp_path / "file"), HOME=str(tmp_path / "file"))
    assert result.returncode == 0, result.stderr


def test_compiled_kernels_are_found_again(tmp_path):
    """Two runs, one folder: the second compiles nothing."""
    report = (
        USE + "\nfrom minispec.engine.backends import _kernels\nprint(sum(_kernels.matmul.stats.cache_hits.values()))\n"
    )
    runs = [run(report, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2)]
    assert [(r.returncode, r.stdout.strip()) for r in runs] == [(0, "0"), (0, "1")], runs[0].stderr + runs[1].stderr


def test_nothing_is_kept_in_the_package(tmp_path):
    """Files there would outlive an uninstall, and be imported as an empty namespace."""
    folder = "\nfrom minispec.engine import jit\nprint(jit.cache_folder(jit.jit()(get_backend)))\n"
    result = run(USE + folder, NUMBA_CACHE_DIR="", HOME=str(tmp_path), XDG_CACHE_HOME="", LOCALAPPDATA=str(tmp_path))
    assert result.returncode == 0, result.stderr
    assert Path(result.stdout.strip()).is_relative_to(tmp_path)
    without_home = run(NO_HOME + USE + folder, NUMBA_CACHE_DIR="", HOME="", XDG_CACHE_HOME="here")
    assert (without_home.returncode, without_home.stdout.strip()) == (0, "None"), without_home.stderr


def test_processes_that_fill_one_cache_read_their_own_code_or_none(tmp_path, monkeypatch):
    """Wherever the saves of two meet, and two versions or clones beside each other keep both."""
    ours, theirs = (KernelFiles(str(tmp_path), "f-1.py3", b"stamp", "sources") for _ in range(2))
    other = KernelFiles(str(tmp_path), "f-1.py3", b"stamp", "other sources")
    replace, found = os.replace, []

    def meet(source, place):
        monkeypatch.setattr(os, "replace", replace)
        theirs.save("b", "code for b")
        other.save("a", "other code for a")
        found.append((theirs.load("a"), theirs.load("b"), other.load("a")))
        replace(source, place)
        monkeypatch.setattr(os, "replace", meet)

    assert ours.is_empty()
    monkeypatch.setattr(os, "replace", meet)
    ours.save("a", "code for a")
    assert all(each[0] in (None, "code for a") for each in found)
    assert {each[1:] for each in found} == {("code for b", "other code for a")}
    assert (ours.load("a"), ours.load("b"), ours.is_empty()) == ("code for a", "code for b", False)


def test_what_is_broken_is_compiled_again_and_what_is_old_is_dropped(tmp_path):
    present, past = (KernelFiles(str(tmp_path), "f-1.py3", b"stamp", sources) for sources in ("new", "old"))
    past.save("a", "code")
    (file,) = tmp_path.iterdir()
    whole = file.read_bytes()
    for content in (b"", whole[:-1], whole[: len(whole) // 2], b"\0" * len(whole)):
        file.write_bytes(content)
        assert past.load("a") is None
    file.write_bytes(whole)
    present.save("a", "code")
    assert past.load("a") == "code"
    os.utime(file, (0, 0))
    present.save("b", "code")
    assert (past.load("a"), present.load("a")) == (None, "code")


KERNEL = """
from helper import SIZE
from minispec.engine.jit import jit

@jit()
def size(x):
    return SIZE + x

print(size(0))
"""


def test_a_change_in_another_module_is_not_served_stale_code(tmp_path):
    """A kernel uses a constant of its package; the constant changes, the kernel's own file does not."""
    (tmp_path / "kernel.py").write_text(KERNEL)
    start = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import kernel"
    found = []
    for number in ("1", "2"):
        (tmp_path / "helper.py").write_text(f"import numba\n\nSIZE = {number}\n")
        result = run(start, NUMBA_CACHE_DIR=str(tmp_path / "cache"), PYTHONDONTWRITEBYTECODE="1")
        assert result.returncode == 0, result.stderr
        found.append(result.stdout.strip())
    assert found == ["1", "2"]


LATE = """
import sys, pathlib
sys.path.insert(0, {folder!r})
import minispec.engine.jit, helper
{edit}
import kernel
"""


NO_CHANGE_TIME = pytest.mark.skipif(sys.platform == "win32", reason="Windows does not say when a file was put there")


@pytest.mark.parametrize("dated", ["now", pytest.param("long ago", marks=NO_CHANGE_TIME)])
def test_code_made_from_sources_that_changed_after_their_import_is_not_kept(tmp_path, dated):
    """A process imports a helper, the helper changes on disk, and a kernel is compiled from what was imported.

    The next process must not be served that under the hash of the changed source, however that source is dated.
    """
    (tmp_path / "kernel.py").write_text(KERNEL)
    (tmp_path / "helper.py").write_text("import numba\n\nSIZE = 1\n")
    edit = "helper = pathlib.Path(helper.__file__); helper.write_text('import numba\\n\\nSIZE = 2\\n')"
    if dated == "long ago":  # as after copying a file with its date
        edit += "; import os; os.utime(helper, (1e9, 1e9))"
    environment = {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    found = []
    for code in (LATE.format(folder=str(tmp_path), edit=edit), LATE.format(folder=str(tmp_path), edit="")):
        result = run(code, **environment)
        assert result.returncode == 0, result.stderr
        found.append(result.stdout.strip())
    assert found == ["1", "2"]


def test_what_has_not_changed_is_kept(tmp_path):
    """The control of the test above: without an edit the second process finds the first one's machine code."""
    (tmp_path / "kernel.py").write_text(KERNEL + "print(sum(size.stats.cache_hits.values()))\n")
    (tmp_path / "helper.py").write_text("import numba\n\nSIZE = 1\n")
    code = LATE.format(folder=str(tmp_path), edit="")
    results = [run(code, NUMBA_CACHE_DIR=str(tmp_path / "cache")) for _ in range(2)]
    assert [result.stdout.split() for result in results] == [["1", "0"], ["1", "1"]], results[0].stderr
