"""What ``minispec bench --batch`` measures: speculation beside the number of texts that are decoded together.

Alone, a text leaves arithmetic idle that verification can use for nothing. Others use it too. So v grows with the
batch, the speedup falls, and somewhere it falls to 1: the break-even batch. Plain decoding, decoding with drafts, and
every forward of both take turns in each round, so that what a round predicts from its costs and what it measures were
seen on the same machine, a moment apart.
"""

from __future__ import annotations

import functools
import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from minispec.engine.backends.formats import ITEM_BYTES
from minispec.engine.generation.api import generate
from minispec.engine.generation.ready import make_ready
from minispec.engine.model import GPT2
from minispec.engine.model.cache import PAGE_SIZE
from minispec.errors import InvariantError, OptionError
from minispec.lab.bench.costs import ALTERNATIONS, PLAIN, check_alike
from minispec.lab.bench.together import (
    Clock,
    Decoded,
    Watch,
    batch_forwards,
    behind,
    decode_together,
    open_engine,
)
from minispec.lab.measure.record import Totals
from minispec.lab.prompts import Prompt
from minispec.lab.roofline.forwards import model_storage
from minispec.lab.roofline.machine import Machine
from minispec.lab.roofline.predict import over_batches
from minispec.lab.roofline.shapes import Shape
from minispec.lab.timer import Timer, after_warming, interleave, ratios, spread
from minispec.theory import speedup, tau


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """How much is measured.

    Attributes
    ----------
    batches : tuple of int
        Texts decoded together.
    context : int
        Cached tokens of every text in the timed forwards, and in the middle of the timed runs.
    num_tokens : int
        Of every text; more than the first and what the longest step emits.
    gammas : tuple of int
        Lengths of drafts to search.
    repeats : int
        Rounds, at least :data:`~.costs.ALTERNATIONS`.
    """

    batches: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64)
    context: int = 256
    num_tokens: int = 64
    gammas: tuple[int, ...] = (1, 2, 4, 6)
    repeats: int = 7

    def __post_init__(self) -> None:
        if self.repeats < ALTERNATIONS:
            raise OptionError(f"repeats is {self.repeats}; a median needs at least {ALTERNATIONS} rounds. Try 5")
        if not self.gammas or min(self.gammas) < 1:
            raise OptionError(f"gammas are {list(self.gammas)}; a draft has at least one token. Try --gammas 1,2,4")
        if not self.batches or min(self.batches) < 1:
            raise OptionError(f"batches are {list(self.batches)}; a batch has at least one text. Try --batch 1,2,4")
        least = max(self.gammas) + 3
        if self.num_tokens < least:
            raise OptionError(
                f"max-tokens is {self.num_tokens}; after the first token and a step of up to {least - 2} tokens "
                f"something must be left to be timed. Try --max-tokens {4 * least}"
            )

    @property
    def rows(self) -> tuple[int, ...]:
        """Rows of each text in the forwards that are timed."""
        return (1, *(gamma + 1 for gamma in self.gammas))

    @property
    def prompt_tokens(self) -> int:
        """Tokens of every prompt: half of the text is generated before the cache holds ``context`` of them."""
        return max(0, self.context - self.num_tokens // 2) + 1

    @property
    def longest(self) -> int:
        """Positions that are needed."""
        return max(self.context + max(self.gammas) + 1, self.prompt_tokens + self.num_tokens)


QUICK_BATCHES = BatchPlan((1, 2), 32, 12, (1, 3), ALTERNATIONS)


@dataclass(frozen=True, slots=True)
class BatchForward:
    """One target forward over B texts with r rows each.

    Attributes
    ----------
    batch, rows : int
        B and r.
    seconds : float
        Median.
    spread : tuple of float
        Smallest and largest.
    cost : float
        v(B, r): median over the rounds of this time / that of B = 1, r = 1.
    step_cost : float
        The same with one row of the same B for a denominator: what verification costs a batch.
    paged_ratio : float or None
        Of r = 1: median over the rounds of this time / that with contiguous texts.
    """

    batch: int
    rows: int
    seconds: float
    spread: tuple[float, float]
    cost: float
    step_cost: float
    paged_ratio: float | None


@dataclass(frozen=True, slots=True)
class BatchDraft:
    """Draft forwards over B texts.

    Attributes
    ----------
    batch : int
        B.
    first_s, catch_up_s : float
        Median seconds over one row, and over two rows of each text, behind a forward of the target, which evicts the
        draft's weights from the processor's caches.
    next_s : float
        Over one row of each, behind another draft forward.
    """

    batch: int
    first_s: float
    catch_up_s: float
    next_s: float

    def drafting_s(self, gamma: int, alpha: float) -> float:
        """Return what a step's drafts take if each is accepted with probability ``alpha``.

        Where the step before was accepted whole, the draft's cache lacks two tokens, and its first forward feeds both.
        """
        whole = alpha**gamma
        return self.first_s + whole * (self.catch_up_s - self.first_s) + (gamma - 1) * self.next_s


@dataclass(frozen=True, slots=True)
class Goodput:
    """A batch decoded plainly and speculatively, in turns.

    Attributes
    ----------
    batch : int
    gamma : int
        The best fixed one of those searched, in runs of their own.
    searched : mapping of int to float
        Tokens per second of the search, by gamma.
    plain, speculative : float
        Median tokens per second, all texts together, prefill left out.
    speedup : float
        Median over the rounds of speculative / plain.
    spread : tuple of float
        Smallest and largest.
    tau : float
        Tokens per text and step while the speculative runs were timed.
    alpha : float or None
        Accepted / evaluated over all measured speculative runs; None if nothing was evaluated.
    plain_overhead_s, speculative_overhead_s : float
        Median seconds per emitted token outside all forwards.
    num_evaluated, num_accepted : int
        What alpha is the ratio of.
    differing : tuple of int
        Texts that are not what they are alone, in any of the measured runs.
    """

    batch: int
    gamma: int
    searched: Mapping[int, float]
    plain: float
    speculative: float
    speedup: float
    spread: tuple[float, float]
    tau: float
    alpha: float | None
    plain_overhead_s: float
    speculative_overhead_s: float
    num_evaluated: int
    num_accepted: int
    differing: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Forecast:
    """The speedup that theory gives a batch at the measured acceptance, each with the best gamma for it.

    Attributes
    ----------
    batch : int
    from_costs : float
        tau / (d + v + o), all in plain steps of this batch: drafting, verification, and the engine's own work; o per
        token is that of the measured gamma.
    from_roofline : float
        From the machine's bandwidth and peak.
    """

    batch: int
    from_costs: float
    from_roofline: float


@dataclass(frozen=True, slots=True)
class PageUse:
    """How much of the memory for keys and values holds any, over the steps of a plain run of texts of mixed lengths.

    Attributes
    ----------
    page_size : int
        Slots per page.
    num_steps : int
    held, used : float
        Slots taken, and slots filled, means over the steps.
    worst : float
        Largest share of the slots taken that was empty.
    """

    page_size: int
    num_steps: int
    held: float
    used: float
    worst: float

    @property
    def waste(self) -> float:
        """Share of the slots taken that is empty."""
        return 1.0 - self.used / self.held


@dataclass(frozen=True, slots=True)
class BreakEven:
    """The batch at which the speedup falls to 1.

    Attributes
    ----------
    side : {"inside", "above", "below"}
        Whether that is in the range, or speculation still pays at its end, or never does in it.
    batch : float
        The batch; where it is outside, that end of the range.
    """

    side: Literal["inside", "above", "below"]
    batch: float

    def __str__(self) -> str:
        return f"{self.batch:.1f}" if self.side == "inside" else f"{self.side} {self.batch:g}"


def find_break_even(batches: Sequence[int], speedups: Sequence[float]) -> BreakEven:
    """Return the batch behind which no speedup of the range is 1 or more, linear in log B between two batches.

    Examples
    --------
    >>> str(find_break_even([1, 2, 8], [2.0, 1.5, 0.5])), str(find_break_even([1, 2], [2.0, 1.5]))
    ('4.0', 'above 2')
    """
    paying = [i for i, ratio in enumerate(speedups) if ratio >= 1.0]
    if not paying:
        return BreakEven("below", float(batches[0]))
    i = paying[-1]
    if i == len(batches) - 1:
        return BreakEven("above", float(batches[-1]))
    share = (speedups[i] - 1.0) / (speedups[i] - speedups[i + 1])
    return BreakEven("inside", math.exp((1 - share) * math.log(batches[i]) + share * math.log(batches[i + 1])))


@dataclass(frozen=True, slots=True)
class BatchBenchmark:
    """All of it; one entry per batch, of the target's forwards one per batch and number of rows."""

    forwards: tuple[BatchForward, ...]
    drafts: tuple[BatchDraft, ...]
    goodput: tuple[Goodput, ...]
    forecasts: tuple[Forecast, ...]
    pages: tuple[PageUse, ...]
    alpha: float

    @property
    def batches(self) -> list[int]:
        """Every B."""
        return [each.batch for each in self.goodput]

    @property
    def break_even(self) -> dict[str, BreakEven]:
        """Where the speedup falls to 1: measured, from measured costs, from the roofline."""
        speedups = {
            "measured": [each.speedup for each in self.goodput],
            "from_costs": [each.from_costs for each in self.forecasts],
            "from_roofline": [each.from_roofline for each in self.forecasts],
        }
        return {name: find_break_even(self.batches, values) for name, values in speedups.items()}

    @property
    def differing(self) -> tuple[Goodput, ...]:
        """Return the batches in which a text was not what it is alone."""
        return tuple(each for each in self.goodput if each.differing)


ALONE = "alone"
_DRAFT_FORWARDS = "first", "catch up", "next"
SEARCH_ROUNDS = 3
"""Runs with each length of drafts before the best one is measured."""


def forward_timers(target: GPT2, draft: GPT2, plan: BatchPlan, *, clock: Clock) -> dict[int, dict[str, Timer]]:
    """Return a timer of every forward that a batch is judged by, by its name, per batch.

    "row 1" is one row of each text, and so on, "alone" one row of a single text, "contiguous" one row of each where
    texts lie in one piece; "first", "catch up" and "next" are the draft's, see :class:`BatchDraft`.
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

    return {batch: {name: after_warming(once) for name, once in forwards(batch).items()} for batch in plan.batches}


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
        plain, speculative = ([each.tokens_per_s for each in way] for way in (self.plain, self.speculative))
        return ratios(speculative, plain)

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
        return ratios(self.seconds[name], self.seconds[other])


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
    for gamma in (PLAIN, plan.gammas[0]):
        run(gamma)  # the first run of each kind finds cold caches
    search = interleave({gamma: functools.partial(run, gamma) for gamma in plan.gammas}, SEARCH_ROUNDS)
    searched = {gamma: statistics.median(each.tokens_per_s for each in made) for gamma, made in search.items()}
    best = max(searched, key=searched.__getitem__)
    ways: dict[str, Callable[[], Any]] = {"plain": lambda: run(PLAIN), "speculative": lambda: run(best), **forwards}
    found = interleave(ways, plan.repeats)
    return Rounds(batch, best, searched, {name: found[name] for name in forwards}, found["plain"], found["speculative"])


def make_prompts(target: GPT2, prompts: Sequence[Prompt], count: int, num_tokens: int) -> list[list[int]]:
    """Return ``count`` prompts of exactly ``num_tokens`` tokens that end as the given ones do.

    Before its end, each has others of them, in an order of its own, so that texts differ.
    """
    if target.tokenizer is None:
        raise InvariantError(f"{target.name} has no tokenizer")
    parts = [part for part in (target.tokenizer.encode_prompt(prompt.text) for prompt in prompts) if part]
    made = []
    for i in range(count):
        stride, at, tokens = 1 + i // len(parts), i, list[int]()
        while len(tokens) < num_tokens:
            tokens = [*parts[at % len(parts)], *tokens]
            at += stride
        made.append(tokens[-num_tokens:])
    return made


def run_batches(
    target: GPT2,
    draft: GPT2,
    machine: Machine,
    prompts: Sequence[Prompt],
    plan: BatchPlan,
    *,
    progress: Callable[[str], None] = lambda what: None,
    clock: Clock = time.perf_counter,
) -> BatchBenchmark:
    """Measure forwards, goodput and pages over batches, and predict the speedup from machine, acceptance and costs.

    Parameters
    ----------
    target, draft : GPT2
    machine : Machine
        This one, as measured.
    prompts : sequence of Prompt
        What the texts go on from.
    plan : BatchPlan
    progress : callable
        Told what is measured next.
    clock : callable
        Seconds.

    Raises
    ------
    OptionError
        If the pair or the plan does not allow a like-for-like comparison.
    """
    check_alike(target, draft)
    check_batch_room(target, draft, plan)
    make_ready([target, draft])
    most = max(plan.batches)
    texts = make_prompts(target, prompts, most, plan.prompt_tokens)
    progress(f"{most} texts, each alone")
    endless = Watch(clock).over(target)
    alone = [
        generate(text, target=endless, draft=None, temperature=0.0, max_tokens=plan.num_tokens).token_ids
        for text in texts
    ]
    rounds = time_batches(target, draft, texts, plan, progress=progress, clock=clock)
    progress("pages")
    pages = [measure_pages(target, texts, plan.num_tokens, size) for size in (PAGE_SIZE, target.n_positions)]
    goodput = [compare(each, alone) for each in rounds]
    evaluated = sum(each.num_evaluated for each in goodput)
    alpha = sum(each.num_accepted for each in goodput) / max(1, evaluated)
    roofline = predict(target, draft, machine, plan, alpha)
    return BatchBenchmark(
        forwards=tuple(forward for each in rounds for forward in describe_forwards(each, plan)),
        drafts=tuple(each.typical_draft for each in rounds),
        goodput=tuple(goodput),
        forecasts=tuple(Forecast(each.batch, forecast(each, plan, alpha), roofline[each.batch]) for each in rounds),
        pages=tuple(pages),
        alpha=alpha,
    )


def check_batch_room(target: GPT2, draft: GPT2, plan: BatchPlan) -> None:
    """Refuse what does not fit the models, before anything is measured.

    Raises
    ------
    OptionError
        If a model has too few positions for a text.
    """
    model = min(target, draft, key=lambda each: each.n_positions)
    if plan.longest <= model.n_positions:
        return
    room, most = model.n_positions - plan.num_tokens, max(plan.gammas)
    way_out = f"--context {room}" if room > 0 else f"--context 0 --max-tokens {model.n_positions - 1}"
    if model.n_positions - 1 < most + 3:  # see BatchPlan
        way_out += f" --gammas {model.n_positions - 4}"
    raise OptionError(
        f"context is {plan.context} and needs {plan.longest} positions with {plan.num_tokens} tokens and "
        f"drafts of {most}; {model.name} has {model.n_positions}. Try {way_out}"
    )


def time_batches(
    target: GPT2,
    draft: GPT2,
    texts: Sequence[Sequence[int]],
    plan: BatchPlan,
    *,
    progress: Callable[[str], None],
    clock: Clock,
) -> list[Rounds]:
    """Time every batch of a plan: so many of the texts, decoded together."""
    progress("contexts")
    timers = forward_timers(target, draft, plan, clock=clock)
    rounds = []
    for batch in plan.batches:
        progress(f"{batch} text{'s' if batch > 1 else ''}")

        def run(gamma: int, batch: int = batch) -> Decoded:
            return decode_together(target, draft, texts[:batch], gamma, plan.num_tokens, clock=clock)

        rounds.append(time_batch(batch, run, timers[batch], plan))
    return rounds


def describe_forwards(rounds: Rounds, plan: BatchPlan) -> list[BatchForward]:
    """Return the target's forwards over each number of rows."""
    one = row_name(1)
    unit = one if rounds.batch == 1 else ALONE
    return [
        BatchForward(
            batch=rounds.batch,
            rows=count,
            seconds=statistics.median(rounds.seconds[row_name(count)]),
            spread=spread(rounds.seconds[row_name(count)]),
            cost=statistics.median(rounds.ratios(row_name(count), unit)),
            step_cost=statistics.median(rounds.ratios(row_name(count), one)),
            paged_ratio=statistics.median(rounds.ratios(one, "contiguous")) if count == 1 else None,
        )
        for count in plan.rows
    ]


def compare(rounds: Rounds, alone: Sequence[Sequence[int]]) -> Goodput:
    """Compare a batch's plain decoding with the best length of drafts.

    Parameters
    ----------
    rounds : Rounds
    alone : sequence of sequence of int
        The texts as they are when each is decoded alone and plainly.
    """
    totals = Totals.of(generation.metrics for decoded in rounds.speculative for generation in decoded.generations)
    return Goodput(
        batch=rounds.batch,
        gamma=rounds.gamma,
        searched=rounds.searched,
        plain=statistics.median(each.tokens_per_s for each in rounds.plain),
        speculative=statistics.median(each.tokens_per_s for each in rounds.speculative),
        speedup=statistics.median(rounds.speedups),
        spread=spread(rounds.speedups),
        tau=sum(each.num_tokens for each in rounds.speculative) / sum(each.num_steps for each in rounds.speculative),
        alpha=totals.alpha,
        plain_overhead_s=statistics.median(each.overhead_s for each in rounds.plain),
        speculative_overhead_s=statistics.median(each.overhead_s for each in rounds.speculative),
        num_evaluated=totals.num_evaluated_tokens,
        num_accepted=totals.num_accepted_tokens,
        differing=tuple(
            i
            for i, text in enumerate(alone[: rounds.batch])
            if any(tuple(text) != each.generations[i].token_ids for each in (*rounds.plain, *rounds.speculative))
        ),
    )


def forecast(rounds: Rounds, plan: BatchPlan, alpha: float) -> float:
    """Predict the best speedup of a batch from its forwards and the engine's own work.

    Each round predicts from its own figures, in units of its plain step: a forward, and what the engine does for a
    token of each text. The median of that is compared with the median of what the rounds measured.
    """
    one = rounds.seconds[row_name(1)]
    units = [row + rounds.batch * each.overhead_s for row, each in zip(one, rounds.plain, strict=True)]

    def predict_rounds(gamma: int) -> list[float]:
        tokens = tau(alpha, gamma)
        parts = zip(units, rounds.drafts, rounds.seconds[row_name(gamma + 1)], rounds.speculative, strict=True)
        return [
            speedup(
                tokens,
                gamma,
                draft.drafting_s(gamma, alpha) / gamma / unit,
                verify / unit,
                rounds.batch * tokens * each.overhead_s / unit,
            )
            for unit, draft, verify, each in parts
        ]

    return max(statistics.median(predict_rounds(gamma)) for gamma in plan.gammas)


def predict(target: GPT2, draft: GPT2, machine: Machine, plan: BatchPlan, alpha: float) -> dict[int, float]:
    """Predict the best speedup of every batch from the machine's two ceilings alone."""
    shapes = [Shape.from_config(model.config, model.name) for model in (target, draft)]
    best: dict[int, float] = dict.fromkeys(plan.batches, 0.0)
    for gamma in plan.gammas:
        points = over_batches(
            shapes[0],
            machine,
            plan.batches,
            context=plan.context,
            storage=model_storage(target),
            kv_bytes=ITEM_BYTES[target.kv_dtype],
            gamma=gamma,
            alpha=alpha,
            draft=shapes[1],
            draft_storage=model_storage(draft),
        )
        for point in points:
            best[point.batch] = max(best[point.batch], point.speedup or 0.0)
    return best


def measure_pages(target: GPT2, texts: Sequence[Sequence[int]], num_tokens: int, page_size: int) -> PageUse:
    """Decode the ends of texts, of lengths spread evenly up to the whole, and look at the slots after every step."""
    count = len(texts)
    prompts = [text[-max(1, len(text) * (i + 1) // count) :] for i, text in enumerate(texts)]
    endless = Watch(time.perf_counter).over(target)
    engine = open_engine(endless, prompts, page_size, None, max_tokens=num_tokens)
    slots = []
    while not engine.is_idle:
        engine.step()
        if engine.occupancy.num_held:
            slots.append((engine.occupancy.num_held, engine.occupancy.num_used))
    return PageUse(
        page_size=page_size,
        num_steps=len(slots),
        held=statistics.fmean(held for held, _ in slots),
        used=statistics.fmean(used for _, used in slots),
        worst=max(1.0 - used / held for held, used in slots),
    )
