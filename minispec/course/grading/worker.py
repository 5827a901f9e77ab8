"""The grader's end of the pipe: starts a worker, holds it to its deadlines, and believes nothing it says."""

from __future__ import annotations

import contextlib
import importlib.util
import math
import os
import select
import shutil
import signal
import struct
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from minispec.course.grading import jail
from minispec.course.grading.host import MAX_MESSAGE, NotAValueError, Tree, dumps, loads
from minispec.course.grading.subject import Allowance, StudentError, Subject
from minispec.errors import InputError

_WALL_FACTOR, _WALL_SLACK_S, _START_S = 2.0, 6.0, 20.0
_IDLE_S = 6.0
"""How long a worker may do nothing while an answer is awaited. What it computes is processor time, limited as such, and
what it waits for a processor is not its doing. Where a system does not tell these apart, the wall clock counts, at
``_WALL_FACTOR`` times the processor time and ``_WALL_SLACK_S``."""
_LOOK_S = 0.1
"""How often it is looked at what a worker that gives no answer does."""
_NEEDS = {"numba": ("llvmlite",)}
FIRST_UID = 1_200_000_000


@dataclass(frozen=True)
class Limits:
    """What a worker may use, and how it is shut in.

    Parameters
    ----------
    cpu_s : float
        Processor time.
    memory_mb : int
        Address space.
    layers : tuple of str
        Layers of isolation to try. What is not among them is left out by name, and nobody minds.
    secrets : Path, optional
        A folder out of whose reach the submission must be: where a layer that was tried is missing, and nothing else
        does its work, the submission is not run.
    """

    cpu_s: float = 5.0
    memory_mb: int = 512
    layers: tuple[str, ...] = jail.LAYERS
    secrets: Path | None = None


