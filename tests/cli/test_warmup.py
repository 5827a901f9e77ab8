"""``minispec warmup`` and ``--threads``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run


def test_warmup_says_where_compiled_code_is_kept(run: Run, tmp_path: Path) -> None:
    done = run("warmup", NUMBA_CACHE_DIR=str(tmp_path / "kept"))
    assert (done.returncode, done.stderr) == (0, "")
    folder = Path(done.stdout.split("kept in ")[1].strip())
    assert folder.parent == tmp_path / "kept"
    assert list(folder.glob("*.nbi")), "an index per compiled function"


def test_warmup_refuses_a_format_that_does_not_exist(run: Run) -> None:
    done = run("warmup", "--dtype", "float31")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("count", ["0", "-3", "100000"])
def test_a_number_of_threads_that_cannot_be_is_refused_before_anything_is_loaded(run: Run, count: str) -> None:
    done = run("generate", "Hello", "--threads", count, "--target", "there/is/no/such/model")
    assert done.returncode == 2
    assert done.stderr.startswith(f"minispec: threads is {count}; it must be from 1 to ")
    assert len(done.stderr.splitlines()) == 1


def test_the_number_of_threads_changes_no_token(run: Run, target: str, draft: str) -> None:
    options = ("generate", "Hello", "--target", target, "--draft", draft, "--max-tokens", "8", "--quiet")
    texts = [run(*options, "--threads", "1"), run(*options, MINISPEC_THREADS="1"), run(*options)]
    assert {done.returncode for done in texts} == {0}
    assert len({done.stdout for done in texts}) == 1
