"""The one thread that owns the models: it takes requests in between steps, steps the engine, tells what happens.

The event loop hands it commands through a queue. It answers with batches of what has happened, one batch per step for
all requests together, so that a step costs the loop one wake-up. A draft that somebody wants to see before it is judged
is told at once.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from minispec.engine.batching import Engine
from minispec.engine.generation.events import Drafted, Event, Finished, Prefilled
from minispec.engine.generation.result import Generation
from minispec.errors import InputError
from minispec.serving.choices import Choice

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Cut:
    """A choice was ended from outside: ``why`` is "time" or "shutdown"."""

    generation: Generation
    why: str


@dataclass(frozen=True, slots=True)
class Failed:
    """A choice came to nothing, by what it asks for or by a fault of ours, whose reference is in the log."""

    cause: InputError | str


@dataclass(frozen=True, slots=True)
class Told:
    """What has happened to a choice, and when: seconds of ``time.perf_counter``."""

    index: int
    moment_s: float
    what: Event | Cut | Failed

    @property
    def is_last(self) -> bool:
        """Whether nothing follows."""
        return isinstance(self.what, (Finished, Cut, Failed))


class Gone(Exception):  # noqa: N818  # no fault: a server that ends
    """The thread has ended, or is about to."""


@dataclass(eq=False)
class Ticket:
    """The runs of one request, as the worker knows them.

    Parameters
    ----------
    choices : sequence of Choice
    receive : callable
        Is called in the event loop with what has happened.
    early : bool
        Whether drafts are told before they are judged.

    Attributes
    ----------
    cached : dict of int to int
        Of each choice whose prompt was read, how many of its tokens another text had left in the caches.
    """

    choices: Sequence[Choice]
    receive: Callable[[Sequence[Told]], None]
    early: bool = False
    cached: dict[int, int] = field(default_factory=dict)  # by the index: tokens of the prompt that were not read again
    numbers: dict[int, int] = field(default_factory=dict)  # the engine's number of each choice that runs, by its index


class Worker:
    """Runs an engine in a thread of its own.

    Parameters
    ----------
    engine : Engine
        Nobody else may use it from now on.

    Attributes
    ----------
    num_faults : int
        Steps that have failed, by a fault of ours.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._commands: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._tickets: dict[int, tuple[Ticket, int]] = {}  # by the engine's number: the ticket and the index
        self._batch: dict[Ticket, list[Told]] = {}
        self._finished: list[int] = []  # numbers whose last event was told, and which the engine still keeps
        self._stopping = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._run, name="minispec engine", daemon=True)
        self.num_faults = 0

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin; what happens is told in this loop."""
        self._loop = loop
        self._thread.start()

    async def stop(self) -> None:
        """End the thread, once all that was asked before is done; runs that are left end where they are."""
        self._commands.put(self._stop)
        await asyncio.to_thread(self._thread.join)

    @property
    def is_alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive()

    async def add(self, ticket: Ticket) -> None:
        """Begin the runs of a request.

        Raises
        ------
        InputError
            If one of them cannot be served; then none is.
        Gone
            If nothing is served any more.
        """
        await self._call(lambda: self._add(ticket))

    def cancel(self, ticket: Ticket) -> None:
        """Forget the runs of a request before the next step; nothing more is told of them."""
        self._commands.put(lambda: self._cancel(ticket))

    def cut(self, ticket: Ticket, why: str) -> None:
        """End the runs of a request where they are, and tell so."""
        self._commands.put(lambda: self._cut(ticket, why))

    async def do(self, task: Callable[[], Any]) -> Any:
        """Run something between two steps, and return its result: what needs the models."""
        return await self._call(task)

    async def _call(self, task: Callable[[], Any]) -> Any:
        answer: Future[Any] = Future()

        if not self.is_alive:
            raise Gone

        def command() -> None:
            if not answer.set_running_or_notify_cancel():
                return  # whoever asked has gone
            try:
                answer.set_result(task())
            except BaseException as error:
                answer.set_exception(error)

        self._commands.put(command)
        return await asyncio.wrap_future(answer)

    def _run(self) -> None:
        from minispec.engine.backends.threads import num_threads, set_num_threads  # imports Numba

        set_num_threads(num_threads())  # it counts per thread of Python
        try:
            while not self._stopping:
                self._take_commands()
                if self._tickets:
                    self._step()
        finally:  # also if this thread has a fault of its own: nobody may wait for what will not come
            self._stopping = True
            for ticket in {ticket for ticket, _ in self._tickets.values()}:
                self._cut(ticket, "shutdown")
            self._post()
            while not self._commands.empty():
                self._commands.get()()

    def _take_commands(self) -> None:
        """Do what was asked for; wait for it only if nobody else waits for a step."""
        if not self._tickets:
            self._commands.get()()
        while True:
            try:
                command = self._commands.get_nowait()
            except queue.Empty:
                break
            command()
        self._post()

    def _step(self) -> None:
        try:
            self.engine.step(self._note)
        except Exception as error:
            self._fail(error)
        while self._finished:
            self._clear(self._finished.pop())
        self._post()

    def _note(self, number: int, event: Event) -> None:
        ticket, index = self._tickets[number]
        if isinstance(event, Prefilled):
            ticket.cached[index] = self.engine.num_cached(number)
        self._batch.setdefault(ticket, []).append(Told(index, time.perf_counter(), event))
        if isinstance(event, Drafted) and ticket.early:
            self._post_one(ticket)
        if isinstance(event, Finished):
            self._drop(ticket, index)
            self._finished.append(number)

    def _post(self) -> None:
        if self._batch:
            batch, self._batch = self._batch, {}
            self._tell(batch)

    def _post_one(self, ticket: Ticket) -> None:
        self._tell({ticket: self._batch.pop(ticket)})

    def _tell(self, batch: dict[Ticket, list[Told]]) -> None:
        assert self._loop is not None
        self._loop.call_soon_threadsafe(_deliver, batch)

    def _drop(self, ticket: Ticket, index: int) -> None:
        del self._tickets[ticket.numbers.pop(index)]

    def _add(self, ticket: Ticket) -> None:
        if self._stopping:
            raise Gone
        try:
            for choice in ticket.choices:
                number = self.engine.add(choice.prompt, draft=choice.draft, **choice.options)
                ticket.numbers[choice.index] = number
                self._tickets[number] = ticket, choice.index
        except BaseException:
            self._cancel(ticket)
            raise

    def _cancel(self, ticket: Ticket) -> None:
        for index, number in list(ticket.numbers.items()):
            self._drop(ticket, index)
            self._clear(number)
        self._batch.pop(ticket, None)

    def _cut(self, ticket: Ticket, why: str) -> None:
        for index, number in list(ticket.numbers.items()):
            self._drop(ticket, index)
            self._end(ticket, index, Cut(self._clear(number), why))

    def _end(self, ticket: Ticket, index: int, what: Cut | Failed) -> None:
        self._batch.setdefault(ticket, []).append(Told(index, time.perf_counter(), what))

    def _clear(self, number: int) -> Generation:
        """Take a run out of the engine, whether it has ended or not, and return what it has made."""
        if number in (*self.engine.running, *self.engine.waiting):
            self.engine.cancel(number)
        generation = self.engine.generation(number)
        self.engine.forget(number)
        return generation

    def _fail(self, error: Exception) -> None:
        """End the run whose fault a failed step was, or all if that is nobody's; the engine goes on with the others."""
        blamed = self.engine.blamed
        cause: InputError | str
        if isinstance(error, InputError) and blamed is not None:
            cause = error  # such as a schema that turns out to be too large while it is followed
        else:
            self.num_faults += 1
            cause = secrets.token_hex(8)
            by = "nobody's run" if blamed is None else f"run {blamed}"
            _log.error("fault %s: a step failed, by %s", cause, by, exc_info=error)
        for number in list(self._tickets) if blamed is None else [blamed]:
            if number in self._tickets:  # else its end was told already, and it is only to be cleared
                ticket, index = self._tickets[number]
                self._drop(ticket, index)
                self._end(ticket, index, Failed(cause))
                self._finished.append(number)

    def _stop(self) -> None:
        self._stopping = True


def _deliver(batch: dict[Ticket, list[Told]]) -> None:
    for ticket, told in batch.items():
        try:
            ticket.receive(told)
        except Exception:
            _log.exception("what was told of a request could not be counted")
