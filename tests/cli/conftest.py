"""A command run as a user runs it: a process, its exit code, and what it wrote where."""

from __future__ import annotations

import contextlib
import gc
import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from minispec.cli.main import main
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


@pytest.fixture
def run_here(tmp_path: Path) -> Run:
    """Do the same in this process: where it matters what a command says, and not that it starts."""

    def call(*arguments: str, stdin: bytes | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
        thresholds = gc.get_threshold()
        with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            for name in [name for name in os.environ if name.startswith("MINISPEC_") or name == "NO_COLOR"]:
                patch.delenv(name)
            for name, value in ({"MINISPEC_BACKEND": "numpy", "COLUMNS": "120"} | environment).items():
                patch.setenv(name, value)
            patch.chdir(tmp_path)
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin or b""), "utf-8"))
            patch.setattr(sys, "argv", ["minispec", *arguments])
            with pytest.raises(SystemExit) as done:
                main()
        gc.set_threshold(*thresholds)
        code = done.value.code
        assert isinstance(code, int)
        told = (stream.buffer.getvalue().decode("utf-8") for stream in (out, err))
        return subprocess.CompletedProcess(arguments, code, *told)

    return call
