"""Threads: as many as asked for, refused beyond the cores, and kernels that still run in a forked process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from minispec.engine.backends import threads
from minispec.errors import OptionError

FORKING = """
import os, sys
import numpy as np
from minispec.engine.backends import get_backend
from minispec.engine.backends.base import Linear
from minispec.engine.noise import Address
from minispec.engine.noise.philox import PhiloxNoise
from minispec.engine.sampling import SamplingParams, distribution
from tests.models import random_gpt2

model = random_gpt2(sys.argv[1], seed=0, vocab_size=4096, n_embd=256, n_head=4, n_layer=1, n_positions=32)
wanted = model.logits([1, 2, 3])  # parallel kernels have run: the pool of threads is there
row = distribution(wanted[-1:], SamplingParams())[0]
token = PhiloxNoise(0).categorical(row, Address("sample", 3))
child = os.fork()
if child == 0:
    found = model.logits([1, 2, 3])
    row = distribution(found[-1:], SamplingParams())[0]
    same = PhiloxNoise(0).categorical(row, Address("sample", 3)) == token
    os._exit(0 if np.allclose(found, wanted, rtol=1e-4, atol=1e-4) and same else 3)
_, status = os.waitpid(child, 0)
again = model.logits([1, 2, 3])  # the parent goes on as before
sys.exit(os.waitstatus_to_exitcode(status) if np.array_equal(again, wanted) else 4)
"""

NO_PRECAUTION = "from minispec.engine.backends import threads\nthreads._after_fork = None\n"
NO_PRECAUTION += "threads.choose_kernel = lambda kernel: kernel\n"


def run(code, *arguments, **environment):
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "NUMBA_NUM_THREADS": "2", "PYTHONPATH": os.getcwd(), **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="no threads without compiled kernels")
@pytest.mark.parametrize("backend", ["numba", "panel"])
def test_kernels_run_in_a_forked_child(backend):
    result = run(FORKING, backend)
    assert result.returncode == 0, result.stderr


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other threading layers fail in other ways")
@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="no threads without compiled kernels")
def test_without_the_precaution_a_forked_child_does_not_get_through():
    """Negative control: the same child with its parallel kernels as they are is ended by the threading layer."""
    result = run(NO_PRECAUTION + FORKING, "numba", NUMBA_THREADING_LAYER="omp")
    assert result.returncode != 0


TOGETHER = """
import sys
from concurrent.futures import ThreadPoolExecutor
import numpy as np
from minispec.engine.backends import get_backend

def work(_):
    return [float(backend.linear(x, matrix).sum()) for _ in range(40)]

backend, x = get_backend(sys.argv[1]), np.ones((64, 256), np.float32)
matrix = backend.pack(np.ones((256, 4096), np.float32), None)
wanted = work(0)
with ThreadPoolExecutor(2) as pool:
    sys.exit(list(pool.map(work, range(2))) != [wanted] * 2)
"""


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="no threads without compiled kernels")
@pytest.mark.parametrize("backend", ["numba", "panel"])
def test_two_threads_of_python_run_kernels_where_the_layer_allows_one(backend):
    result = run(TOGETHER, backend, NUMBA_THREADING_LAYER="workqueue")
    assert result.returncode == 0, result.stderr


@pytest.fixture
def as_before():
    yield
    threads.set_num_threads(threads.max_threads())


@pytest.mark.parametrize("count", [0, -1, 10_000])
def test_a_number_of_threads_that_cannot_be_is_refused(count, as_before):
    with pytest.raises(OptionError, match=f"threads is {count}; it must be from 1 to"):
        threads.set_num_threads(count)


def test_the_number_of_threads_is_what_was_set(as_before):
    threads.set_num_threads(1)
    assert threads.num_threads() == 1
    threads.set_num_threads(threads.max_threads())
    assert threads.num_threads() == threads.max_threads()


def test_a_slow_threading_layer_is_named_and_a_fast_one_is_not(monkeypatch, caplog):
    monkeypatch.setattr(threads, "_count", 2)
    for layer in ("omp", "tbb"):
        monkeypatch.setattr(threads, "find_layer", lambda layer=layer: layer)
        threads.warn_about_layer()
    assert not caplog.records
    monkeypatch.setattr(threads, "find_layer", lambda: "workqueue")
    threads.warn_about_layer()
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "--threads 1" in caplog.text
