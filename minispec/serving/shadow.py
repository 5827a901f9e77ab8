"""Shadow mode: some greedy texts are decoded a second time, plainly and unseen, and must be equal token for token.

Only where speculation promises plain decoding's own tokens (``guarantee`` "bit-exact"), and only while nobody waits.
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

    def consider(self, choice: Choice, generation: Generation, *, has_room: bool) -> None:
        """Decode a finished text again, if it is one to be checked and chance says so."""
        if choice.draft is None or generation.guarantee != "bit-exact" or self._random.random() >= self._share:
            return
        if not has_room:
            self._report("skipped")
            return
        task = asyncio.get_running_loop().create_task(self._repeat(choice, generation))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _repeat(self, choice: Choice, generation: Generation) -> None:
        plain = replace(choice, draft=None, options={**choice.options, "gamma": 0, "verify": "rejection"})
        ended: asyncio.Future[Generation | None] = asyncio.get_running_loop().create_future()

        def receive(told: Sequence[Told]) -> None:
            last = told[-1]
            if last.is_last and not ended.done():
                ended.set_result(last.what.generation if isinstance(last.what, Finished) else None)

        try:
            await self._worker.add(Ticket([plain], receive))
        except Gone:
            return
        again = await ended
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
