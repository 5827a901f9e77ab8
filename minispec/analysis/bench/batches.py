"""What ``minispec bench --batch`` measures: speculation beside the number of texts that are decoded together.

Alone, a text leaves arithmetic idle that verification can use for nothing. Others use it too. So v grows with the
batch, the speedup falls, and somewhere it falls to 1: the break-even batch.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence

from minispec.analysis.bench.batch_figures import (
    BatchBenchmark,
    BatchDraft,
    BatchForward,
    BatchPlan,
    Forecast,
    Goodput,
    PageUse,
)
from minispec.analysis.bench.costs import check_alike
from minispec.analysis.bench.speculation import PLAIN
from minispec.analysis.bench.together import (
    Clock,
    Decoded,
    Watch,
    batch_forwards,
    behind,
    decode_together,
    open_engine,
    repeat,
)
from minispec.analysis.prompts import Prompt
from minispec.analysis.roofline.batch import over_batches
from minispec.analysis.roofline.machine import Machine
from minispec.analysis.roofline.prediction import model_storage
from minispec.analysis.roofline.shapes import Shape
from minispec.analysis.timer import interleave
from minispec.backends.formats import ITEM_BYTES
from minispec.errors import InvariantError, OptionError
from minispec.generation.api import generate
from minispec.generation.ready import make_ready
from minispec.model import GPT2
from minispec.model.pages import PAGE_SIZE
from minispec.theory import speedup, tau


def make_prompts(target: GPT2, prompts: Sequence[Prompt], count: int, num_tokens: int) -> list[list[int]]:
    """Return ``count`` prompts of exactly ``num_tokens`` tokens that end as the given ones do.

    Before its end, each has others of them, in an order of its own, so that texts differ.
    """
    if target.tokenizer is None:
        raise InvariantError(f"{target.name} has no tokenizer")
    parts = [part for part in (target.tokenizer.encode(prompt.text) for prompt in prompts) if part]
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
    progress("forwards")
    forwards, drafts = measure_batches(target, draft, plan, clock=clock)
    most = max(plan.batches)
    texts = make_prompts(target, prompts, most, plan.prompt_tokens)
    progress(f"{most} texts, each alone")
    endless = Watch(clock).over(target)
    alone = [
        generate(text, target=endless, draft=None, temperature=0.0, max_tokens=plan.num_tokens).token_ids
        for text in texts
    ]
    goodput = []
    for batch in plan.batches:
        progress(f"goodput of {batch} text{'s' if batch > 1 else ''}")

        def run(gamma: int, batch: int = batch) -> Decoded:
            return decode_together(target, draft, texts[:batch], gamma, plan.num_tokens, clock=clock)

        goodput.append(compare_batch(run, alone[:batch], plan))
    progress("pages")
    pages = [measure_pages(target, texts, plan.num_tokens, size) for size in (PAGE_SIZE, target.n_positions)]
    evaluated = sum(each.num_evaluated for each in goodput)
    alpha = sum(each.num_accepted for each in goodput) / max(1, evaluated)
    forecasts = forecast(target, draft, machine, plan, alpha, forwards, drafts, goodput)
    return BatchBenchmark(tuple(forwards), tuple(drafts), tuple(goodput), tuple(forecasts), tuple(pages), alpha)


def measure_batches(
    target: GPT2, draft: GPT2, plan: BatchPlan, *, clock: Clock = time.perf_counter
) -> tuple[list[BatchForward], list[BatchDraft]]:
    """Time every forward in turns: the target's over each number of rows, contiguous ones, and the draft's."""
    rows = (1, *(gamma + 1 for gamma in plan.gammas))
    batches = sorted({1, *plan.batches})
    ones = [(batch, 1) for batch in batches]
    every = [(batch, count) for batch in batches for count in rows]
    catching_up = [(batch, count) for batch in batches for count in (1, 2)]
    paged = batch_forwards(target, every, plan.context, clock=clock)
    drafting = batch_forwards(draft, catching_up, plan.context, clock=clock)
    kinds = {
        "paged": paged,
        "contiguous": batch_forwards(target, ones, plan.context, page_size=target.n_positions, clock=clock),
        "first": {(b, r): behind(drafting[b, r], paged[b, 1]) for b, r in catching_up},
        "next": {cell: drafting[cell] for cell in ones},
    }
    timers = {f"{kind} {b} {r}": repeat(once) for kind, cells in kinds.items() for (b, r), once in cells.items()}
    figures = interleave(timers, plan.repeats)

    def ratio(a: str, b: str) -> float:
        return statistics.median(x / y for x, y in zip(figures[a], figures[b], strict=True))

    forwards = [
        BatchForward(
            batch=b,
            rows=r,
            seconds=statistics.median(figures[f"paged {b} {r}"]),
            spread=(min(figures[f"paged {b} {r}"]), max(figures[f"paged {b} {r}"])),
            cost=ratio(f"paged {b} {r}", "paged 1 1"),
            step_cost=ratio(f"paged {b} {r}", f"paged {b} 1"),
            paged_ratio=ratio(f"paged {b} 1", f"contiguous {b} 1") if r == 1 else None,
        )
        for b in plan.batches
        for r in rows
    ]
    drafts = [
        BatchDraft(b, *(statistics.median(figures[name]) for name in (f"first {b} 1", f"first {b} 2", f"next {b} 1")))
        for b in plan.batches
    ]
    return forwards, drafts


def compare_batch(run: Callable[[int], Decoded], alone: Sequence[Sequence[int]], plan: BatchPlan) -> Goodput:
    """Search the best gamma of a batch, then measure it against plain decoding, taking turns.

    Parameters
    ----------
    run : callable
        Decodes the batch with a gamma.
    alone : sequence of sequence of int
        The texts as they are when each is decoded alone and plainly.
    plan : BatchPlan
    """
    made: dict[int, list[Decoded]] = {}

    def timer(gamma: int) -> Callable[[], float]:
        def once() -> float:
            made.setdefault(gamma, []).append(run(gamma))
            return made[gamma][-1].tokens_per_s

        return once

    for gamma in (PLAIN, plan.gammas[0]):
        run(gamma)  # the first run of each kind finds cold caches
    speeds = interleave({str(gamma): timer(gamma) for gamma in plan.gammas}, 1)
    searched = {gamma: speeds[str(gamma)][0] for gamma in plan.gammas}
    best = max(searched, key=searched.__getitem__)
    made.clear()
    speeds = interleave({"plain": timer(PLAIN), "speculative": timer(best)}, plan.repeats)
    ratios = [a / b for a, b in zip(speeds["speculative"], speeds["plain"], strict=True)]
    metrics = [generation.metrics for decoded in made[best] for generation in decoded.generations]
    evaluated = sum(each.num_evaluated_tokens for each in metrics)
    accepted = sum(each.num_accepted_tokens for each in metrics)
    runs = made[PLAIN] + made[best]
    return Goodput(
        batch=len(alone),
        gamma=best,
        searched=searched,
        plain=statistics.median(speeds["plain"]),
        speculative=statistics.median(speeds["speculative"]),
        speedup=statistics.median(ratios),
        spread=(min(ratios), max(ratios)),
        tau=sum(each.num_tokens for each in made[best]) / sum(each.num_steps for each in made[best]),
        alpha=accepted / evaluated if evaluated else None,
        plain_overhead_s=statistics.median(decoded.overhead_s for decoded in made[PLAIN]),
        speculative_overhead_s=statistics.median(decoded.overhead_s for decoded in made[best]),
        num_evaluated=evaluated,
        num_accepted=accepted,
        differing=tuple(
            i for i, text in enumerate(alone) if any(tuple(text) != each.generations[i].token_ids for each in runs)
        ),
    )


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


def forecast(
    target: GPT2,
    draft: GPT2,
    machine: Machine,
    plan: BatchPlan,
    alpha: float,
    forwards: Sequence[BatchForward],
    drafts: Sequence[BatchDraft],
    goodput: Sequence[Goodput],
) -> list[Forecast]:
    """Predict the speedup of every batch: from its measured costs, and from the machine's two ceilings alone."""
    measured = {(each.batch, each.rows): each for each in forwards}
    shapes = [Shape.from_config(model.config, model.name) for model in (target, draft)]
    roofline: dict[int, list[float]] = {batch: [] for batch in plan.batches}
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
            roofline[point.batch].append(point.speedup or 0.0)

    own = {each.batch: each for each in goodput}
    drafting = {each.batch: each for each in drafts}

    def from_costs(batch: int) -> float:
        """In units of a plain step: its forward, and what the engine does for a token of each text."""
        row = measured[batch, 1].seconds
        unit = row + batch * own[batch].plain_overhead_s

        def predict(gamma: int) -> float:
            tokens = tau(alpha, gamma)
            overhead = batch * tokens * own[batch].speculative_overhead_s
            verify = row * measured[batch, gamma + 1].step_cost
            per_draft = drafting[batch].drafting_s(gamma, alpha) / gamma
            return speedup(tokens, gamma, per_draft / unit, verify / unit, overhead / unit)

        return max(map(predict, plan.gammas))

    return [Forecast(batch, from_costs(batch), max(roofline[batch])) for batch in plan.batches]
