"""Compiled code, made ready before the first clock starts: kernels, sampling, noise."""

from __future__ import annotations

import contextlib
import multiprocessing
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from minispec.engine.backends.base import Backend
from minispec.engine.noise import Address
from minispec.engine.noise.philox import PhiloxNoise
from minispec.engine.sampling import SamplingParams, distribution

if TYPE_CHECKING:
    from rich.console import Console  # only a command has one

_COMPILING = "compiling kernels (only the first run takes seconds)"


_ready: set[tuple[Backend, str, str]] = set()
"""The backends, with formats of weights and of keys and values, that are ready in this process."""


def make_ready(models: Iterable[Any], notes: Console | None = None) -> None:
    """Compile what these models, sampling and noise need, or read it from Numba's cache; once in a process.

    Parameters
    ----------
    models : iterable of object
        A GPT-2 and a head have a backend and number formats; what has none (a table, a kind of draft) has no kernels.
    notes : Console, optional
        Shows that this goes on. Without one, a line on stderr says so when something has been compiling for a second;
        a worker, whose output nobody follows, says nothing.
    """
    formats = {(model.backend, model.dtype, model.kv_dtype) for model in models if hasattr(model, "kv_dtype")}
    lacking = formats - _ready
    if not lacking:
        return
    from minispec.engine.jit import can_compile, on_compiling  # imports Numba

    if not can_compile():
        return
    with _telling(notes) as say, on_compiling(say), compile_sampling_beside():
        for backend, *dtypes in lacking:
            backend.warm_up(*dtypes)
    _ready.update(lacking)
    log_remarks()


class _Elapsed:
    """That something compiles, and for how long so far, whenever it is drawn."""

    def __init__(self) -> None:
        self._since = time.monotonic()

    def __rich__(self) -> str:
        return f"{_COMPILING} … {time.monotonic() - self._since:.0f} s"


@contextlib.contextmanager
def _telling(notes: Console | None) -> Iterator[Callable[[], None]]:
    """Yield what says, called once something compiles, that it does."""
    if notes is not None:
        with notes.status("making kernels ready …") as status:
            yield lambda: status.update(_Elapsed())
        return
    line = threading.Timer(1.0, lambda: print(f"minispec: {_COMPILING}", file=sys.stderr, flush=True))
    line.daemon = True
    is_worker = multiprocessing.current_process().name != "MainProcess"
    try:
        yield (lambda: None) if is_worker else line.start
    finally:
        line.cancel()


@contextlib.contextmanager
def compile_sampling_beside() -> Iterator[None]:
    """Make sampling ready too; if it must be compiled, then by a second process while the body compiles kernels."""
    from minispec.engine.backends import threads
    from minispec.engine.jit import must_be_compiled
    from minispec.engine.noise import race
    from minispec.engine.sampling import _kernels

    helper = None
    missing = must_be_compiled(_kernels.distribution) or must_be_compiled(race.find_winner)
    if missing and threads.max_threads() > 1:
        task = "from minispec.engine.generation.ready import warm_up_sampling; warm_up_sampling()"
        null = subprocess.DEVNULL
        with contextlib.suppress(OSError):  # no process to be had: compiled here, one after the other
            helper = subprocess.Popen([sys.executable, "-P", "-c", task], stdin=null, stdout=null, stderr=null)
    try:
        yield
        if helper is not None:
            helper.wait()
    except BaseException:
        if helper is not None:
            helper.kill()
            helper.wait()
        raise
    warm_up_sampling()


def warm_up_sampling() -> None:
    """Make a distribution, draw a token, throw a coin."""
    noise, at = PhiloxNoise(0), Address("sample", 0)
    noise.categorical(distribution(np.zeros((1, 4), np.float32), SamplingParams(top_k=2))[0], at)
    noise.bernoulli(0.5, at)


def log_remarks() -> None:
    """Log what makes compiled code slower here than it could be: no folder to keep it in, expensive threads."""
    from minispec.engine.backends.threads import warn_about_layer
    from minispec.engine.jit import warn_if_in_memory

    warn_if_in_memory()
    warn_about_layer()


def find_compiled_folder() -> str | None:
    """Return the folder that keeps compiled code for the next process, or None if nothing does."""
    from minispec.engine.jit import cache_folder
    from minispec.engine.noise import race

    return cache_folder(race.find_winner)
