"""The worker is shut in, layer by layer, and its end is told in words."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from minispec.course.grading import Oracle, StudentError
from minispec.course.grading import worker as worker_module
from minispec.course.grading.jail import LAYERS
from minispec.course.grading.worker import Limits, Worker

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the layers are Linux's")

SOURCE = """
import os, sys
import numpy as np

def attempt(code):
    try:
        return repr(eval(code))
    except BaseException as error:
        return type(error).__name__

def whoami():
    return [os.getuid(), os.getpid(), sorted(os.environ), sys.argv]

def double(x):
    return 2 * x

def loop():
    while True:
        pass

def sleep():
    __import__("time").sleep(60)

def wait_and_ask(ask):
    while True:
        __import__("time").sleep(0.01)
        ask()

def exit():
    os._exit(0)

def crash():
    import ctypes
    ctypes.string_at(0)

def allocate():
    return len(np.ones(10**9))
"""
FULL = LAYERS
SYSTEM_V = "__import__('ctypes').CDLL(None, use_errno=True).shmget(0x5EED, 4096, 0o1600)"
NO_NAMESPACES = tuple(layer for layer in LAYERS if layer != "namespaces")


def worker(layers: tuple[str, ...] = FULL, cpu_s: float = 5.0) -> Worker:
    return Worker({"a0.py": SOURCE}, ["a0"], limits=Limits(cpu_s, 512, layers))


@pytest.fixture(scope="module", params=[FULL, NO_NAMESPACES], ids=["namespaces", "landlock"])
def shut_in(request: pytest.FixtureRequest):
    one = worker(request.param)
    with one as subject:
        if not (one.layers["namespaces"] or one.layers["landlock"]):
            pytest.skip(f"this system offers neither: {one.layers}")
        yield subject


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        ("__import__('minispec')", "ModuleNotFoundError"),
        ("__import__('click')", "ModuleNotFoundError"),
        (f"sys.path.append({os.getcwd()!r}) or __import__('minispec')", "ModuleNotFoundError"),
        (f"os.listdir({os.path.dirname(np.__file__)!r} + '/..')", "Error"),
        (f"open({__file__!r}).read()", "Error"),
        ("open('/etc/passwd').read()", "Error"),
        ("os.listdir('/proc/1')", "Error"),
        ("__import__('socket').socket()", "PermissionError"),
        ("os.fork()", "PermissionError"),
        ("os.execv('/bin/sh', ['sh'])", "Error"),
        ("os.kill(os.getppid(), 9)", "PermissionError"),
        ("__import__('resource').prlimit(1, 0)", "PermissionError"),
        ("open('/tmp/minispec-was-here', 'w')", "Error"),
        ("open('big', 'wb').write(b'x' * (64 << 20))", "OSError"),
        ("os.memfd_create('x')", "PermissionError"),
        ("open('mine', 'w') and os.chmod('mine', 0o4755)", "PermissionError"),
        ("os.fchmod(1, 0o2755)", "PermissionError"),
        ("os.open('made', os.O_CREAT | os.O_WRONLY, 0o4755)", "PermissionError"),
        ("__import__('fcntl').fcntl(os.pipe()[0], 8, os.getppid())", "PermissionError"),
        ("__import__('fcntl').ioctl(os.pipe()[0], 0x8901, b'1234')", "PermissionError"),
        ("os.setpriority(os.PRIO_PROCESS, 0, 5)", "PermissionError"),
    ],
)
def test_what_is_out_of_reach(shut_in, code: str, outcome: str) -> None:
    assert shut_in.attempt(code).endswith(outcome)


def test_what_is_within_reach(shut_in) -> None:
    """Negative control: the same means work where they should."""
    assert shut_in.attempt("__import__('numpy').ones(2).sum()") == repr(np.float64(2.0))
    assert shut_in.attempt("open('small', 'w').write('x')") == "1"
    assert shut_in.attempt("__import__('sqlite3') and __import__('decimal') and 1") == "1"
    assert shut_in.double(np.arange(3)).tolist() == [0, 2, 4]
    assert shut_in.attempt("os.kill") != "NameError"
    assert shut_in.attempt("os.chmod('small', 0o755)") == "None"
    assert shut_in.attempt("__import__('fcntl').fcntl(os.pipe()[0], 3) >= 0") == "True"
    assert shut_in.attempt(f"{SYSTEM_V} == -1 and __import__('ctypes').get_errno()") == "1"


def test_what_passes_through_a_function_of_a_worker_is_counted(shut_in) -> None:
    counts = shut_in.watch("double")
    shut_in.double(np.zeros((2, 3)))
    assert counts == {"double": 6}
    shut_in.forget()
    shut_in.double(1)
    assert counts == {"double": 6}


def test_it_learns_nothing_about_where_it_is(shut_in) -> None:
    _, _, names, argv = shut_in.whoami()
    assert argv == [""]
    assert not [name for name in names if "SECRET" in name or "MINISPEC" in name or name == "HOME"]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a grader that runs as root")
def test_it_is_somebody_else() -> None:
    one = worker()
    with one as subject:
        assert not one.layers["namespaces"] or subject.whoami()[0] not in (0, os.getuid())


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("loop", "time", "processor time"),  # also on a busy machine: the queue for a processor is no idleness
        ("sleep", "clock", "it did nothing"),
        ("exit", "died", "ended itself with code 0"),
        ("crash", "died", "SIGSEGV"),
        ("allocate", "raised", "Unable to allocate"),
        ("nothing", "missing", "nothing"),
    ],
)
def test_an_end_is_told(name: str, kind: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_module, "_IDLE_S", 0.5)
    with worker(cpu_s=0.2) as subject, pytest.raises(StudentError) as caught:
        getattr(subject, name)()
    assert caught.value.kind == kind
    assert words in caught.value.message


def test_who_sleeps_between_questions_is_idle_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_module, "_IDLE_S", 0.5)
    with worker() as subject, pytest.raises(StudentError) as caught:
        subject.wait_and_ask(Oracle(lambda: 0))
    assert caught.value.kind == "clock"


def test_only_idle_time_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Laws of the clock: what a worker computes, or waits for a processor, is not idleness, however long it takes."""
    busy = iter([0.0, *np.arange(1.0, 100.0), *[99.0] * 9])
    monkeypatch.setattr(worker_module._IdleClock, "_busy", lambda _: next(busy))
    clock = worker_module._IdleClock(os.getpid(), idle_s=6.0, wall_s=16.0)
    assert not any(clock.count(1.05) for _ in range(99))
    assert [bool(clock.count(0.5)) for _ in range(4)] == [False, False, True, True]
    clock._threads = {Path(f"/proc/{os.getpid()}/task/{threading.get_native_id()}"): 0}  # we run
    assert not clock.count(0.5)
    clock = worker_module._IdleClock(0, idle_s=6.0, wall_s=16.0)  # nobody tells what it does
    assert [bool(clock.count(7.0)) for _ in range(3)] == [False, False, True]


