"""Requests in flight: who is let in, what has been told of them, and what is left behind (nothing)."""

from __future__ import annotations

import asyncio
import logging
import math
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from minispec.engine.generation.broken import Watch
from minispec.engine.generation.events import Drafted, Emitted, Finished
from minispec.engine.generation.result import Generation
from minispec.engine.model.language_model import LanguageModel
from minispec.errors import InputError
from minispec.serving.answers import Envelope, describe_acceptance
from minispec.serving.choices import (
    Choice,
    Speculation,
    choose_speculation,
    complete,
    default_speculation,
    list_choices,
)
from minispec.serving.metrics import Metrics
from minispec.serving.problems import Problem, describe_fault, from_option_error
from minispec.serving.rollout import Arm, Observation, Rollout
from minispec.serving.schema import CompletionRequest, Speculative
from minispec.serving.settings import Settings
from minispec.serving.shadow import Outcome, Shadow
from minispec.serving.worker import Cut, Failed, Gone, Ticket, Told, Worker

NO_ARM = "none"

_log = logging.getLogger(__name__)


class Mailbox:
    """What was told of a request and is not read yet.

    It needs no bound of its own: a choice has at most as many steps as the context has tokens, and a reader who takes
    nothing is disconnected after a while. So a slow reader costs a few kilobytes and holds nobody up; its pages are
    free as soon as its text is complete, read or not.
    """

    def __init__(self) -> None:
        self._told: list[Told] = []
        self._arrived = asyncio.Event()

    def put(self, told: Sequence[Told]) -> None:
        """Add what has happened."""
        self._told += told
        self._arrived.set()

    async def take(self, timeout_s: float | None = None) -> list[Told]:
        """Wait until something is there, and take all of it; nothing, if the time was too short."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._arrived.wait()
        except TimeoutError:
            return []
        self._arrived.clear()
        told, self._told = self._told, []
        return told


@dataclass(eq=False)
class InFlight:
    """A request that was let in.

    Parameters
    ----------
    request : CompletionRequest
    choices : list of Choice
    envelope : Envelope
    arm : str or None
        Of a rollout.
    arrived_s : float
        Moment of ``time.perf_counter``.
    """

    request: CompletionRequest
    choices: list[Choice]
    envelope: Envelope
    arm: Arm | None
    arrived_s: float
    mailbox: Mailbox = field(default_factory=Mailbox)
    open: set[int] = field(default_factory=set)
    first_s: dict[int, float] = field(default_factory=dict)
    counted: set[int] = field(default_factory=set)
    told_s: dict[int, float] = field(default_factory=dict)  # when the last tokens of each choice came, from arrival
    drafted: dict[int, Drafted] = field(default_factory=dict)  # the draft of each choice that is not judged yet
    ticket: Ticket = field(init=False)
    deadline: asyncio.TimerHandle | None = None

    def describe_acceptance(self, generations: Sequence[Generation]) -> dict[str, Any] | None:
        """Return what an answer's ``metrics`` holds."""
        level = self.request.per_request_spec_decode_metrics
        return describe_acceptance(generations, self.choices[0].draft_name, level)


