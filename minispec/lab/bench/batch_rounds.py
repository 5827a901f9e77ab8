"""A batch, timed in rounds: plain decoding, decoding with drafts, and every forward of both take turns in each.

So what a round predicts from its costs and what it measures were seen on the same machine, a moment apart.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from minispec.engine.model import GPT2
from minispec.lab.bench.batch_figures import BatchDraft, BatchPlan
from minispec.lab.bench.speculation import PLAIN
from minispec.lab.bench.together import Clock, Decoded, Timer, batch_forwards, behind, repeat
from minispec.lab.timer import interleave

ALONE = "alone"
_DRAFT_FORWARDS = "first", "catch up", "next"
SEARCH_ROUNDS = 3
"""Runs with each length of drafts before the best one is measured."""


def forward_timers(target: GPT2, draft: GPT2, plan: BatchPlan, *, clock: Clock) -> dict[int, dict[str, Timer]]:
    """Return a timer of every forward that a batch is judged by, by its name, per batch.

    "row 1" is one row of each text, and so on, "alone" one row of a single text, "contiguous" one row of each where
    texts lie in one piece; "first", "catch up" and "next" are the draft's, see :class:`~.batch_figures.BatchDraft`.
    """
    context = plan.context
    cells = {(1, 1), *((batch, count) for batch in plan.batches for count in plan.rows)}
    paged = batch_forwards(target, cells, context, clock=clock)
    ones, twos = ([(batch, count) for batch in plan.batches] for count in (1, 2))
    contiguous = batch_forwards(target, ones, context, page_size=target.n_positions, clock=clock)
    drafting = batch_forwards(draft, [*ones, *twos], context, num_logits=1, clock=clock)

    def forwards(batch: int) -> dict[str, Timer]:
        return {
            **({} if batch == 1 else {ALONE: paged[1, 1]}),
            **{row_name(count): paged[batch, count] for count in plan.rows},
            "contiguous": contiguous[batch, 1],
            "first": behind(drafting[batch, 1], paged[batch, 1]),
            "catch up": behind(drafting[batch, 2], paged[batch, 1]),
            "next": drafting[batch, 1],
        }

    return {batch: {name: repeat(once) for name, once in forwards(batch).items()} for batch in plan.batches}


def row_name(count: int) -> str:
    """Return the name of a target's forward over so many rows of each text."""
    return f"row {count}"


@dataclass(frozen=True, slots=True)
class Rounds:
    """What was timed of one batch.

    Attributes
    ----------
    batch : int
    gamma : int
        The length of drafts that the search has found fastest.
    searched : mapping of int to float
        Median tokens per second of the search, by gamma.
    seconds : mapping of str to sequence of float
        Of each forward, one figure per round.
    plain, speculative : sequence of Decoded
        One per round.
    """

    batch: int
    gamma: int
    searched: Mapping[int, float]
    seconds: Mapping[str, Sequence[float]]
    plain: Sequence[Decoded]
    speculative: Sequence[Decoded]

    @property
    def speedups(self) -> list[float]:
        """How many times as fast drafts were, per round."""
        return [a.tokens_per_s / b.tokens_per_s for a, b in zip(self.speculative, self.plain, strict=True)]

    @property
    def drafts(self) -> list[BatchDraft]:
        """The draft's forwards of each round."""
        rounds = zip(*(self.seconds[name] for name in _DRAFT_FORWARDS), strict=True)
        return [BatchDraft(self.batch, *each) for each in rounds]

    @property
    def typical_draft(self) -> BatchDraft:
        """Medians over the rounds."""
        return BatchDraft(self.batch, *(statistics.median(self.seconds[name]) for name in _DRAFT_FORWARDS))

    def ratios(self, name: str, other: str) -> list[float]:
        """Return the time of one forward in units of another, per round."""
        return [a / b for a, b in zip(self.seconds[name], self.seconds[other], strict=True)]


def time_batch(batch: int, run: Callable[[int], Decoded], forwards: Mapping[str, Timer], plan: BatchPlan) -> Rounds:
    """Search the best gamma of a batch; then time it, plain decoding and all forwards, taking turns.

    The search has rounds of its own, so that the choice is not judged by its luck.

    Parameters
    ----------
    batch : int
    run : callable
        Decodes the batch with a gamma.
    forwards : mapping of str to callable
        See :func:`forward_timers`.
    plan : BatchPlan
    """
    made: dict[int, list[Decoded]] = {gamma: [] for gamma in (PLAIN, *plan.gammas)}

    def timer(gamma: int) -> Timer:
        def once() -> float:
            made[gamma].append(run(gamma))
            return made[gamma][-1].tokens_per_s

        return once

    for gamma in (PLAIN, plan.gammas[0]):
        run(gamma)  # the first run of each kind finds cold caches
    search = interleave({str(gamma): timer(gamma) for gamma in plan.gammas}, SEARCH_ROUNDS)
    searched = {gamma: statistics.median(search[str(gamma)]) for gamma in plan.gammas}
    best = max(searched, key=searched.__getitem__)
    made[best].clear()
    figures = interleave({"plain": timer(PLAIN), "speculative": timer(best), **forwards}, plan.repeats)
    return Rounds(batch, best, searched, {name: figures[name] for name in forwards}, made[PLAIN], made[best])
