"""What ``minispec bench`` measures: every cost of the theory on this machine, and what speculation gains by domain."""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from minispec.engine.drafters import ModelDrafter
from minispec.engine.drafters.base import allow_all
from minispec.engine.generation.api import generate
from minispec.engine.generation.result import Generation
from minispec.engine.model import GPT2
from minispec.engine.model.asks import answer
from minispec.engine.model.session import PREFILL_CHUNK
from minispec.engine.noise import Address, Coins
from minispec.engine.noise.philox import PhiloxNoise
from minispec.engine.records import Draft
from minispec.engine.sampling import Sampler, SamplingParams
from minispec.errors import InvariantError, OptionError
from minispec.lab.measure.record import Totals
from minispec.lab.prompts import Prompt
from minispec.lab.roofline.counts import total
from minispec.lab.roofline.forwards import (
    PROBE,
    Measured,
    count_model,
    fit_positions,
    forward_timers,
    measure_forwards,
)
from minispec.lab.roofline.machine import Machine
from minispec.lab.roofline.predict import predict
from minispec.lab.timer import after_warming, interleave, ratios, spread

PLAIN = 0
"""The gamma of plain decoding."""

SEARCH_SEED = 10_000
"""Seeds of the search for gamma; those of the measurement begin at 0, so that the choice is not judged by its luck."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One way to draw tokens."""

    temperature: float
    top_p: float = 1.0


SETTINGS = (Setting(0.0), Setting(1.0, 0.95))


@dataclass(frozen=True, slots=True)
class Speculation:
    """Plain and speculative decoding of one domain under one setting.

    Attributes
    ----------
    domain : str
    setting : Setting
    num_prompts, num_tokens : int
        Prompts, and tokens of each.
    gamma : int
        The best fixed one of those searched, on other seeds than those measured.
    searched_s : mapping of int to float
        Seconds per token of the search, by gamma.
    plain_s, speculative_s : float
        Median seconds per token, prefill and the first token, which it gives, left out.
    speedup : float
        Median over the rounds of plain / speculative.
    spread : tuple of float
        Smallest and largest.
    tau, alpha : float or None
        Tokens per target forward, and accepted / evaluated, over all measured speculative runs.
    same_tokens : bool or None
        At temperature 0: whether every speculative text was the plain text, token by token. None elsewhere.
    """

    domain: str
    setting: Setting
    num_prompts: int
    num_tokens: int
    gamma: int
    searched_s: Mapping[int, float]
    plain_s: float
    speculative_s: float
    speedup: float
    spread: tuple[float, float]
    tau: float | None
    alpha: float | None
    same_tokens: bool | None


Run = Callable[[str, int, int], Generation]
"""Decodes a prompt with a gamma and a seed."""


def runner(target: GPT2, draft: GPT2, setting: Setting, num_tokens: int) -> Run:
    """Return what decodes a prompt to exactly ``num_tokens`` tokens: the end of the text is forbidden before."""

    def run(prompt: str, gamma: int, seed: int) -> Generation:
        return generate(
            prompt,
            target=target,
            draft=None if gamma == PLAIN else draft,
            gamma=max(1, gamma),
            seed=seed,
            temperature=setting.temperature,
            top_p=setting.top_p,
            max_tokens=num_tokens,
            min_tokens=num_tokens,
        )

    return run


