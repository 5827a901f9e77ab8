"""Kernels compile where nothing can be written, and the package imports there."""

from __future__ import annotations

import os
import subprocess
import sys

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
from minispec.backends import get_backend
backend = get_backend("numba")
x = np.arange(8, dtype=np.float32).reshape(2, 4)
assert backend.linear(x, backend.pack(np.eye(4, dtype=np.float32), None)).tolist() == x.tolist()
"""


def run(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment}, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def test_without_a_place_to_write_kernels_are_compiled_in_memory():
    log = "import logging; logging.basicConfig(level=logging.INFO)\n"
    result = run(NO_PLACE + log + USE)
    assert result.returncode == 0, result.stderr
    assert "NUMBA_CACHE_DIR" in result.stderr  # -v says what would help


def test_without_a_place_to_write_nothing_is_said_unasked():
    result = run(NO_PLACE + USE)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_a_cache_folder_that_is_a_file(tmp_path):
    """NUMBA_CACHE_DIR and the home both point at a file: Numba falls through to the package or to memory."""
    (tmp_path / "file").touch()
    result = run(USE, NUMBA_CACHE_DIR=str(tmp_path / "file"), HOME=str(tmp_path / "file"))
    assert result.returncode == 0, result.stderr


def test_compiled_kernels_are_found_again(tmp_path):
    """Two runs, one folder: the second compiles nothing."""
    report = USE + "\nfrom minispec.backends import _kernels\nprint(sum(_kernels.linear.stats.cache_hits.values()))\n"
    runs = [run(report, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2)]
    assert [(r.returncode, r.stdout.strip()) for r in runs] == [(0, "0"), (0, "1")], runs[0].stderr + runs[1].stderr
