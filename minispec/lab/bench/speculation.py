"""Speculation against plain decoding, domain by domain: the same prompts, the same number of tokens, in turns."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from minispec.engine.generation.api import generate
from minispec.engine.generation.result import Generation
from minispec.engine.model import GPT2
from minispec.errors import InvariantError
from minispec.lab.timer import interleave

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
    made: dict[tuple[int, int], list[Generation]] = {}

    def timer(gamma: int, first_seed: int) -> Callable[[], float]:
        seeds = iter(range(first_seed, first_seed + max(1, repeats)))

        def once() -> float:
            seed = next(seeds)
            runs = [run(prompt, gamma, seed) for prompt in prompts]
            for generation in runs:
                if generation.metrics.num_tokens != num_tokens:
                    raise InvariantError(
                        f"gamma {gamma} emitted {generation.metrics.num_tokens} tokens of {num_tokens} "
                        f"({generation.finish_reason}); runs of different lengths are not compared"
                    )
            made[gamma, seed] = runs
            return sum(generation.metrics.decode_s for generation in runs) / (len(prompts) * (num_tokens - 1))

        return once

    for gamma in (PLAIN, *gammas[:1]):
        timer(gamma, SEARCH_SEED - 1)()  # the first run of each kind finds cold caches
    search = interleave({str(gamma): timer(gamma, SEARCH_SEED) for gamma in gammas}, 1)
    searched = {int(gamma): times[0] for gamma, times in search.items()}
    best = min(searched, key=searched.__getitem__)
    times = interleave({"plain": timer(PLAIN, 0), "speculative": timer(best, 0)}, repeats)
    ratios = [a / b for a, b in zip(times["plain"], times["speculative"], strict=True)]
    runs = [generation.metrics for seed in range(repeats) for generation in made[best, seed]]
    evaluated = sum(metrics.num_evaluated_tokens for metrics in runs)
    greedy = setting.temperature == 0.0
    return Speculation(
        domain=domain,
        setting=setting,
        num_prompts=len(prompts),
        num_tokens=num_tokens,
        gamma=best,
        searched_s=searched,
        plain_s=statistics.median(times["plain"]),
        speculative_s=statistics.median(times["speculative"]),
        speedup=statistics.median(ratios),
        spread=(min(ratios), max(ratios)),
        tau=sum(m.num_decode_tokens for m in runs) / sum(m.num_steps for m in runs),
        alpha=sum(m.num_accepted_tokens for m in runs) / evaluated if evaluated else None,
        same_tokens=_all_same(made, best, repeats, len(prompts)) if greedy else None,
    )


def _all_same(made: Mapping[tuple[int, int], Sequence[Generation]], gamma: int, repeats: int, prompts: int) -> bool:
    return all(
        made[PLAIN, seed][i].token_ids == made[gamma, seed][i].token_ids
        for seed in range(repeats)
        for i in range(prompts)
    )