class Service:
    """Lets requests in, and keeps count of them; all in the event loop.

    Parameters
    ----------
    settings : Settings
    target : LanguageModel
        The target with caches of its own, to score prompts.
    worker : Worker
    metrics : Metrics
    rollout : Rollout, optional
    """

    def __init__(
        self,
        settings: Settings,
        target: LanguageModel,
        worker: Worker,
        metrics: Metrics,
        rollout: Rollout | None = None,
    ) -> None:
        self.settings = settings
        self.target = target
        self.worker = worker
        self.metrics = metrics
        self.draining = False
        self._in_flight: set[InFlight] = set()
        self._seconds_per_choice = 1.0  # a running mean, to say when to come back
        self._default = default_speculation(settings)
        self._baseline = complete(Speculative(draft=settings.baseline), settings)
        self.rollout = rollout
        metrics.watch_faults(lambda: worker.num_faults)
        if rollout is not None:
            metrics.watch_rollout(rollout)
        self._watches: dict[tuple[str, str], Watch] = {}  # by draft and arm
        self._warned: set[tuple[str, str]] = set()
        self._shadow = Shadow(settings.shadow, worker, self._note_shadow)

    @property
    def num_open(self) -> int:
        """Choices that have not ended."""
        return sum(len(each.open) for each in self._in_flight)

    async def begin(self, request: CompletionRequest) -> InFlight:
        """Let a request in.

        Raises
        ------
        Problem
            If it asks for what there is not, or there is no room.
        """
        arrived_s = time.perf_counter()
        speculation, arm = self._choose(request)
        choices = list_choices(request, self.settings, speculation, watched=arm is not None)
        self._check_room(len(choices))
        envelope = Envelope.new(f"cmpl-{secrets.token_hex(12)}", self.settings.model)
        flight = InFlight(request, choices, envelope, arm, arrived_s)
        flight.ticket = Ticket(choices, self._receiver(flight), early=request.events or request.provisional)
        flight.open = {choice.index for choice in choices}
        self._in_flight.add(flight)
        self._shadow.make_room(max(0, self.num_open + self._shadow.num_running - self.settings.max_running))
        try:
            await self.worker.add(flight.ticket)
        except InputError as error:
            flight.open.clear()  # refused: nobody went away
            self.end(flight)
            raise from_option_error(error, self.settings.drafts) from None
        except Gone:
            flight.open.clear()
            self.end(flight)
            raise Problem(503, "the server is going down; ask another one", code="draining") from None
        except BaseException:  # the reader went away meanwhile
            self.end(flight)
            raise
        loop = asyncio.get_running_loop()
        flight.deadline = loop.call_later(self.settings.max_s, self.worker.cut, flight.ticket, "time")
        return flight

    def end(self, flight: InFlight) -> None:
        """Let a request go, also if it has not ended; the worker forgets it before its next step."""
        if flight.deadline is not None:
            flight.deadline.cancel()
        if flight.open:
            self.worker.cancel(flight.ticket)
            self.metrics.note_cancelled(len(flight.open))
            flight.open.clear()
        self._in_flight.discard(flight)

    def describe_failure(self, failed: Failed) -> Problem:
        """Return what a reader is told of a choice that came to nothing."""
        if isinstance(failed.cause, InputError):
            return from_option_error(failed.cause, self.settings.drafts)
        return describe_fault(failed.cause)

    def cut_all(self) -> None:
        """End all requests where they are: the server has no more time."""
        for flight in self._in_flight:
            self.worker.cut(flight.ticket, "shutdown")

    def _choose(self, request: CompletionRequest) -> tuple[Speculation, Arm | None]:
        asked = choose_speculation(request, self.settings)
        if asked is not None or self.rollout is None:
            return asked or self._default, None
        arm = self.rollout.assign(request.user)
        return (self._default if arm == "canary" else self._baseline), arm

    def _has_spare_room(self) -> bool:
        """Whether one more run would let nobody wait."""
        return not self.draining and self.num_open + self._shadow.num_running < self.settings.max_running

    def _note_shadow(self, outcome: Outcome) -> None:
        self.metrics.note_shadow(outcome)
        if outcome == "different" and self.rollout is not None:
            self.rollout.end("a greedy text was not that of plain decoding")

    def _check_room(self, num_choices: int) -> None:
        if self.draining:
            after = math.ceil(self.settings.drain_s)
            raise _come_back(503, "the server is shutting down; ask another one, or come back", "draining", after)
        room = self.settings.max_running + self.settings.max_waiting - self.num_open
        if num_choices > room:
            waits = math.ceil(self.num_open * self._seconds_per_choice / self.settings.max_running)
            message = f"{self.num_open} choices run or wait, and there is room for {room} more; come back later"
            raise _come_back(429, message, "queue_full", min(600, max(1, waits)))

    def _receiver(self, flight: InFlight) -> Callable[[Sequence[Told]], None]:
        def receive(told: Sequence[Told]) -> None:
            try:
                for each in told:
                    self._note(flight, each)
            finally:  # whatever goes wrong in counting, a reader gets his text
                flight.mailbox.put(told)

        return receive

    def _note(self, flight: InFlight, told: Told) -> None:
        """Count what has happened."""
        arm, since_s = flight.arm or NO_ARM, told.moment_s - flight.arrived_s
        if isinstance(told.what, Drafted):
            flight.drafted[told.index] = told.what
        if isinstance(told.what, Emitted) and told.what.token_ids:
            if told.index not in flight.first_s:
                flight.first_s[told.index] = since_s
                self.metrics.note_first_token(since_s, arm)
            else:
                self.metrics.note_tokens(len(told.what.token_ids), since_s - flight.told_s[told.index], arm)
            flight.told_s[told.index] = since_s
            self._see(flight, told.index, told.what, arm)
        if not told.is_last or told.index not in flight.open:
            return
        flight.open.discard(told.index)
        self._seconds_per_choice += (since_s - self._seconds_per_choice) / 16
        self._warn(flight.choices[told.index].draft_name, arm)
        if not isinstance(told.what, Failed):
            generation, finish = find_end(told.what)
            first_s = flight.first_s.get(told.index)
            prompt = told.index // (flight.request.n or 1)
            if prompt not in flight.counted:
                flight.counted.add(prompt)
                self.metrics.note_prompt(generation.metrics.num_prompt_tokens)
            self.metrics.note_end(generation, finish, arm, first_s, flight.told_s.get(told.index), since_s)
            self.metrics.note_cached(generation.metrics.num_prompt_tokens, flight.ticket.cached.get(told.index))
            if isinstance(told.what, Finished):
                if flight.arm is not None and self.rollout is not None:
                    self.rollout.observe(observation(flight.arm, generation, first_s, since_s))
                self._shadow.consider(flight.choices[told.index], generation, has_room=self._has_spare_room())

    def _see(self, flight: InFlight, index: int, emitted: Emitted, arm: str) -> None:
        """Learn from a step how its draft fared."""
        drafted, name = flight.drafted.pop(index, None), flight.choices[index].draft_name
        if drafted is not None and name is not None:
            self._watches.setdefault((name, arm), Watch()).see(drafted, emitted)

    def _warn(self, name: str | None, arm: str) -> None:
        """Say once for each draft and arm that the draft is of no use, and show it as long as it is not."""
        watch = None if name is None else self._watches.get((name, arm))
        if name is None or watch is None:
            return
        watch.fade()
        warning = watch.warning
        if warning is not None and (name, arm) not in self._warned:
            self._warned.add((name, arm))
            _log.warning("draft %s, arm %s: %s", name, arm, warning)
        self.metrics.note_draft(name, arm, broken=warning is not None)


def observation(arm: Arm, generation: Generation, first_s: float | None, whole_s: float) -> Observation:
    """Return what a rollout learns from a choice; both times are from the request's arrival, as its reader has them."""
    found = generation.metrics
    logprobs = [detail.logprob for step in generation.steps for detail in step.details]
    later = found.num_decode_tokens
    return Observation(
        arm=arm,
        num_tokens=found.num_tokens,
        num_steps=found.num_steps,
        num_draft_tokens=found.num_draft_tokens,
        num_accepted_tokens=found.num_accepted_tokens,
        ttft_s=first_s,
        tpot_s=(whole_s - first_s) / later if first_s is not None and later else None,
        finish=generation.finish_reason,
        mean_logprob=sum(logprobs) / len(logprobs) if logprobs else None,
    )


def _come_back(status: int, message: str, code: str, seconds: int) -> Problem:
    return Problem(status, message, code=code, headers={"Retry-After": str(seconds)})


def find_end(what: object) -> tuple[Generation, str]:
    """Return the result of a choice that has ended, and the word for why."""
    if isinstance(what, Cut):
        return what.generation, what.why
    assert isinstance(what, Finished)
    return what.generation, what.generation.finish_reason
