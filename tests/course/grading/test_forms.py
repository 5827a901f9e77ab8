"""Right answers in any sane shape are graded: notebooks, archives, encodings, helpers; else one sentence says why."""

from __future__ import annotations

import io
import json
import os
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from minispec.course.grading.formats import render
from minispec.course.grading.grade import Grader
from minispec.course.grading.intake import read_submission
from minispec.course.grading.jail import LAYERS
from minispec.course.grading.magics import without_magics
from minispec.course.grading.worker import Limits, Worker
from minispec.errors import InputError

from .example import SECRET, example, with_accept, write

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="full isolation needs Linux")

SOLUTION = example().solution
SPLIT = SOLUTION.replace("import numpy as np\n", "import numpy as np\nfrom HELPER import ratio\n", 1).replace(
    "return bool(u * q[token] < p[token])", "return bool(u < ratio(p, q, token))"
)
RATIO = "def ratio(p, q, token):\n    return p[token] / q[token]\n"


@pytest.fixture(scope="module")
def grader() -> Grader:
    return Grader(example(), SECRET, examples=False)


def notebook(path: Path, *cells: str) -> Path:
    told = [{"cell_type": "code", "metadata": {}, "source": cell, "outputs": []} for cell in cells]
    return write(path, json.dumps({"cells": told, "metadata": {}, "nbformat": 4}))


def zipped(path: Path, **files: str) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


def tarred(path: Path) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        info = tarfile.TarInfo("./hw/jane/a0.py")
        info.size = len(SOLUTION.encode())
        archive.addfile(info, io.BytesIO(SOLUTION.encode()))
    return path


def with_files(folder: Path, **files: str | bytes) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


MAGICS = "%matplotlib inline\n%load_ext autoreload\nfiles = !ls\n!pip install numpy\nlist?\n?list\n"
PLOT = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\n"
NODE = "class Node:\n    def copy(self) -> Node: ...\n"
FUTURE = (f"from __future__ import annotations\n{NODE}", f"Node()\n{NODE.replace('Node', 'Tree')}{SOLUTION}")
MODULO = "seven = (27\n    % 20)\nassert seven == 7\n"
FORMS: dict[str, Callable[[Path], Path]] = {
    "magics": lambda f: notebook(f / "a0.ipynb", MAGICS + "import numpy as np", "%%bash\nls", SOLUTION, "%time 1 + 1"),
    "modulo": lambda f: notebook(f / "a0.ipynb", MODULO + SOLUTION, "%timeit accept"),
    "plots": lambda f: notebook(f / "a0.ipynb", PLOT.splitlines()[0] + "\nimport numpy as np", SOLUTION, PLOT),
    "display": lambda f: notebook(f / "a0.ipynb", SOLUTION, "display(accept)\nget_ipython().run_line_magic('x', 'y')"),
    "failing demonstration": lambda f: notebook(f / "a0.ipynb", SOLUTION, "accept(1)", "1 / 0", "x ="),
    "future": lambda f: notebook(f / "a0.ipynb", *FUTURE),
    "exit": lambda f: notebook(f / "a0.ipynb", SOLUTION, "import sys\nsys.exit()", "raise SystemExit('done')"),
    "otter": lambda f: notebook(
        f / "a0.ipynb", "import otter\n\ngrader = otter.Notebook('a0.ipynb')", SOLUTION, 'grader.check("a0-q1")'
    ),
    "zip of two levels": lambda f: zipped(f / "jane.zip", **{"hw/jane/a0.py": SOLUTION}),
    "zip with backslashes": lambda f: zipped(f / "jane.zip", **{"hw\\jane\\a0.py": SOLUTION}),
    "tar": lambda f: tarred(f / "jane.tar.gz"),
    "folder of folders": lambda f: with_files(f, **{"a/b/a0.py": SOLUTION}),
    "latin-1": lambda f: with_files(f, **{"a0.py": ("# -*- coding: latin-1 -*-\n# é\n" + SOLUTION).encode("latin-1")}),
    "utf-16": lambda f: with_files(f, **{"a0.py": SOLUTION.encode("utf-16")}),
    "odd file beside": lambda f: with_files(f, **{"a0.py": SOLUTION, "notes.py": b"# \xe9\n"}),
    "stale notebook": lambda f: notebook(with_files(f, **{"a0.py": SOLUTION}) / "a0.ipynb", "1 / 0").parent,
    "helper called token": lambda f: with_files(f, **{"a0.py": SPLIT.replace("HELPER", "token"), "token.py": RATIO}),
    "helper": lambda f: with_files(f, **{"a0.py": SPLIT.replace("HELPER", "my_ratio"), "my_ratio.py": RATIO}),
    "package": lambda f: with_files(
        f,
        **{
            "a0.py": SPLIT.replace("HELPER", "lib.deep.ratios"),
            "lib/__init__.py": "",
            "lib/deep/__init__.py": "",
            "lib/deep/ratios.py": RATIO,
        },
    ),
    "helper imports the library's": lambda f: with_files(
        f, **{"a0.py": SPLIT.replace("HELPER", "token"), "token.py": "import tokenize, inspect\n" + RATIO}
    ),
}
DEFAULT = ("magics", "plots", "future", "exit", "zip with backslashes", "latin-1", "helper called token", "package")


