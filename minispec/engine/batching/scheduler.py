"""Who runs: first come, first served, and whoever must make room comes back before those who came later.

The scheduler knows numbers and no models: requests have names, arrive in an order, and need some pages to begin. It
decides three things, each from the order of arrival alone.

- *Admission*: the request that has waited longest begins as soon as its pages are free. None overtakes it, so a long
  prompt cannot be starved by short ones.
- *Prefill*: prompts are fed in chunks beside the tokens that others decode, as many as the budget of rows allows, the
  oldest first, and always at least one (Agrawal et al. 2023, "SARATHI").
- *Preemption*: when pages run out, the youngest makes room and waits again, in its old place in the order.

So the oldest request is never preempted and takes part in every step: whatever else arrives, a request ends after the
steps that those before it need, and its own.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Sequence

from minispec.engine.generation.options import require_whole
from minispec.errors import InvariantError


class Scheduler:
    """The order of requests, and which of them run.

    Parameters
    ----------
    max_running : int
        Requests that run at the same time.
    max_rows : int
        Rows of a forward beyond which no second prompt joins it.

    Attributes
    ----------
    waiting, running : list of int
        Requests in the order of their arrival, which their numbers tell.
    num_preemptions : int
        How often a request had to make room.

    Raises
    ------
    OptionError
        If one of them counts nothing.
    """

    def __init__(self, max_running: int, max_rows: int) -> None:
        require_whole("max-running", max_running, 1)
        require_whole("max-rows", max_rows, 1)
        self.max_running = max_running
        self.max_rows = max_rows
        self.waiting: list[int] = []
        self.running: list[int] = []
        self.num_preemptions = 0

    def add(self, request: int) -> None:
        """Let a request wait; its number is larger than that of all before it."""
        insort(self.waiting, request)

    def remove(self, request: int) -> None:
        """Forget a request that has ended or was cancelled."""
        (self.running if request in self.running else self.waiting).remove(request)

    def restart(self, requests: Sequence[int]) -> None:
        """Let these requests wait, in the order of their numbers, and no others wait or run."""
        self.waiting, self.running = list(requests), []

    def admit(self, fits: Callable[[int], bool]) -> int | None:
        """Let the first waiting request run, and return it, if there is room.

        Parameters
        ----------
        fits : callable
            Tells whether the pages that a request needs to begin are free.
        """
        if not self.waiting or len(self.running) >= self.max_running or not fits(self.waiting[0]):
            return None
        request = self.waiting.pop(0)
        insort(self.running, request)
        return request

    def preempt(self) -> int:
        """Let the youngest running request wait again, and return it.

        Raises
        ------
        InvariantError
            If fewer than two run: the oldest is never preempted.
        """
        if len(self.running) < 2:
            raise InvariantError(f"requests {self.running} run; the oldest is never preempted")
        request = self.running.pop()
        insort(self.waiting, request)
        self.num_preemptions += 1
        return request

    def choose_prefills(self, chunks: Sequence[tuple[int, int]], num_rows: int) -> list[int]:
        """Choose whose prompts go on in this step.

        Parameters
        ----------
        chunks : sequence of (int, int)
            Running requests that have more of their prompt to feed, and the tokens of the next chunk.
        num_rows : int
            Rows that the step has without them.

        Returns
        -------
        list of int
            Requests, the oldest first.
        """
        chosen: list[int] = []
        for request, num_tokens in sorted(chunks):
            if chosen and num_rows + num_tokens > self.max_rows:
                break
            chosen.append(request)
            num_rows += num_tokens
        return chosen