@dataclass
class Worker:
    """A process that runs one submission.

    Parameters
    ----------
    files : mapping of str to str
        The submission.
    modules : sequence of str
        Which of them to load, in the order functions are looked up.
    packages : sequence of str
        What it may import beyond the standard library.
    limits : Limits
    cells : mapping of str to list of int
        Files that were notebooks, and the lines at which their cells begin.
    until : float
        On the monotonic clock: when it has to be done, whatever its limits allow.

    Attributes
    ----------
    layers : dict of str to bool
        Each layer of isolation and whether it was in force; empty until the process has told.
    notes : list of str
        What was passed over in loading a notebook.

    Raises
    ------
    StudentError
        On entering, if the submission cannot be loaded.
    InputError
        On entering, if what is in force here is not safe.
    """

    files: Mapping[str, str]
    modules: Sequence[str]
    packages: Sequence[str] = ("numpy",)
    limits: Limits = field(default_factory=Limits)
    cells: Mapping[str, list[int]] = field(default_factory=dict)
    until: float = math.inf
    layers: dict[str, bool] = field(default_factory=dict, init=False)
    notes: list[str] = field(default_factory=list, init=False)

    def __enter__(self) -> Subject:
        layers = self.limits.layers
        ready = self._begin(layers)
        if ready is None:
            ready = self._begin(tuple(layer for layer in layers if layer != "namespaces"))
        if ready is None:
            raise StudentError("died", "", "could not be shut in")
        try:
            self.layers = {name: ready["layers"][name] is True for name in jail.LAYERS}
            self._refuse_unsafe()
            self._clock = _IdleClock(self._process.pid, _IDLE_S, self._wall_s())
            self._send(dumps({"do": "load"}))
            loaded = self._receive()
            if loaded.get("is") == "error":
                raise StudentError.from_reply(loaded)
            self.notes = [str(note)[:300] for note in loaded["value"]][:8]
        except BaseException:
            self._end()
            raise
        return Subject(self._exchange, Allowance())

    def __exit__(self, *exc: object) -> None:
        self._end()

    def _refuse_unsafe(self) -> None:
        """Do not run a submission that could read the secrets or act with the grader's rights, unless told to."""
        if self.limits.secrets is None:
            return
        missing = [layer for layer in self.limits.layers if not self.layers[layer]]
        confined = self.layers["namespaces"] or self.layers["landlock"]
        kept_away = confined or (self.layers["user"] and not _is_open(self.limits.secrets))
        unsafe = [layer for layer in missing if layer in ("namespaces", "landlock") and not kept_away]
        unsafe += [layer for layer in missing if layer == "user" and not confined and os.geteuid() == 0]
        unsafe += [layer for layer in missing if layer == "seccomp"]
        if unsafe:
            raise InputError(
                f"this machine does not offer {' and '.join(unsafe)}, so a submission could do harm or read the "
                "solution; nothing was run. Grade in a container or a virtual machine, or accept it by name: "
                + " ".join(f"--without {layer}" for layer in unsafe)
            )

    # ── the process ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _begin(self, layers: Sequence[str]) -> Tree | None:
        """Start a process and return what it tells once it is shut in; nothing if it asks for fewer layers."""
        self._start()
        try:
            self._send(dumps(self._setup(layers)))
            return self._receive()
        except StudentError:
            if self._end() != jail.RETRY:
                raise
            return None
        except BaseException:
            self._end()
            raise

    def _start(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="minispec-grade-"))
        if os.geteuid() == 0:  # the worker's own user has to get in
            self._folder.chmod(0o711)
        for name in ("root", "work", "packages"):
            (self._folder / name).mkdir()
        for name, path in _package_paths(tuple(self.packages)).items():
            (self._folder / "packages" / name).symlink_to(path)
        their_in, self._to = os.pipe()
        self._from, their_out = os.pipe()
        for fd in (self._to, self._from):
            os.set_blocking(fd, False)
        with contextlib.ExitStack() as opened:
            output = opened.enter_context(tempfile.TemporaryFile(dir=self._folder))  # without a name: nobody runs it
            self._output = os.dup(output.fileno())
            self._process = subprocess.Popen(
                [_python(), "-s", "-S", "-P", "-B", str(_here("child.py")), str(their_in), str(their_out)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=(their_in, their_out),
                cwd=self._folder / "work",
                env=_environment(),
                start_new_session=True,
            )
        os.close(their_in)
        os.close(their_out)
        self._buffer = bytearray()
        self._clock = _IdleClock(self._process.pid, _START_S, _START_S)

    def _setup(self, layers: Sequence[str]) -> Tree:
        wanted = {
            "layers": list(layers),
            "root": str(self._folder / "root"),
            "work": str(self._folder / "work"),
            "links": str(self._folder / "packages"),
            "libraries": _libraries(),
            "packages": _package_paths(tuple(self.packages)),
            "uid": FIRST_UID + self._process.pid,
            "memory_mb": self.limits.memory_mb,
            "cpu_s": int(self.limits.cpu_s + 1.0),  # starting takes some
        }
        setup = {
            "wanted": wanted,
            "parent": os.getpid(),
            "files": dict(self.files),
            "modules": list(self.modules),
            "cells": dict(self.cells),
        }
        texts = {name: _here(f"{name}.py").read_text(encoding="utf-8") for name in ("jail", "host")}
        return {**setup, **texts}

    def _end(self) -> int:
        """Kill whatever is left and return the exit code of what ended by itself, as of a shell."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=0.0)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        code = self._process.wait()
        _kill_user(FIRST_UID + self._process.pid)
        for fd in (self._to, self._from, self._output):
            with contextlib.suppress(OSError):
                os.close(fd)
        shutil.rmtree(self._folder, ignore_errors=True)
        return code if code >= 0 else 128 - code

    # ── messages ────────────────────────────────────────────────────────────────────────────────────────────────────

    def _exchange(self, request: Tree, answer: Callable[[Tree], Tree]) -> Tree:
        """Send a request, serve the oracle calls it causes, and return the reply."""
        self._send(dumps(request))
        while True:
            reply = self._receive()
            if reply.get("is") != "ask":
                return reply
            self._send(dumps(answer(reply)))

    def _send(self, message: bytes) -> None:
        data = memoryview(struct.pack(">I", len(message)) + message)
        while data:
            try:
                data = data[os.write(self._to, data) :]
            except BlockingIOError:
                self._wait(self._to, select.POLLOUT)
            except BrokenPipeError:
                raise self._death() from None

    def _receive(self) -> Tree:
        size = struct.unpack(">I", self._take(4))[0]
        if size > MAX_MESSAGE:
            raise StudentError("protocol", "", f"a message of {size >> 20} MB")
        try:
            reply = loads(self._take(size))
        except (NotAValueError, MemoryError) as error:
            raise StudentError("protocol", "", str(error)) from None
        if not isinstance(reply, dict):
            raise StudentError("protocol", "", "a message that is no object")
        return reply

    def _take(self, size: int) -> bytes:
        while len(self._buffer) < size:
            self._wait(self._from, select.POLLIN)
            part = os.read(self._from, 1 << 20)
            if not part:
                raise self._death()
            self._buffer += part
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        return data

    def _wait(self, fd: int, event: int) -> None:
        """Wait for the worker, on its clock; one who talks without end is late as well."""
        poll = select.poll()
        poll.register(fd, event)
        while True:
            start, queued = time.monotonic(), _queued_s()
            if start >= self.until:
                raise StudentError("clock", "", "no answer before the time for the whole submission was over")
            came = poll.poll(1e3 * min(_LOOK_S, self.until - start))
            # Ready to go on, we may have had to wait for a processor ourselves: the answer had long been there.
            if words := self._clock.count(time.monotonic() - start - (_queued_s() - queued)):
                raise StudentError("clock", "", words)
            if came:
                return

    def _wall_s(self) -> float:
        return _WALL_FACTOR * self.limits.cpu_s + _WALL_SLACK_S

    def _death(self) -> StudentError:
        """Say why the worker is gone."""
        with contextlib.suppress(OSError):
            if os.fstat(self._output).st_size >= jail.MAX_OUTPUT_MB << 20:
                return StudentError("output", "", f"printed more than {jail.MAX_OUTPUT_MB} MB")
        try:
            code = self._process.wait(timeout=2.0)
        except subprocess.TimeoutExpired:
            return StudentError("died", "", "closed its end of the pipe")
        number = -code if code < 0 else code - 128
        if number in (signal.SIGXCPU, signal.SIGKILL):
            return StudentError("time", "", f"used more than {self.limits.cpu_s:g} s of processor time")
        if code == jail.RETRY:
            return StudentError("died", "", "could not be shut in")
        if number in set(signal.Signals):
            return StudentError("died", "", f"crashed: {signal.Signals(number).name}")
        return StudentError("died", "", f"ended itself with code {code}")


class _IdleClock:
    """Counts how long a worker let us wait, less what it and its children computed or waited for a processor.

    Parameters
    ----------
    pid : int
    idle_s : float
        How long it may be idle.
    wall_s : float
        How long it may let us wait in all, where the system does not tell what it does.
    """

    def __init__(self, pid: int, idle_s: float, wall_s: float) -> None:
        self._pid = pid
        self._idle_s, self._wall_s = idle_s, wall_s
        self._waited = self._looked = 0.0
        self._tells = Path(f"/proc/{pid}/schedstat").is_file()
        self._threads: dict[Path, int] = {}
        self._busy_before = self._busy()

    def count(self, seconds: float) -> str:
        """Count time in which we waited; say in words that its time is over, or nothing."""
        self._waited += seconds
        if self._waited - self._looked < 0.9 * _LOOK_S:
            return ""
        self._looked = self._waited
        if not self._tells:
            return f"no answer within {self._wall_s:.0f} s" if self._waited > self._wall_s else ""
        idle = self._waited - (self._busy() - self._busy_before)
        is_over = idle > self._idle_s and not self._is_queued()
        return f"no answer: for {self._idle_s:.0f} s it did nothing" if is_over else ""

    def _is_queued(self) -> bool:
        """Whether a thread runs or waits for a processor: until its turn comes, the system does not count its wait."""
        states = []
        for task in self._threads:
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                states.append((task / "stat").read_text().rpartition(")")[2].split()[0])
        return "R" in states

    def _busy(self) -> float:
        """Return seconds of all its threads, also ended ones, on a processor and in the queue for one."""
        left = [self._pid] if self._tells else []
        while left:
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended
                for task in Path(f"/proc/{left.pop()}/task").iterdir():
                    self._threads[task] = sum(map(int, (task / "schedstat").read_text().split()[:2]))
                    left += map(int, (task / "children").read_text().split())
        return 1e-9 * sum(self._threads.values())


def _queued_s() -> float:
    """Return seconds that this thread had to wait for a processor; 0 where the system does not tell."""
    try:
        return 1e-9 * int(Path("/proc/thread-self/schedstat").read_text().split()[1])
    except OSError:
        return 0.0


def _here(name: str) -> Path:
    return Path(__file__).resolve().parent / name


def _python() -> str:
    """Return the interpreter behind a virtual environment: it knows no packages of ours."""
    base: str = getattr(sys, "_base_executable", sys.executable)
    return base


def _environment() -> dict[str, str]:
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    return {"PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8", "PATH": "/usr/bin", **dict.fromkeys(threads, "1")}


@cache
def _libraries() -> list[str]:
    """Return the folders of the standard library and of the system's shared libraries."""
    multiarch = sysconfig.get_config_var("MULTIARCH") or ""
    stdlib = Path(sysconfig.get_path("stdlib")).resolve()
    system = ["/lib64", "/usr/lib64", f"/lib/{multiarch}", f"/usr/lib/{multiarch}", "/etc/ld.so.cache"]
    real = {Path(os.path.realpath(path)) for path in system if path[-1] != "/" and os.path.exists(path)}
    paths = {stdlib, stdlib.parent, *real} if stdlib.parent.name == "lib" else {stdlib, *real}
    outermost = [path for path in paths if not any(other in path.parents for other in paths)]
    return sorted(map(str, outermost))


@cache
def _package_paths(names: tuple[str, ...]) -> dict[str, str]:
    """Find packages, what they need, and the shared libraries their wheels bring."""
    found: dict[str, str] = {}
    for name in [*names, *(needed for package in names for needed in _NEEDS.get(package, ()))]:
        spec = importlib.util.find_spec(name)
        if spec is None or not spec.submodule_search_locations:
            raise InputError(f"the assignment allows the package {name}, which is not installed here. Install it")
        folder = Path(spec.submodule_search_locations[0]).resolve()
        found[folder.name] = str(folder)
        libraries = folder.with_name(f"{folder.name}.libs")
        if libraries.is_dir():
            found[libraries.name] = str(libraries)
    return found


def _is_open(folder: Path) -> bool:
    """Whether another user can get into a folder."""
    return all(part.stat().st_mode & 0o001 for part in (folder.resolve(), *folder.resolve().parents))


def _kill_user(uid: int) -> None:
    """End every process of a worker's own user id, where it got one and no namespace did this already."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return
    for _ in range(20):
        pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and _owner(entry) == uid]
        if not pids:
            return
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def _owner(entry: Path) -> int:
    try:
        return entry.stat().st_uid
    except OSError:
        return -1
