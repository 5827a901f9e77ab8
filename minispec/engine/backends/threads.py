"""The threads of the compiled kernels: how many, what runs them, and what a fork leaves of them.

Import this before any parallel kernel runs: it sets what the threading layer reads when it starts.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import threading
import time
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

# Read by libgomp when the first parallel kernel starts. Between two kernels of a forward the other threads should still
# be spinning when the next one comes, or each has to be woken, at some 50 microseconds; 1000 spins are too few for that
# (measured here: 2 ms per token or 6, as chance would have it). The default is to spin for milliseconds. As soon as
# neighbours take cores, even this is too long, and `waiting` has the threads sleep (tests/benchmarks/neighbour.py).
os.environ.setdefault("GOMP_SPINCOUNT", "5000")

import numba

from minispec.engine.backends.waiting import IdleTeam, WaitPolicy, load_libgomp
from minispec.engine.jit import serial
from minispec.errors import OptionError

_log = logging.getLogger(__name__)
_Function = TypeVar("_Function", bound=Callable[..., Any])
_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")

# Waking a thread takes some 50 microseconds, and a forward of a small model has 41 regions to wake it for. A second
# thread saves half of the work at most, so a forward has to work twice as long as that.
_WORTH_WAKING_S = 0.004

_SETTINGS = ("NUMBA_NUM_THREADS", "NUMBA_THREADING_LAYER")

_count = int(numba.config.NUMBA_NUM_THREADS)
_forked = False


def num_threads() -> int:
    """Return how many threads a kernel may use now; 1 in a process that was forked from one with threads.

    A fork copies the thread that called it and no other, so a pool of threads does not survive it.
    """
    return 1 if _forked else _count


def max_threads() -> int:
    """Return the largest number that :func:`set_num_threads` takes: the cores of this process, or Numba's own limit."""
    return int(numba.config.NUMBA_NUM_THREADS)


def set_num_threads(count: int) -> None:
    """Let the kernels use ``count`` threads from now on (kernels called from this thread of Python).

    Raises
    ------
    OptionError
        If it is less than 1, or more than the cores this process may run on.
    """
    global _count
    if not 1 <= count <= max_threads():
        limit = os.environ.get("NUMBA_NUM_THREADS")
        what = "cores there are for it" if limit is None else "threads NUMBA_NUM_THREADS allows"
        raise OptionError(
            f"threads is {count}; it must be from 1 to {max_threads()}, the {what}. Try --threads {max_threads()}"
        )
    _count = count
    if not _forked:
        numba.set_num_threads(count)


def run_watched(
    forward: Callable[_Arguments, _Result], *arguments: _Arguments.args, **options: _Arguments.kwargs
) -> _Result:
    """Run a forward of several threads, and let how it spent its time decide how threads wait in the next ones."""
    if _forked or _count == 1:
        return forward(*arguments, **options)
    begin, begin_work = time.perf_counter(), time.thread_time()
    result = forward(*arguments, **options)
    worked = time.thread_time() - begin_work  # a thread that spins works; one that sleeps or has no core does not
    now = time.perf_counter()
    _policy.observe(now, now - begin - worked, worked)
    return result


def _rest(worked: float) -> Callable[[], None]:
    """Have threads sleep, or one of them work alone where waking others costs more than they save; return the way back.

    One works alone, too, where there is no telling the others to sleep.
    """
    library = load_libgomp()
    if library is not None and find_layer() == "omp" and worked > _WORTH_WAKING_S:
        return IdleTeam(library, max(2, len(os.sched_getaffinity(0)) - _count + 2)).end
    numba.set_num_threads(1)
    return lambda: numba.set_num_threads(_count)


_policy = WaitPolicy(_rest)


def choose_kernel(kernel: _Function) -> _Function:
    """Return a parallel kernel, or its serial twin (compiled in memory) where there are no threads to run it."""
    return serial(kernel) if _forked else kernel


def find_layer() -> str:
    """Return which threading layer runs the kernels: "omp", "tbb" or "workqueue".

    Raises
    ------
    OptionError
        If none can: what the environment asks for is not there, or not a number of threads.
    """
    try:
        numba.get_num_threads()  # starts the threads, if no parallel kernel has done so yet
        return str(numba.threading_layer())
    except (ValueError, RuntimeError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        asked = [f"{name} is {os.environ[name]!r}" for name in _SETTINGS if name in os.environ]
        raise OptionError(
            f"{', '.join(asked) or 'kernels need threads'}: Numba cannot start threads ({reason}). "
            f"Unset {' and '.join(_SETTINGS)}, or try NUMBA_THREADING_LAYER=workqueue NUMBA_NUM_THREADS=1"
        ) from error


@functools.cache
def _find_pool() -> contextlib.AbstractContextManager[object]:
    """Return what a thread of Python holds while its kernel runs.

    Numba's own layer ends the process when two threads start parallel kernels at once; the others can run both.
    """
    return threading.RLock() if find_layer() == "workqueue" else contextlib.nullcontext()


def launch(kernel: Callable[_Arguments, _Result], *arguments: _Arguments.args, **options: _Arguments.kwargs) -> _Result:
    """Run a kernel that may be parallel, one at a time where the threading layer cannot do with two."""
    with contextlib.nullcontext() if _forked else _find_pool():
        return kernel(*arguments, **options)


def warn_about_layer() -> None:
    """Log a warning where the threading layer makes each of a forward's many small parallel regions expensive."""
    if find_layer() == "workqueue" and num_threads() > 1:
        _log.warning(
            "Numba found neither OpenMP nor TBB; its own cost about 0.1 ms per parallel region, and a token has "
            "dozens of them. Install tbb (pip install tbb), or try --threads 1"
        )


def _after_fork() -> None:
    global _forked
    _forked = True


if hasattr(os, "register_at_fork"):  # there is no fork on Windows
    os.register_at_fork(after_in_child=_after_fork)
