"""Shadow mode: some greedy texts are decoded a second time, plainly and unseen, and must be equal token for token.

Only where speculation promises plain decoding's own tokens (``guarantee`` "bit-exact"), and only while there is room
that nobody wants: whoever comes takes it.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

from minispec.engine.generation.events import Finished
from minispec.engine.generation.result import Generation
from minispec.engine.model.session import count_shared
from minispec.serving.choices import Choice
from minispec.serving.worker import Gone, Ticket, Told, Worker

_log = logging.getLogger(__name__)

Outcome = Literal["equal", "different", "skipped"]


class Shadow:
    """Decodes a share of the greedy texts again.

    Parameters
    ----------
    share : float
        In [0, 1].
    worker : Worker
    report : callable
        Is told what came of each.
    """

    def __init__(self, share: float, worker: Worker, report: Callable[[Outcome], None]) -> None:
        self._share = share
        self._worker = worker
        self._report = report
        self._tasks: set[asyncio.Task[None]] = set()
        self._random = random.Random(0)
        self._running: dict[Ticket, asyncio.Future[Generation | None]] = {}

    @property
    def num_running(self) -> int:
        """Texts that are decoded again now."""
        return len(self._running)

    def make_room(self, count: int) -> None:
        """Give up so many texts, the newest first."""
        for _ in range(min(count, len(self._running))):
            ticket, ended = self._running.popitem()
            if not ended.done():
                ended.set_result(None)
            self._worker.cancel(ticket)

    def consider(self, choice: Choice, generation: Generation, *, has_room: bool) -> None:
        """Decode a finished text again, if it is one to be checked and chance says so."""
        if choice.draft is None or generation.guarantee != "bit-exact" or self._random.random() >= self._share:
            return
        if not has_room:
            self._report("skipped")
            return
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[Generation | None] = loop.create_future()

        def receive(told: Sequence[Told]) -> None:
            last = told[-1]
            if last.is_last and not ended.done():
                ended.set_result(last.what.generation if isinstance(last.what, Finished) else None)

        plain = replace(choice, draft=None, options={**choice.options, "gamma": 0, "verify": "rejection"})
        ticket = Ticket([plain], receive)
        self._running[ticket] = ended
        task = loop.create_task(self._repeat(ticket, ended, choice, generation))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _repeat(
        self, ticket: Ticket, ended: asyncio.Future[Generation | None], choice: Choice, generation: Generation
    ) -> None:
        try:
            if not ended.done():  # somebody may have come before this began
                await self._worker.add(ticket)
            again = await ended
        except Gone:
            return
        finally:
            self._running.pop(ticket, None)
        if again is None:
            self._report("skipped")
            return
        same = again.token_ids == generation.token_ids
        self._report("equal" if same else "different")
        if not same:
            _log.error(
                "a greedy text is not that of plain decoding from token %d on: draft %s, verify %s, seed %s",
                count_shared(again.token_ids, generation.token_ids),
                choice.draft_name,
                choice.options["verify"],
                choice.options["seed"],
            )
