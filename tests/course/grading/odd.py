"""Submissions that are odd as files: each maker writes one into an empty folder and returns its path.

``EARNS`` says what the honest content is worth; what is not named there holds nothing honest.
"""

from __future__ import annotations

import json
import os
import stat
import zipfile
from pathlib import Path

from .example import example, write

FORGED = "def accept(*args):\n    return None\n\n\ndraw_two = accept\n"
EARNS = {
    "e17_notebook_solved": 10,
    "e22_shadowing_modules": 10,
    "e45_links": 10,
    "e45_zip_of_a_folder": 10,
    "e45_zip_with_odd_paths": 10,
    "g4_windows_text": 10,
    "g5_warnings": 10,
    "e50_slow_to_load": 10,
}


def e06_configures_pytest(folder: Path) -> Path:
    """Files that steer a test runner."""
    write(folder / "a0.py", FORGED)
    write(folder / "conftest.py", "def pytest_sessionfinish(session, exitstatus):\n    session.exitstatus = 0\n")
    for name in ("pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg"):
        write(folder / name, "[pytest]\naddopts = --co -q\n")
    return folder


def e16_patches_ipython(folder: Path) -> Path:
    """A notebook that hides its errors."""
    code = "get_ipython().showtraceback = lambda *a, **k: None\nfrom IPython import get_ipython\n"
    return _notebook(folder / "a0.ipynb", [(code, {}), ("raise RuntimeError", {})])


def e17_rewrites_test_cells(folder: Path) -> Path:
    """A notebook whose test cells were replaced, and whose points were raised."""
    test = {"nbgrader": {"grade": True, "solution": False, "grade_id": "test-a0-q1", "points": 1000}}
    cells = [
        (FORGED, {}),
        ("def accept(*args):\n    return True\n1000.0", test),
        ("require = lambda *a: None", test),
    ]
    return _notebook(folder / "a0.ipynb", cells)


def e17_notebook_solved(folder: Path) -> Path:
    """The honest twin: magics and test cells do no harm."""
    test = {"nbgrader": {"grade": True, "solution": False, "grade_id": "test-a0-q1", "points": 6}}
    return _notebook(folder / "a0.ipynb", [("%matplotlib inline\n!ls", {}), (example().solution, {}), ("1 / 0", test)])


def e18_thousand_tests(folder: Path) -> Path:
    """A thousand tests that pass."""
    write(folder / "a0.py", FORGED)
    for i in range(1000):
        write(folder / f"x{i}_test.py", "def test_ok():\n    pass\n")
    return folder


def e19_brings_its_own_checks(folder: Path) -> Path:
    """Checks, manifest and recorded answers of its own, where a student's bundle has them."""
    write(folder / "a0.py", FORGED)
    for home in (folder, folder / "checks" / "a0", folder / "assignments" / "a0"):
        write(home / "checks.py", "CHECKS = []\n")
        write(home / "assignment.toml", 'points = 0\nid = "a0"\n')
        write(home / "recorded.json", "{}")
        write(home / "report.json", '{"score": 10}')
    return folder


def e22_shadowing_modules(folder: Path) -> Path:
    """Files with the names of modules, beside an honest solution: nobody but the submission imports them."""
    write(folder / "a0.py", example().solution)
    for name in ("numpy", "json", "sitecustomize", "usercustomize", "random", "grading_host"):
        write(folder / f"{name}.py", "raise SystemExit('shadowed')\n")
    write(folder / "x.pth", "import os; os._exit(0)\n")
    return folder


def e45_links(folder: Path) -> Path:
    """Links, a pipe and a folder where files are expected, beside an honest solution."""
    write(folder / "a0.py", example().solution)
    (folder / "link.py").symlink_to("/etc/hostname")
    (folder / "loop").symlink_to(folder)
    (folder / "dangling.py").symlink_to(folder / "nowhere")
    os.mkfifo(folder / "pipe.py")
    (folder / "folder.py").mkdir()
    return folder


def e45_entry_is_a_link(folder: Path) -> Path:
    """The entry itself points elsewhere."""
    target = write(folder / "elsewhere" / "solution.py", example().solution)
    (folder / "in").mkdir()
    (folder / "in" / "a0.py").symlink_to(target)
    return folder / "in"


