"""What ``minispec bench --batch`` measures: speculation beside the number of texts that are decoded together.

Alone, a text leaves arithmetic idle that verification can use for nothing. Others use it too. So v grows with the
batch, the speedup falls, and somewhere it falls to 1: the break-even batch.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence

from minispec.engine.backends.formats import ITEM_BYTES
from minispec.engine.generation.api import generate
from minispec.engine.generation.ready import make_ready
from minispec.engine.model import GPT2
from minispec.engine.model.pages import PAGE_SIZE
from minispec.errors import InvariantError, OptionError
from minispec.lab.bench.batch_figures import (
    BatchBenchmark,
    BatchForward,
    BatchPlan,
    Forecast,
    Goodput,
    PageUse,
)
from minispec.lab.bench.batch_rounds import ALONE, Rounds, forward_timers, row_name, time_batch
from minispec.lab.bench.costs import check_alike
from minispec.lab.bench.together import Clock, Decoded, Watch, decode_together, open_engine
from minispec.lab.prompts import Prompt
from minispec.lab.roofline.batch import over_batches
from minispec.lab.roofline.machine import Machine
from minispec.lab.roofline.prediction import model_storage
from minispec.lab.roofline.shapes import Shape
from minispec.theory import speedup, tau


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
    for model in (target, draft):
        if plan.longest > model.n_positions:
            room = model.n_positions - max(max(plan.gammas) + 1, plan.num_tokens)
            raise OptionError(
                f"context is {plan.context} and needs {plan.longest} positions with {plan.num_tokens} tokens and "
                f"drafts of {max(plan.gammas)}; {model.name} has {model.n_positions}. Try --context {max(0, room)}"
                + (" and fewer --max-tokens" if room < 0 else "")
            )
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
            spread=(min(rounds.seconds[row_name(count)]), max(rounds.seconds[row_name(count)])),
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
    metrics = [generation.metrics for decoded in rounds.speculative for generation in decoded.generations]
    evaluated = sum(each.num_evaluated_tokens for each in metrics)
    accepted = sum(each.num_accepted_tokens for each in metrics)
    return Goodput(
        batch=rounds.batch,
        gamma=rounds.gamma,
        searched=rounds.searched,
        plain=statistics.median(each.tokens_per_s for each in rounds.plain),
        speculative=statistics.median(each.tokens_per_s for each in rounds.speculative),
        speedup=statistics.median(rounds.speedups),
        spread=(min(rounds.speedups), max(rounds.speedups)),
        tau=sum(each.num_tokens for each in rounds.speculative) / sum(each.num_steps for each in rounds.speculative),
        alpha=accepted / evaluated if evaluated else None,
        plain_overhead_s=statistics.median(each.overhead_s for each in rounds.plain),
        speculative_overhead_s=statistics.median(each.overhead_s for each in rounds.speculative),
        num_evaluated=evaluated,
        num_accepted=accepted,
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
