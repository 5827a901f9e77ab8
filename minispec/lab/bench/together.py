"""Many texts at once, timed: forwards over a batch, and the engine's steps while all of its texts are being decoded."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, cast

from minispec.engine.backends.base import Array, Feed
from minispec.engine.batching import Engine
from minispec.engine.generation.events import Emitted, Finished
from minispec.engine.generation.result import Generation
from minispec.engine.model import GPT2
from minispec.engine.model.asks import Ask
from minispec.engine.model.cache import PAGE_SIZE
from minispec.engine.model.language_model import FedCache
from minispec.engine.model.paged import PagedModel
from minispec.engine.model.session import PREFILL_CHUNK, Session
from minispec.engine.model.together import answer_together
from minispec.errors import InvariantError
from minispec.lab.bench.costs import PLAIN, check_length
from minispec.lab.timer import Timer

Clock = Callable[[], float]


class Watch:
    """Adds up the seconds that models spend in forwards, and lets their texts go on for as long as is asked.

    A token that ends texts is one like any other then. To forbid it with ``min_tokens`` would cost time in every
    sampling that ordinary requests do not spend.

    Parameters
    ----------
    clock : callable
        Seconds.

    Attributes
    ----------
    forward_s : float
        Set it to zero to begin anew.
    """

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.forward_s = 0.0

    def over(self, model: GPT2) -> PagedModel:
        """Return a model whose forwards are timed, and whose texts no token ends."""
        return cast("PagedModel", _Watched(model, self))


class _Watched:
    """The model it is given; its forwards are timed, and those of its paged copies."""

    def __init__(self, model: GPT2, watch: Watch) -> None:
        self._model, self._watch = model, watch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    @property
    def eos_token_id(self) -> frozenset[int]:
        """None."""
        return frozenset()

    def with_pages(self, num_pages: int, page_size: int = PAGE_SIZE) -> _Watched:
        """See :meth:`GPT2.with_pages`."""
        return _Watched(self._model.with_pages(num_pages, page_size), self._watch)

    def run(self, feed: Feed, cache: FedCache) -> Array:
        """See :meth:`GPT2.run`."""
        started = self._watch.clock()
        logits = self._model.run(feed, cache)
        self._watch.forward_s += self._watch.clock() - started
        return logits


def batch_forwards(
    model: GPT2,
    cells: Collection[tuple[int, int]],
    context: int,
    *,
    num_logits: int | None = None,
    page_size: int = PAGE_SIZE,
    clock: Clock = time.perf_counter,
) -> dict[tuple[int, int], Timer]:
    """Return what runs one forward over B texts with r rows each, and says its seconds, per cell (B, r).

    All share one pool.

    Parameters
    ----------
    model : GPT2
    cells : collection of (int, int)
    context : int
        Cached tokens of every text.
    num_logits : int, optional
        Rows of each text whose logits are wanted; by default all, as a target's are.
    page_size : int
        Slots per page; with ``n_positions`` of them, every text is contiguous.
    clock : callable
        Seconds.
    """
    watch, size = Watch(clock), min(page_size, model.n_positions)
    texts, longest = max(batch for batch, _ in cells), context + max(rows for _, rows in cells)
    paged = watch.over(model).with_pages(texts * -(-longest // size), size)
    sessions = [Session(paged) for _ in range(texts)]
    tokens = [(31 * i + 7) % model.vocab_size for i in range(longest)]
    for start in range(0, context, PREFILL_CHUNK):
        answer_together([Ask(each, tokens[start : min(context, start + PREFILL_CHUNK)], 0) for each in sessions])

    def once(batch: int, rows: int) -> float:
        watch.forward_s = 0.0
        fed = tokens[context : context + rows]
        answer_together([Ask(each, fed, rows if num_logits is None else num_logits) for each in sessions[:batch]])
        for each in sessions[:batch]:
            each.rollback(context)
        return watch.forward_s

    return {cell: functools.partial(once, *cell) for cell in cells}


def behind(forward: Timer, other: Timer) -> Timer:
    """Return what runs the other forward first, without counting it, so that this one finds its caches as in a step."""
    return lambda: (other(), forward())[1]


@dataclass(frozen=True, slots=True)
class Decoded:
    """A batch that was decoded, and what the clock saw while nobody had ended yet.

    Attributes
    ----------
    seconds, forward_s : float
        From the step after that in which the last model has read its prompts to the one in which the first text ended;
        in the forwards of target and draft.
    num_tokens, num_steps : int
        Emitted in these seconds, over all texts, and the steps that texts took for them.
    generations : tuple of Generation
        Whole texts, the part that was not timed included.
    """

    seconds: float
    forward_s: float
    num_tokens: int
    num_steps: int
    generations: tuple[Generation, ...]

    @property
    def tokens_per_s(self) -> float:
        """Goodput."""
        return self.num_tokens / self.seconds

    @property
    def overhead_s(self) -> float:
        """Seconds per emitted token that were spent in no forward."""
        return (self.seconds - self.forward_s) / self.num_tokens


def open_engine(
    target: PagedModel, prompts: Sequence[Sequence[int]], page_size: int, draft: PagedModel | None, **options: Any
) -> Engine:
    """Return an engine that decodes these prompts greedily, all of them from its first step on."""
    # prompts of one length are fed in step, and decoding begins for all at once: their last chunks have a row more
    rows = len(prompts) * (PREFILL_CHUNK + 1)
    engine = Engine(target, max_running=len(prompts), page_size=page_size, max_rows=rows)
    for prompt in prompts:
        engine.add(prompt, draft=draft, temperature=0.0, **options)
    return engine


def decode_together(
    target: GPT2,
    draft: GPT2,
    prompts: Sequence[Sequence[int]],
    gamma: int,
    num_tokens: int,
    *,
    page_size: int = PAGE_SIZE,
    clock: Clock = time.perf_counter,
) -> Decoded:
    """Decode a batch to exactly ``num_tokens`` tokens each.

    Parameters
    ----------
    target, draft : GPT2
    prompts : sequence of sequence of int
        Of one length.
    gamma : int
        Drafted tokens per step; 0 decodes plainly.
    num_tokens : int
        More than the first token and a step can emit.
    page_size : int
        Slots per page.
    clock : callable
        Seconds.

    Raises
    ------
    InvariantError
        If a text gets another number of tokens, or ends before all models have read all prompts: then runs are not
        alike.
    """
    watch = Watch(clock)
    drafts = None if gamma == PLAIN else watch.over(draft)
    engine = open_engine(watch.over(target), prompts, page_size, drafts, gamma=max(1, gamma), max_tokens=num_tokens)
    first = int(gamma != PLAIN)  # a draft model reads the prompt behind the first token, before the first draft
    num_begun = 0
    while num_begun < len(prompts):
        for _, event in engine.step():
            num_begun += isinstance(event, Emitted) and event.step == first
            if isinstance(event, Finished):
                raise InvariantError("a text ended before all prompts were fed; nothing is left to be timed")
    watch.forward_s, emitted, ended = 0.0, list[int](), False
    started = clock()
    while not ended:
        for _, event in engine.step():
            if isinstance(event, Emitted):
                emitted.append(len(event.token_ids))
            ended = ended or isinstance(event, Finished)
    seconds, forward_s = clock() - started, watch.forward_s
    generations = tuple(engine.run())
    for generation in generations:
        check_length(generation, gamma, num_tokens)
    return Decoded(seconds, forward_s, sum(emitted), len(emitted), generations)