def e45_entry_is_a_pipe(folder: Path) -> Path:
    """The entry would block whoever opens it."""
    os.mkfifo(folder / "a0.py")
    return folder


def e45_zip_of_a_folder(folder: Path) -> Path:
    """The honest twin: a zip made on another system, with a folder around the files."""
    with zipfile.ZipFile(folder / "jane.zip", "w") as archive:
        archive.writestr("jane/a0.py", example().solution)
        archive.writestr("__MACOSX/jane/._a0.py", b"\0\1")
    return folder / "jane.zip"


def e45_zip_with_odd_paths(folder: Path) -> Path:
    """Names that lead out of the archive, links, and names that are one on some systems; and an honest solution."""
    with zipfile.ZipFile(folder / "odd.zip", "w") as archive:
        archive.writestr("a0.py", example().solution)
        for name in (
            "../a0.py",
            "/tmp/a0.py",
            "..\\a0.py",
            "C:\\a0.py",
            "x/../../a0.py",
            "new\nline.py",
            "A0.PY",
            "A0.py",
        ):
            archive.writestr(name, FORGED)
        link = zipfile.ZipInfo("hosts.py")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/hosts")
    return folder / "odd.zip"


def e45_zip_bomb(folder: Path) -> Path:
    """A file that is small until it is read."""
    with zipfile.ZipFile(folder / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a0.py", b"#" * (64 << 20))
    return folder / "bomb.zip"


def e45_zip_of_many(folder: Path) -> Path:
    """More entries than anyone hands in."""
    with zipfile.ZipFile(folder / "many.zip", "w") as archive:
        for i in range(5000):
            archive.writestr(f"f{i}.py", "")
    return folder / "many.zip"


def e45_broken_zip(folder: Path) -> Path:
    """A zip that was cut."""
    whole = e45_zip_of_a_folder(folder).read_bytes()
    (folder / "cut.zip").write_bytes(whole[: len(whole) // 2])
    return folder / "cut.zip"


def g4_empty(folder: Path) -> Path:
    """Nothing in it."""
    return write(folder / "a0.py", "")


def g4_syntax_error(folder: Path) -> Path:
    """No Python."""
    return write(folder / "a0.py", "def accept(p, q:\n    return True\n")


def g4_binary(folder: Path) -> Path:
    """No text."""
    (folder / "a0.py").write_bytes(bytes(range(256)))
    return folder / "a0.py"


def g4_wrong_arity(folder: Path) -> Path:
    """Functions of other arguments."""
    return write(folder / "a0.py", "def accept():\n    return True\n\n\ndef draw_two(a, b, c):\n    return []\n")


def g4_other_name(folder: Path) -> Path:
    """A folder without the file that is asked for."""
    write(folder / "assignment_zero.py", example().solution)
    return folder


def g4_windows_text(folder: Path) -> Path:
    """Honest: a byte order mark, other line ends, tabs, and prints."""
    text = example().solution.replace("    return", "    print('debugging')\n    return").replace("    ", "\t")
    (folder / "a0.py").write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    return folder / "a0.py"


def g5_warnings(folder: Path) -> Path:
    """Honest: noise on stderr."""
    noise = "import sys, warnings\nwarnings.warn('noise')\nprint('noise', file=sys.stderr)\nnp.zeros(1) / 0.0\n"
    return write(folder / "a0.py", example().solution + noise)


def e50_slow_to_load(folder: Path) -> Path:
    """Honest: takes a while to get ready, as what compiles does."""
    return write(folder / "a0.py", "sum(range(3_000_000))\n" + example().solution)


def _notebook(path: Path, cells: list[tuple[str, dict[str, object]]]) -> Path:
    told = [{"cell_type": "code", "metadata": meta, "source": source, "outputs": []} for source, meta in cells]
    return write(path, json.dumps({"cells": told, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))


MAKERS = {
    name: maker for name, maker in list(globals().items()) if name[0] in "eg" and name[1].isdigit() and callable(maker)
}
