"""A command run as a user runs it: a process, its exit code, and what it wrote where."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.tiny import write_model

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def target(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_model(tmp_path_factory.mktemp("models") / "target", seed=1, scale=0.3))


@pytest.fixture(scope="session")
def draft(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_model(tmp_path_factory.mktemp("models") / "draft", seed=2, n_embd=8, n_layer=1, scale=0.3))


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run ``minispec`` with these arguments in an empty folder, on the NumPy backend unless told otherwise."""

    def call(*arguments: str, stdin: bytes | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
        env = {k: v for k, v in os.environ.items() if not k.startswith("MINISPEC_") and k != "NO_COLOR"}
        done = subprocess.run(
            [sys.executable, "-m", "minispec", *arguments],
            input=stdin if stdin is not None else b"",
            capture_output=True,
            env=env | {"MINISPEC_BACKEND": "numpy", "COLUMNS": "120"} | environment,
            cwd=tmp_path,
            timeout=120,
            check=False,
        )
        return subprocess.CompletedProcess(
            done.args, done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8")
        )

    return call