def compare_domain(
    domain: str,
    prompts: Sequence[str],
    run: Run,
    setting: Setting,
    *,
    num_tokens: int,
    gammas: Sequence[int],
    repeats: int,
) -> Speculation:
    """Search the best gamma, then measure it against plain decoding in ``repeats`` rounds, taking turns.

    Parameters
    ----------
    domain : str
    prompts : sequence of str
        Each round decodes all of them; a round has one seed, the same for both.
    run : Run
    setting : Setting
    num_tokens : int
        What every run must emit.
    gammas : sequence of int
    repeats : int

    Raises
    ------
    InvariantError
        If a run emits another number of tokens: then the two are not alike, and no ratio is given.
    """

    def decode(gamma: int, first_seed: int) -> Callable[[], list[Generation]]:
        seeds = itertools.count(first_seed)

        def once() -> list[Generation]:
            seed = next(seeds)
            return [check_length(run(prompt, gamma, seed), gamma, num_tokens) for prompt in prompts]

        return once

    def per_token(made: Sequence[Generation]) -> float:
        return sum(generation.metrics.decode_s for generation in made) / (len(prompts) * (num_tokens - 1))

    for gamma in (PLAIN, *gammas[:1]):
        decode(gamma, SEARCH_SEED - 1)()  # the first run of each kind finds cold caches
    search = interleave({gamma: decode(gamma, SEARCH_SEED) for gamma in gammas}, 1)
    searched = {gamma: per_token(made) for gamma, (made,) in search.items()}
    best = min(searched, key=searched.__getitem__)
    plain, speculative = interleave({PLAIN: decode(PLAIN, 0), best: decode(best, 0)}, repeats).values()
    slow, fast = ([per_token(made) for made in rounds] for rounds in (plain, speculative))
    speedups = ratios(slow, fast)
    totals = Totals.of(generation.metrics for made in speculative for generation in made)
    return Speculation(
        domain=domain,
        setting=setting,
        num_prompts=len(prompts),
        num_tokens=num_tokens,
        gamma=best,
        searched_s=searched,
        plain_s=statistics.median(slow),
        speculative_s=statistics.median(fast),
        speedup=statistics.median(speedups),
        spread=spread(speedups),
        tau=totals.tau,
        alpha=totals.alpha,
        same_tokens=_texts(plain) == _texts(speculative) if setting.temperature == 0.0 else None,
    )


def _texts(rounds: Sequence[Sequence[Generation]]) -> list[list[tuple[int, ...]]]:
    return [[generation.token_ids for generation in made] for made in rounds]


def check_length(made: Generation, gamma: int, num_tokens: int) -> Generation:
    """Return a run that has as many tokens as all others.

    Raises
    ------
    InvariantError
        If it has another number: then it and they are not alike.
    """
    if made.metrics.num_tokens != num_tokens:
        raise InvariantError(
            f"gamma {gamma} emitted {made.metrics.num_tokens} tokens of {num_tokens} ({made.finish_reason}); runs of "
            "different lengths are not compared"
        )
    return made


ALTERNATIONS = 5
"""Fewest rounds a comparison is drawn from."""