@pytest.mark.parametrize("form", [*(pytest.param(f, marks=() if f in DEFAULT else pytest.mark.slow) for f in FORMS)])
def test_a_right_answer_passes_in_any_form(form: str, grader: Grader, tmp_path: Path) -> None:
    report = grader.grade(FORMS[form](tmp_path))
    assert report.score == 10, render([report], "terminal")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a0.py", b"x = 1\n# \xe9\n", "line 2 is not UTF-8 text"),
        ("a0.7z", b"7z\xbc\xaf\x27\x1c", "pack it as a zip"),
        ("a0.ipynb", b"{", "the notebook cannot be read"),
        ("a0.py", b"# coding: unicode_escape\n# \\ud800\n", r"a0.py' holds half a character, '\\ud800'"),
        (
            "a0.ipynb",
            b'{"cells": [{"cell_type": "code", "metadata": {}, "source": "# \\udc00", "outputs": []}], "nbformat": 4}',
            r"a0.ipynb' holds half a character, '\\udc00'",
        ),
        ("a0.ipynb", b'{"cells": [], "nbformat": 4}', "^'a0.ipynb' has no code cell"),
        ("notes.txt", b"hello", "is no Python file, notebook, folder, zip or tar.*; hand in a0.py or a notebook$"),
        ("a0.pdf", b"%PDF-1.7", "; hand in a0.py or a notebook$"),  # which a zip would not make a Python file
        ("a0.PAGES", b"PK", "; hand in a0.py or a notebook$"),
        ("a0.zip", b"PK\x03\x04", "; it is damaged, pack it anew$"),
        ("a0.zip", b"PK\x05\x06" + b"\x01" * 16 + b"\0\0", "^it cannot be read: BadZipFile .*; pack it anew$"),
    ],
)
def test_what_cannot_be_graded_is_told_in_a_sentence(name: str, content: bytes, words: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=words) as caught:
        read_submission(tmp_path / name, "a0.py")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["A0.PY", "a0 (1).py", "a0 - Copy.py", "a0-2.py"])
def test_the_entry_is_found_under_the_name_of_a_copy(name: str, tmp_path: Path) -> None:
    write(tmp_path / name, SOLUTION)
    with zipfile.ZipFile(tmp_path / "a0.zip", "w") as archive:
        archive.writestr(f"work/{name}", SOLUTION)
        archive.writestr("work/Helper.PY", "")
    assert read_submission(tmp_path / name, "a0.py").files == {"a0.py": SOLUTION}
    assert read_submission(tmp_path / "a0.zip", "a0.py").files == {"a0.py": SOLUTION, "Helper.py": ""}


def test_two_copies_of_the_entry_are_a_question(tmp_path: Path) -> None:
    for name in ("a0 (1).py", "a0 (2).py"):
        write(tmp_path / "mine" / name, SOLUTION)
    with pytest.raises(InputError, match=r"holds 'a0 \(1\).py' and 'a0 \(2\).py'; hand in one, named a0.py"):
        read_submission(tmp_path / "mine", "a0.py")


