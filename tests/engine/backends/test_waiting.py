"""Whether threads spin or sleep: decided by what forwards report, done by an idle team, without moving a bit."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from unittest import mock

import numpy as np
import pytest

from minispec.engine.backends import threads, waiting
from minispec.engine.backends.waiting import WaitPolicy
from tests.models import random_gpt2

MS = 1e-3
QUIET = (0.05 * MS, 2 * MS)
BUSY = (24 * MS, 8 * MS)
LIBGOMP = pytest.mark.skipif(
    not sys.platform.startswith("linux") or os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="needs libgomp"
)


class Machine:
    """A policy, a clock, and the forwards the policy was told of."""

    def __init__(self) -> None:
        self.now = 100.0
        self.passive = False
        self.policy = WaitPolicy(self._rest)

    def _rest(self, worked):
        assert not self.passive, "asked for twice"
        self.passive = True
        return self._resume

    def _resume(self) -> None:
        assert self.passive, "made active twice"
        self.passive = False

    def forwards(self, count, report, passive_report=(3 * MS, 2 * MS)):
        """Return "a" for each forward in which threads waited actively, "p" for the others."""
        seen = ""
        for _ in range(count):
            seen += "p" if self.passive else "a"
            waited, worked = passive_report if self.passive else report
            self.now += waited + worked
            self.policy.observe(self.now, waited, worked)
        return seen


def test_on_a_quiet_machine_threads_always_spin():
    assert Machine().forwards(10_000, QUIET) == "a" * 10_000


def test_one_interruption_is_no_busy_machine():
    machine = Machine()
    assert "p" not in "".join(machine.forwards(40, QUIET) + machine.forwards(1, (30 * MS, 2 * MS)) for _ in range(50))


def test_on_a_busy_machine_they_sleep_after_a_few_forwards():
    assert Machine().forwards(10, BUSY) == "aa" + 8 * "p"
    assert Machine().forwards(10, (40 * MS, 2 * MS)) == "a" + 9 * "p"


def test_two_threads_that_take_turns_on_one_core_for_a_moment_are_no_busy_machine():
    """After an idle moment, until the system parts them; seen in a virtual machine, for 16 forwards at most."""
    machine = Machine()
    assert "p" not in "".join(machine.forwards(16, (3.2 * MS, 3.2 * MS)) + machine.forwards(200, QUIET) for _ in "abc")
    assert "p" in machine.forwards(32, (3.2 * MS, 3.2 * MS))


def test_rests_double_while_the_machine_stays_busy_and_have_a_bound():
    rests = [len(rest) * 5 * MS for rest in Machine().forwards(16_000, BUSY).split("aa")[1:-1]]
    assert rests[:7] == pytest.approx([1, 2, 4, 8, 16, 16, 16], abs=10 * MS)


def test_what_trying_costs_where_a_machine_stays_busy():
    """A try is a forward of 100 ms here, where one of sleeping threads takes 5."""
    seen = Machine().forwards(20_000, (90 * MS, 10 * MS))
    assert seen.count("a") * 100 < 0.02 * seen.count("p") * 5


def test_when_the_machine_is_quiet_again_they_spin_and_the_next_rest_is_short():
    machine = Machine()
    machine.forwards(5000, BUSY)
    machine.forwards(4000, QUIET)
    assert machine.forwards(10_000, QUIET) == "a" * 10_000
    assert [len(rest) for rest in machine.forwards(400, BUSY).split("aa")][1] == pytest.approx(200, abs=2)


@pytest.fixture
def policy(monkeypatch):
    """A policy of our own, made active again."""
    policy = WaitPolicy(threads._rest)
    monkeypatch.setattr(threads, "_policy", policy)
    yield policy
    if policy._resume is not None:
        policy._resume()


@pytest.mark.skipif(threads.max_threads() < 2, reason="one core")
@pytest.mark.parametrize("worked", [pytest.param(10 * MS, marks=LIBGOMP, id="asleep"), pytest.param(MS, id="alone")])
@pytest.mark.parametrize("backend", ["numba", "panel"])
def test_the_bits_are_the_same_however_threads_wait(backend, worked, policy):
    model = random_gpt2(backend, seed=0, vocab_size=4096, n_embd=256, n_head=4, n_layer=2, n_positions=32)
    active = model.logits(range(30))
    policy.observe(time.perf_counter(), 100 * MS, worked)
    assert policy._resume is not None
    for _ in range(3):
        assert np.array_equal(model.logits(range(30)).view(np.int32), active.view(np.int32))


def test_every_forward_of_several_threads_is_watched(monkeypatch):
    """A forward as short as a draft's is not: it has one thread."""
    seen = []
    monkeypatch.setattr(threads, "_count", 2)
    monkeypatch.setattr(threads._policy, "observe", lambda now, waited, worked: seen.append(worked))
    large = random_gpt2("panel", seed=0, vocab_size=4096, n_embd=256, n_head=4, n_layer=2, n_positions=64)
    for tokens, count in ((range(3), 1), (range(1), 1), (range(60), 2)):
        large.logits(tokens)
        assert len(seen) == count, (tokens, seen)
    assert all(worked > 0 for worked in seen)


