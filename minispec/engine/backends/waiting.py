"""How threads wait for each other between parallel regions: spinning, or asleep where other processes want the cores.

Waking a thread takes some 50 microseconds and a forward has dozens of regions, so on a quiet machine threads that wait
spin. On a busy one a thread that spins uses up its time slice for nothing, and is then kept waiting when there is work;
one that sleeps is let in at once, before those that computed all the time. What a forward's thread did with the time
(worked, or waited) tells the two apart, so the choice is made while the model runs. It moves no bit: who computes a
column does not change it.
"""

from __future__ import annotations

import ctypes
import math
import os
import threading
from collections.abc import Callable

# How much more than allowed forwards may wait. After an idle moment both threads may wake up on one core, in a virtual
# machine above all, and take turns there, a time slice each, until the system parts them after some 50 ms.
_PATIENCE_S = 0.03
_SHARE = (
    0.5  # how much they may wait, as a share of their work: on a busy machine it is 1 and more, on a quiet one near 0
)
_FIRST_REST_S, _LONGEST_REST_S = 1.0, 16.0


class WaitPolicy:
    """Decides from what forwards report whether threads wait actively (spinning) or passively (asleep).

    Active waiting is given up when forwards have waited much longer than they may, and tried again after a rest, which
    doubles as long as the machine stays busy: a try costs some forwards that may take ten times as long.

    Parameters
    ----------
    rest : callable
        Makes waiting passive, for forwards that work so many seconds; returns what makes it active again.
    """

    def __init__(self, rest: Callable[[float], Callable[[], None]]) -> None:
        self._rest = rest
        self._resume: Callable[[], None] | None = None  # while waiting is passive
        self._lock = threading.Lock()
        self._excess_s, self._least_work_s = 0.0, math.inf
        self._tried_at = self._rest_ends = self._rest_s = 0.0

    def observe(self, now: float, waited: float, worked: float) -> None:
        """Learn from a forward when it ended, and how long its thread waited and worked, in seconds."""
        # Not "with": an interruption between taking the lock and entering the body would lock the next forward out.
        if not self._lock.acquire(blocking=False):
            return
        try:
            if self._resume is not None:
                if now >= self._rest_ends:
                    self._resume()
                    self._resume, self._excess_s, self._tried_at = None, 0.0, now
                    self._least_work_s = math.inf
                return
            self._least_work_s = min(self._least_work_s, worked)
            self._excess_s = max(0.0, self._excess_s + waited - _SHARE * worked)
            if self._excess_s > _PATIENCE_S:
                went_well = now - self._tried_at > self._rest_s
                self._rest_s = _FIRST_REST_S if went_well else min(2.0 * self._rest_s, _LONGEST_REST_S)
                self._rest_ends = now + self._rest_s
                self._resume = self._rest(self._least_work_s)
        finally:
            self._lock.release()


def load_libgomp() -> ctypes.CDLL | None:
    """Return GNU's OpenMP library, if this process has loaded it."""
    try:
        return ctypes.CDLL("libgomp.so.1", mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    except (AttributeError, OSError):  # no such mode on Windows; another OpenMP, or none
        return None


class IdleTeam:
    """A team of OpenMP threads with nothing to do: while it is there, libgomp's threads hardly spin.

    libgomp reads how long to spin once, when it starts. But where there are more OpenMP threads than cores it spins 100
    times only, which its manual promises (GOMP_SPINCOUNT), and it looks at their number each time. Threads are counted
    for as long as the thread that began their team lives; ours sleeps.

    Parameters
    ----------
    library : ctypes.CDLL
        libgomp.
    size : int
        Threads of the team, the sleeping one included; 2 or more.
    """

    def __init__(self, library: ctypes.CDLL, size: int) -> None:
        self._library, self._size, self._over = library, size, threading.Event()
        self.thread = threading.Thread(target=self._stay, name="minispec-idle-team", daemon=True)
        self.thread.start()

    def _stay(self) -> None:
        # What compiled code calls for "#pragma omp parallel". The body must be a C function that may run in any thread
        # and ignores its argument; sched_yield does nothing besides.
        body = ctypes.cast(ctypes.CDLL(None).sched_yield, ctypes.c_void_p)
        self._library.GOMP_parallel(body, None, ctypes.c_uint(self._size), ctypes.c_uint(0))
        self._over.wait()

    def end(self) -> None:
        """Let the team go; its threads are counted until they are gone, a moment later."""
        self._over.set()