def test_saved_plots_are_no_code(tmp_path: Path) -> None:
    output = {"output_type": "display_data", "metadata": {}, "data": {"image/png": "A" * (3 << 20)}}
    cell = {"cell_type": "code", "metadata": {}, "source": "x = 1", "outputs": [output]}
    write(tmp_path / "a0.ipynb", json.dumps({"cells": [cell], "nbformat": 4}))
    assert read_submission(tmp_path / "a0.ipynb", "a0.py").files == {"a0.py": "x = 1\n"}
    write(tmp_path / "b.ipynb", json.dumps({"cells": [cell | {"source": "#" * (2 << 20)}], "nbformat": 4}))
    with pytest.raises(InputError, match="more than 1 MB of code"):
        read_submission(tmp_path / "b.ipynb", "a0.py")


def test_what_was_passed_over_is_told(grader: Grader, tmp_path: Path) -> None:
    report = grader.grade(FORMS["plots"](tmp_path))
    assert "code cell 1 imports matplotlib, which is not installed here" in report.notes
    report = grader.grade(FORMS["exit"](tmp_path / "exit"))
    assert report.notes == ["code cell 2 raised SystemExit", "code cell 3 raised SystemExit: done"]


def test_a_magic_is_one_only_where_python_stumbles() -> None:
    cell = 'text = """\n%matplotlib\n!ls\n"""\nrest = (9\n% 4)'
    assert without_magics(cell) == cell
    assert without_magics("if x:\n    %time y = 1\n    !ls") == "if x:\n    y = 1\n    pass"


def test_an_import_that_is_not_there_is_told_once(grader: Grader, tmp_path: Path) -> None:
    report = grader.grade(write(tmp_path / "a0.py", "import torch\n" + SOLUTION))
    text = render([report], "terminal")
    assert text.count("torch") == 1
    assert text.count("besides Python's standard library only numpy is installed here") == 1


def test_a_case_that_took_too_long_is_shown(grader: Grader, tmp_path: Path) -> None:
    report = grader.grade(write(tmp_path / "a0.py", with_accept("while u == 0.5: pass\n    return bool(u < p[0])")))
    (check,) = [one for one in report.checks if one.id == "a0.q1.accept"]
    assert "u = 0.5" in check.example
    assert "processor time" in check.message or "no answer within" in check.message  # on a busy machine


def test_arguments_that_are_changed_are_a_failure(grader: Grader, tmp_path: Path) -> None:
    changing = with_accept("right = bool(u * q[token] < p[token])\n    p /= 2\n    return right")
    report = grader.grade(write(tmp_path / "a0.py", changing))
    assert report.checks[0].message == "accept changed its argument 1 in place"


def test_what_is_not_safe_is_refused_unless_named(tmp_path: Path) -> None:
    """The machine lacks a layer: nothing is run; told that it is meant, it is run."""

    class Lacking(Worker):
        def _receive(self) -> object:
            told = super()._receive()
            if told.get("is") == "ready":
                told["layers"] |= {"seccomp": False}
            return told

    tried = tuple(layer for layer in LAYERS)
    with (
        pytest.raises(InputError, match="--without seccomp"),
        Lacking({"a0.py": SOLUTION}, ["a0"], limits=Limits(5.0, 512, tried, tmp_path)),
    ):
        pass
    named = tuple(layer for layer in LAYERS if layer != "seccomp")
    with Lacking({"a0.py": SOLUTION}, ["a0"], limits=Limits(5.0, 512, named, tmp_path)) as subject:
        assert subject.accept([0.5, 0.5], [0.5, 0.5], 0, 0.5) is True


@pytest.mark.skipif(os.geteuid() != 0, reason="as root every layer can be taken away")
def test_root_without_a_user_of_its_own_is_refused(tmp_path: Path) -> None:
    class Lacking(Worker):
        def _receive(self) -> object:
            told = super()._receive()
            if told.get("is") == "ready":
                told["layers"] |= {"namespaces": False, "landlock": False, "user": False}
            return told

    with (
        pytest.raises(InputError, match="namespaces and landlock and user"),
        Lacking({"a0.py": SOLUTION}, ["a0"], limits=Limits(5.0, 512, LAYERS, tmp_path)),
    ):
        pass