def test_the_graders_own_wait_for_a_processor_is_nobodys_idleness(monkeypatch: pytest.MonkeyPatch) -> None:
    queued = iter(np.arange(0.0, 1e5, 100.0))
    monkeypatch.setattr(worker_module, "_queued_s", lambda: next(queued))
    one = worker()
    with one as subject:
        before = one._clock._waited
        assert subject.double(2) == 4
        assert one._clock._waited < before - 99.0


def test_a_batch_of_calls_is_one_message_and_gives_what_each_call_gives(shut_in) -> None:
    before = shut_in.requests
    assert shut_in.each("attempt", [], ["1 + 1", "'a'"]) == ["2", "'a'"]
    assert shut_in.requests == before + 1
    with pytest.raises(StudentError, match="raised"):
        shut_in.each("double", [], [1, None])
    with pytest.raises(StudentError, match="missing"):
        shut_in.each("nothing", [], [1])


def test_a_submission_that_cannot_be_loaded_is_told_with_its_line() -> None:
    with pytest.raises(StudentError) as caught, Worker({"a0.py": "x = 1\ny = = 2\n"}, ["a0"]):
        pass
    assert (caught.value.kind, caught.value.where) == ("syntax", "a0.py:2")


def test_without_layers_it_says_so() -> None:
    one = worker(("limits",))
    with one as subject:
        assert one.layers == {**dict.fromkeys(LAYERS, False), "limits": True}
        assert subject.double(2) == 4


def test_helpers_are_imported_and_adapters_come_first() -> None:
    files = {
        "a0.py": "from help import f\ndef g(): return 1",
        "help.py": "def f(): return 2",
        "adapters.py": "from a0 import f",
    }
    with Worker(files, ["adapters", "a0"]) as subject:
        assert (subject.f(), subject.g()) == (2, 1)


def test_a_worker_is_ended_when_the_grader_fails_before_it_is_ready(tmp_path: Path, monkeypatch) -> None:
    """By whatever exception, an interrupt among them: neither its process nor its folder stays."""

    class Interrupted(Worker):
        def _receive(self) -> object:
            raise KeyboardInterrupt

    monkeypatch.setattr(worker_module.tempfile, "tempdir", str(tmp_path))
    worker = Interrupted({"a0.py": SOURCE}, ["a0"])
    with pytest.raises(KeyboardInterrupt), worker:
        pass
    assert worker._process.returncode is not None
    assert list(tmp_path.iterdir()) == []