_DRAFTED = 4  # tokens per proposal that is timed
_LEAST_TOKENS = 2  # per prompt: the first comes with the prefill, and is not timed


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured.

    Attributes
    ----------
    rows : tuple of int
        Of the verify curve, 1 among them.
    context, prompt_tokens : int
        Cached tokens of the forwards; tokens of the prefill.
    prompts, num_tokens : int
        Per domain, and per prompt.
    gammas : tuple of int
        Searched.
    repeats : int
        Rounds, at least :data:`ALTERNATIONS`.
    """

    rows: tuple[int, ...] = tuple(range(1, 10))
    context: int = 256
    prompt_tokens: int = 256
    prompts: int = 2
    num_tokens: int = 128
    gammas: tuple[int, ...] = (2, 3, 4, 5, 6, 8)
    repeats: int = 7

    def __post_init__(self) -> None:
        if self.repeats < ALTERNATIONS:
            raise OptionError(f"repeats is {self.repeats}; a median needs at least {ALTERNATIONS} rounds. Try 5")
        if not self.gammas or min(self.gammas) < 1:
            raise OptionError(f"gammas are {list(self.gammas)}; a draft has at least one token. Try --gammas 2,4,6")


QUICK = Plan((1, 2, 5), 32, 32, 1, 8, (2, 4), ALTERNATIONS)


@dataclass(frozen=True, slots=True)
class Cost:
    """Something timed.

    Attributes
    ----------
    name : str
    seconds : float
        Median.
    spread : tuple of float
        Smallest and largest.
    floor_s : float or None
        The least it can take here, where there is such a bound.
    """

    name: str
    seconds: float
    spread: tuple[float, float]
    floor_s: float | None = None


@dataclass(frozen=True, slots=True)
class Benchmark:
    """All of it."""

    forwards: tuple[Measured, ...]
    costs: tuple[Cost, ...]
    speculation: tuple[Speculation, ...]

    @property
    def differing(self) -> tuple[Speculation, ...]:
        """Return the greedy comparisons in which speculative text was not the plain text."""
        return tuple(run for run in self.speculation if run.same_tokens is False)


def check_alike(target: GPT2, draft: GPT2) -> None:
    """Refuse a pair whose comparison would not be like for like.

    Raises
    ------
    OptionError
        If greedy texts cannot be expected to agree: the target's backend is not batch-invariant.
    """
    if not target.batch_invariant:
        raise OptionError(
            f"backend {target.backend.name} computes a row differently beside others, so speculative and plain text "
            "may differ at temperature 0 and are not compared. Try --backend panel"
        )
    if target.tokenizer is None or draft.tokenizer is None:
        raise OptionError(f"{target.name} or {draft.name} has no tokenizer, and the prompts are texts. Name another")


def check_room(target: GPT2, draft: GPT2, prompts: Sequence[Prompt], plan: Plan) -> None:
    """Refuse what does not fit the models, before anything is measured.

    Raises
    ------
    OptionError
        If a model has too few positions for the context or for a text.
    """
    most = max(*plan.rows, _DRAFTED + 1)
    for model in sorted((target, draft), key=lambda each: each.n_positions):  # what fits the smaller one fits both
        if plan.context + most > model.n_positions:
            fitting, fewer = fit_positions(model.n_positions, plan.context, most)
            way_out = f"--context {fitting // 2}" if fewer == most else f"--rows {fewer} --context {fitting}"
            raise OptionError(
                f"context is {plan.context} and needs {plan.context + most} positions with {most} rows; {model.name} "
                f"has {model.n_positions}. Try {way_out}"
            )
    texts = [text for some in by_domain(prompts, plan.prompts).values() for text in some]
    longest = max((len(_encode(target, text)) for text in texts), default=0)
    room = target.n_positions - longest
    if plan.num_tokens > room:
        raise OptionError(
            f"the longest prompt has {longest} tokens, and {plan.num_tokens} tokens after it need "
            f"{longest + plan.num_tokens} positions; {target.name} has {target.n_positions}, so runs would end early "
            "and not be alike. " + (f"Try --max-tokens {room}" if room >= _LEAST_TOKENS else "Shorten that prompt")
        )


def cost_timers(
    target: GPT2, draft: GPT2, plan: Plan, clock: Callable[[], float] = time.perf_counter
) -> dict[str, Callable[[], float]]:
    """Return what times a prefill, the draft's forward, a drafted token, and the sampling of one token."""
    tokens = [(31 * i + 7) % target.vocab_size for i in range(max(plan.context, plan.prompt_tokens) + 1)]
    text = tokens[: plan.context + 1]  # the last one is pending
    noise, params = PhiloxNoise(0), SamplingParams(1.0, top_p=0.95)
    sampler = Sampler(params)
    drafter = ModelDrafter(draft.session(), sampler)
    answer(drafter.prefill(text[:-1]))
    prefilled, sampled = target.session(), target.session()
    sampled.prefill(text[:-1])
    logits = sampled.score(text[-1:])
    steps = iter(range(10**9))

    def make_timer(call: Callable[[], object], after: Callable[[], None] = lambda: None) -> Callable[[], float]:
        def once() -> float:
            started = clock()
            call()
            seconds = clock() - started
            after()
            return seconds

        return after_warming(once)

    def draw(sampling: Sampler, noise: PhiloxNoise = noise) -> Callable[[], object]:
        at = Address("sample", len(text))
        return lambda: noise.categorical(sampling(logits, text)[0], at=at)

    def draft_some() -> Draft:
        coins = Coins(noise, position=len(text), step=next(steps))
        return answer(drafter.propose(text, _DRAFTED, coins, allow_all))

    propose = make_timer(draft_some, lambda: drafter.rollback(len(text) - 1))
    return {
        "prefill": make_timer(lambda: prefilled.prefill(tokens[: plan.prompt_tokens]), lambda: prefilled.rollback(0)),
        "draft forward": forward_timers(draft, [1], plan.context, clock=clock)[1],
        "drafted token": lambda: propose() / _DRAFTED,
        "sampling, T=1 top-p 0.95": make_timer(draw(sampler)),
        "sampling, T=0": make_timer(draw(Sampler(SamplingParams(0.0)))),
    }