IDLE = """
import sys, time
import numpy as np
from minispec.engine.backends import threads, waiting
from minispec.engine.backends.compiled import NumbaBackend
backend = NumbaBackend()
matrix = backend.pack(np.ones((64, 256), np.float32), None)
def spun():
    backend.matmul(np.ones((8, 64), np.float32), matrix)
    begin = time.process_time()
    time.sleep(0.6)
    return time.process_time() - begin
spun()
if threads.find_layer() != "omp" or waiting.load_libgomp() is None:
    sys.exit(5)
before = spun()
team = waiting.IdleTeam(waiting.load_libgomp(), threads.max_threads())
time.sleep(0.2)
spun()
during = spun()
team.end()
team.thread.join()
spun()
print(before, during, spun())
"""


@LIBGOMP
@pytest.mark.skipif(threads.max_threads() < 2, reason="one core")
def test_beside_an_idle_team_no_thread_spins():
    """What libgomp promises: for as long as the team is there, however long spinning was asked for."""
    done = subprocess.run(
        [sys.executable, "-c", IDLE],
        env={**os.environ, "GOMP_SPINCOUNT": "1000000000000", "PYTHONPATH": os.getcwd()},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if done.returncode == 5:
        pytest.skip("the threading layer is not GNU OpenMP")
    assert done.returncode == 0, done.stderr
    before, during, after = map(float, done.stdout.split())
    assert during < 0.005  # seconds of processor time in 0.6 s
    assert before > 0.01
    assert after > 0.01


def test_without_libgomp_one_thread_works_alone(monkeypatch):
    import numba

    monkeypatch.setattr(threads, "load_libgomp", lambda: None)
    before = numba.get_num_threads()
    resume = threads._rest(1.0)
    assert numba.get_num_threads() == 1
    resume()
    assert numba.get_num_threads() == before


@LIBGOMP
@pytest.mark.skipif(threads.max_threads() < 2, reason="one core")
def test_one_thread_works_alone_where_others_are_not_worth_waking(monkeypatch):
    import numba

    monkeypatch.setattr(threads, "find_layer", lambda: "omp")
    monkeypatch.setattr(threads, "load_libgomp", lambda: object())
    teams = []
    monkeypatch.setattr(threads, "IdleTeam", lambda library, size: teams.append(size) or mock.Mock())
    before = numba.get_num_threads()
    for worked, expected in ((1 * MS, 1), (10 * MS, before)):
        resume = threads._rest(worked)
        assert numba.get_num_threads() == expected
        resume()
    assert len(teams) == 1
    assert numba.get_num_threads() == before


def test_what_forwards_work_is_the_least_of_them_since_threads_spin():
    """A thread that spins works too, as far as its clock can tell; the forward that was held up least says most."""
    told = []
    policy = WaitPolicy(lambda worked: told.append(worked) or (lambda: None))
    for now, waited, worked in ((1.0, 0.0, 3 * MS), (1.1, 0.0, MS), (1.2, 90 * MS, 8 * MS), (99.0, 0.0, 0.5 * MS)):
        policy.observe(now, waited, worked)
    policy.observe(99.1, 90 * MS, 6 * MS)
    assert told == [MS, 6 * MS]


def test_where_it_is_not_loaded_there_is_no_libgomp(monkeypatch):
    monkeypatch.delattr(os, "RTLD_NOLOAD", raising=False)  # as on Windows
    assert waiting.load_libgomp() is None
