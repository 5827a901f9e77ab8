"""A batch, timed in rounds: every forward that it is judged by, and every way to decode it, takes its turn in each.

So what a round predicts from its costs and what it measures were seen on the same machine, a moment apart.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from minispec.analysis.bench.batch_figures import BatchDraft, BatchPlan
from minispec.analysis.bench.speculation import PLAIN
from minispec.analysis.bench.together import Clock, Decoded, Timer, batch_forwards, behind, repeat
from minispec.analysis.timer import interleave
from minispec.model import GPT2

_DRAFT_FORWARDS = "first", "catch up", "next"


def forward_timers(target: GPT2, draft: GPT2, plan: BatchPlan, *, clock: Clock) -> dict[int, dict[str, Timer]]:
    """Return a timer of every forward that a batch is judged by, by its name, per batch.

    "alone" is one row of one text, "row 1" one row of each, and so on, "contiguous" the same where texts lie in one
    piece; "first", "catch up" and "next" are the draft's, see :class:`~.batch_figures.BatchDraft`.
    """
    context = plan.context
    cells = {(1, 1), *((batch, count) for batch in plan.batches for count in plan.rows)}
    paged = batch_forwards(target, cells, context, clock=clock)
    ones, twos = ([(batch, count) for batch in plan.batches] for count in (1, 2))
    contiguous = batch_forwards(target, ones, context, page_size=target.n_positions, clock=clock)
    drafting = batch_forwards(draft, [*ones, *twos], context, clock=clock)

    def draft_forwards(batch: int) -> tuple[Timer, Timer, Timer]:
        first, catch_up = (behind(drafting[batch, count], paged[batch, 1]) for count in (1, 2))
        return first, catch_up, drafting[batch, 1]

    def forwards(batch: int) -> dict[str, Timer]:
        return {
            "alone": paged[1, 1],
            **{row_name(count): paged[batch, count] for count in plan.rows},
            "contiguous": contiguous[batch, 1],
            **dict(zip(_DRAFT_FORWARDS, draft_forwards(batch), strict=True)),
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
    seconds : mapping of str to sequence of float
        Of each forward, one figure per round.
    made : mapping of int to sequence of Decoded
        By gamma, one per round; 0 is plain decoding.
    """

    batch: int
    seconds: Mapping[str, Sequence[float]]
    made: Mapping[int, Sequence[Decoded]]

    @property
    def gammas(self) -> list[int]:
        """The lengths of drafts that were tried."""
        return [gamma for gamma in self.made if gamma != PLAIN]

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

    def speedups(self, gamma: int) -> list[float]:
        """Return how many times as fast drafts of this length were, per round."""
        pairs = zip(self.made[gamma], self.made[PLAIN], strict=True)
        return [speculative.tokens_per_s / plain.tokens_per_s for speculative, plain in pairs]


def time_batch(batch: int, run: Callable[[int], Decoded], forwards: Mapping[str, Timer], plan: BatchPlan) -> Rounds:
    """Decode a batch plainly and with drafts of every length, and time its forwards, taking turns.

    Parameters
    ----------
    batch : int
    run : callable
        Decodes the batch with a gamma.
    forwards : mapping of str to callable
        See :func:`forward_timers`.
    plan : BatchPlan
    """
    ways = (PLAIN, *plan.gammas)
    made: dict[int, list[Decoded]] = {gamma: [] for gamma in ways}

    def timer(gamma: int) -> Timer:
        def once() -> float:
            made[gamma].append(run(gamma))
            return made[gamma][-1].seconds

        return once

    for gamma in (PLAIN, plan.gammas[0]):
        run(gamma)  # the first run of each kind finds cold caches
    decoding = {f"gamma {gamma}": timer(gamma) for gamma in ways}
    figures = interleave({**decoding, **forwards}, plan.repeats)
    return Rounds(batch, {name: figures[name] for name in forwards}, made)
