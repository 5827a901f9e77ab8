"""``minispec warmup`` and ``--threads``."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from minispec.engine.generation import ready
from tests.cli.conftest import Run


def test_warmup_says_where_compiled_code_is_kept(run: Run, tmp_path: Path) -> None:
    done = run("warmup", NUMBA_CACHE_DIR=str(tmp_path / "kept"))
    assert (done.returncode, done.stderr) == (0, "")
    folder = Path(done.stdout.split("kept in ")[1].strip())
    assert folder.parent == tmp_path / "kept"
    for function in ("distribution", "find_winner"):  # of other modules, and maybe compiled by another process
        assert list((tmp_path / "kept").glob(f"*/*.{function}-*.nbc")), function


class Helper:
    """A process that does nothing, and what was asked of it."""

    def __init__(self, asked: list[str]) -> None:
        self.asked = asked
        asked.append("start")

    def kill(self) -> None:
        self.asked.append("kill")

    def wait(self) -> None:
        self.asked.append("wait")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Pretend that nothing is compiled yet, on a machine of two cores; return what happens, in order."""
    happened: list[str] = []
    monkeypatch.setattr("minispec.engine.backends.threads.max_threads", lambda: 2)
    monkeypatch.setattr("minispec.engine.jit.must_be_compiled", lambda function: True)
    monkeypatch.setattr(subprocess, "Popen", lambda *arguments, **options: Helper(happened))
    monkeypatch.setattr(ready, "warm_up_sampling", lambda: happened.append("sampling"))
    return happened


def test_sampling_is_compiled_while_kernels_are(asked: list[str]) -> None:
    with ready.compile_sampling_beside():
        asked.append("kernels")
    assert asked == ["start", "kernels", "wait", "sampling"]


def test_a_second_process_runs_no_file_of_the_current_folder(asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[list[str]] = []

    def start(arguments: list[str], **options: object) -> Helper:
        started.append(arguments)
        return Helper(asked)

    monkeypatch.setattr(subprocess, "Popen", start)
    with ready.compile_sampling_beside():
        pass
    assert started[0][1:3] == ["-P", "-c"]  # Python's option for: without the current folder


def test_a_second_process_does_not_outlive_the_first(asked: list[str]) -> None:
    with pytest.raises(KeyboardInterrupt), ready.compile_sampling_beside():
        raise KeyboardInterrupt
    assert asked == ["start", "kill", "wait"]


def test_without_a_second_process_all_is_compiled_here(asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise BlockingIOError

    monkeypatch.setattr(subprocess, "Popen", refuse)
    with ready.compile_sampling_beside():
        asked.append("kernels")
    assert asked == ["kernels", "sampling"]


def test_on_one_core_all_is_compiled_here(asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minispec.engine.backends.threads.max_threads", lambda: 1)
    with ready.compile_sampling_beside():
        asked.append("kernels")
    assert asked == ["kernels", "sampling"]


def test_what_is_kept_is_not_compiled_again(asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minispec.engine.jit.must_be_compiled", lambda function: False)
    with ready.compile_sampling_beside():
        asked.append("kernels")
    assert asked == ["kernels", "sampling"]


def test_warmup_refuses_a_format_that_does_not_exist(run_here: Run) -> None:
    done = run_here("warmup", "--dtype", "float31")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("count", ["0", "-3", "100000"])
def test_a_number_of_threads_that_cannot_be_is_refused_before_anything_is_loaded(run_here: Run, count: str) -> None:
    done = run_here("generate", "Hello", "--threads", count, "--target", "there/is/no/such/model")
    assert done.returncode == 2
    assert done.stderr.startswith(f"minispec: --threads is {count}; it must be from 1 to ")
    assert len(done.stderr.splitlines()) == 1


def test_the_number_of_threads_changes_no_token(run: Run, target: str, draft: str) -> None:
    options = ("generate", "Hello", "--target", target, "--draft", draft, "--max-tokens", "8", "--quiet")
    texts = [run(*options, "--threads", "1"), run(*options, MINISPEC_THREADS="1"), run(*options)]
    assert {done.returncode for done in texts} == {0}
    assert len({done.stdout for done in texts}) == 1