def measure_costs(
    target: GPT2,
    draft: GPT2,
    machine: Machine,
    plan: Plan,
    *,
    probe: Callable[[int], Callable[[], float]] | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> list[Cost]:
    """Time each cost, in turns with a read probe of the draft's footprint, and relate it to its floor."""
    if probe is None:
        from minispec.engine.backends.probe import ReadProbe  # imports Numba

        probe = ReadProbe
    draft_parts = count_model(draft, 1, plan.context)
    footprint = total(draft_parts).streamed_bytes
    figures = interleave(
        {PROBE: after_warming(probe(footprint)), **cost_timers(target, draft, plan, clock)}, plan.repeats
    )
    bandwidth = footprint / statistics.median(figures.pop(PROBE))
    floors = {
        "prefill": prefill_floor(target, machine, plan.prompt_tokens),
        "draft forward": predict(
            draft_parts, machine, draft.dtype, rows=1, context=plan.context, bandwidth=bandwidth
        ).seconds,
    }
    return [Cost(name, statistics.median(times), spread(times), floors.get(name)) for name, times in figures.items()]


def prefill_floor(model: GPT2, machine: Machine, num_tokens: int) -> float:
    """Return the least time a prefill can take, fed chunk by chunk and without logits."""
    seconds = 0.0
    for start in range(0, num_tokens, PREFILL_CHUNK):
        rows = min(PREFILL_CHUNK, num_tokens - start)
        parts = count_model(model, rows, start, num_logits=0)
        # Without logits the head is not run: its count is weights that would be read for nothing.
        parts = tuple(part for part in parts if part.name not in ("ln_f", "lm_head"))
        seconds += predict(parts, machine, model.dtype, rows=rows, context=start).seconds
    return seconds


def by_domain(prompts: Sequence[Prompt], count: int) -> dict[str, list[str]]:
    """Return the first ``count`` prompts of each domain."""
    domains: dict[str, list[str]] = {}
    for prompt in prompts:
        domains.setdefault(prompt.domain or "prompts", []).append(prompt.text)
    return {domain: texts[:count] for domain, texts in domains.items()}


def run_benchmark(
    target: GPT2,
    draft: GPT2,
    machine: Machine,
    prompts: Sequence[Prompt],
    plan: Plan,
    *,
    settings: Sequence[Setting] = SETTINGS,
    progress: Callable[[str], None] = lambda what: None,
    make_runner: Callable[[GPT2, GPT2, Setting, int], Run] = runner,
) -> Benchmark:
    """Measure forwards, costs and speculation.

    Raises
    ------
    OptionError
        If the pair or the plan does not allow a like-for-like comparison.
    """
    check_alike(target, draft)
    check_room(target, draft, prompts, plan)
    progress("forwards, beside a read probe")
    forwards = measure_forwards(target, machine, plan.rows, plan.context, plan.repeats)
    progress("prefill, drafting, sampling")
    costs = measure_costs(target, draft, machine, plan)
    results = []
    for setting in settings:
        for domain, texts in by_domain(prompts, plan.prompts).items():
            progress(f"speculation: {domain} at temperature {setting.temperature:g}")
            run = make_runner(target, draft, setting, plan.num_tokens)
            results.append(
                compare_domain(
                    domain, texts, run, setting, num_tokens=plan.num_tokens, gammas=plan.gammas, repeats=plan.repeats
                )
            )
    return Benchmark(tuple(forwards), tuple(costs), tuple(results))


def _encode(model: GPT2, text: str) -> list[int]:
    if model.tokenizer is None:
        raise InvariantError(f"{model.name} has no tokenizer")
    return model.tokenizer.encode(text)
