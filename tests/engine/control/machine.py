"""A simulated machine for an engine: its forwards cost what their rows cost, whatever this one does meanwhile."""

from __future__ import annotations

import zlib
from unittest import mock

from minispec.engine.batching import Engine
from minispec.engine.batching import batch as batch_module
from minispec.engine.model.toy import TableModel

RIDGE = 24  # rows up to which a forward of the toy machine takes no longer


def target_s(rows):
    return 1.0 + 0.01 * rows + max(0.0, rows - RIDGE) / RIDGE


def draft_s(rows):
    return 0.1 * target_s(rows)


def decode_on(target, requests, *, target_s=target_s, draft_s=draft_s):
    """Decode requests (a prompt and options each) until the first ends; return tokens per second, and all as they are.

    So all run all the time: a crowd that drains is another crowd. The engine knows every cost from the start.
    """
    now, right = [0.0], batch_module.answer_together
    engine = Engine(target, max_running=len(requests), clock=lambda: now[0])
    for rows in range(1, 9 * len(requests)):
        engine.load.target.add(rows, target_s(rows))
        engine.load.draft.add(rows, draft_s(rows))

    def answer(asks):
        rows = sum(ask.num_tokens for ask in asks)
        now[0] += target_s(rows) if asks[0].session.model is engine.target else draft_s(rows)
        return right(asks)

    with mock.patch.object(batch_module, "answer_together", answer):
        numbers = [engine.add(prompt, **options) for prompt, options in requests]
        while len(engine.running) + len(engine.waiting) == len(requests):
            engine.step()
        found = [engine.generation(number) for number in numbers]
    return sum(each.metrics.num_tokens for each in found) / now[0], found


class HalfRight(TableModel):
    """A draft that knows the target's row of a share of all prefixes, and of the others nothing."""

    def __init__(self, target, share, seed=7):
        super().__init__(target.vocab_size, target.n_positions, seed=seed, concentration=0.1)
        self._target, self._share = target, share

    def next_probs(self, prefix):
        key = tuple(map(int, prefix))
        knows = zlib.crc32(repr((self._seed, key)).encode()) % 1000 < 1000 * self._share
        return self._target.next_probs(key) if knows else super().next_probs(key)
