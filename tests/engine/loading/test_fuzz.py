"""Ten thousand broken folders: each is a model or an error of ours; never a crash, a hang, or runaway memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def fuzz(first, count, folder, timeout_s):
    command = [sys.executable, "-m", "tests.engine.loading.fuzz", str(first), str(count), str(folder)]
    # a hang inside a library would not hear a signal of Python's, so the process itself has the time limit
    quiet = os.environ | {"RUST_BACKTRACE": "0"}  # a backtrace takes seconds
    return subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True, timeout=timeout_s, check=False)


@pytest.mark.parametrize(
    ("first", "count"),
    [pytest.param(0, 600, id="600"), pytest.param(600, 9400, id="10000", marks=pytest.mark.exhaustive)],
)
def test_broken_folders(first, count, tmp_path):
    run = fuzz(first, count, tmp_path, timeout_s=max(300, count))
    assert run.returncode == 0, run.stderr[-3000:]
    outcome = json.loads(run.stdout.splitlines()[-1])
    assert outcome["cases"] == count
    for kind in ("header", "config", "index", "tokenizer", "vocab", "more"):
        # both outcomes occur in each kind, so the mutations are neither all fatal nor all harmless
        assert outcome[kind]["refused"] > count // 50, outcome
        assert outcome[kind]["loaded"] > 0, outcome


def test_a_loader_that_lets_an_error_through_is_caught(tmp_path):
    """Negative control: without the guard around JSON the same cases end in a traceback that names the case."""
    code = (
        "import sys, minispec.engine.loading.folder as f, json\n"
        "f.read_json = lambda path: json.loads(path.read_text())\n"
        "from pathlib import Path; from tests.engine.loading.fuzz import main; main(0, 200, Path(sys.argv[1]))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert run.returncode == 1
    assert "case " in run.stderr
    assert "Error" in run.stderr.splitlines()[-1]


def test_the_memory_limit_binds(tmp_path):
    """Negative control: a loader that asked for a few gigabytes would be stopped."""
    code = (
        "import sys, numpy as np, minispec.engine.loading.folder as f\n"
        "read = f.read_json; calls = []\n"
        "def greedy(path):\n"
        "    calls.append(path)\n"
        "    return read(path) if len(calls) == 1 else np.ones(2**29)\n"
        "f.read_json = greedy\n"
        "from pathlib import Path; from tests.engine.loading.fuzz import main; main(0, 5, Path(sys.argv[1]))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert run.returncode == 1
    assert "MemoryError" in run.stderr
