"""What the experiments measure with: the bundled pair, prompts by domain, counts with intervals, simulated costs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minispec.analysis.intervals import (
    Figure,
    difference_of_ratios,
    median,
    paired_ratio,
    ratio,
    share_of_texts,
    simultaneous,
)
from minispec.analysis.prompts import bundled_prompts
from minispec.analysis.roofline.prediction import forward_timers
from minispec.analysis.step_costs import StepCosts, Totals, step_costs
from minispec.analysis.timer import interleave
from minispec.experiments.verdicts import Interval
from minispec.generation import Generation, stream
from minispec.generation.metrics import Metrics
from minispec.loading import load_model
from minispec.loading.bundled import DEFAULT_DRAFT, DEFAULT_TARGET
from minispec.model import GPT2
from minispec.sampling import SamplingParams
from minispec.sampling.draw import distribution

Row = NDArray[np.float64]

TARGET, DRAFT, SMALL_DRAFT, CODE_DRAFT = DEFAULT_TARGET, DEFAULT_DRAFT, "draft-0.6m", "draft-1.6m-code"
DOMAINS = ("stories", "code", "questions")


@functools.cache
def model(name: str, dtype: str = "float32") -> GPT2:
    """Return a model, loaded once and compiled."""
    loaded = load_model(name, dtype=dtype)
    loaded.backend.warm_up()
    return loaded


@functools.cache
def prompts(domain: str, count: int) -> tuple[tuple[int, ...], ...]:
    """Return the first ``count`` bundled prompts of a domain, as tokens of the target."""
    tokenizer = model(TARGET).tokenizer
    assert tokenizer is not None  # the bundled models have one
    texts = [prompt.text for prompt in bundled_prompts() if prompt.domain == domain]
    return tuple(tuple(tokenizer.encode(text)) for text in texts[:count])


def decode(prompt: Sequence[int], num_tokens: int, **options: Any) -> Generation:
    """Generate exactly ``num_tokens`` tokens with the bundled pair, unless told otherwise, without nucleus."""
    given = {
        "target": model(TARGET),
        "draft": DRAFT,
        "top_p": 1.0,
        "temperature": 1.0,
        "min_tokens": num_tokens,
        "max_tokens": num_tokens,
        **options,
    }
    if given["draft"] in (DRAFT, SMALL_DRAFT, CODE_DRAFT):
        given["draft"] = model(given["draft"])
    return stream(prompt, **given).run()


@functools.cache  # experiments that count look at the same runs; what is timed never comes from here
def decode_all(domain: str, count: int, num_tokens: int, **options: Any) -> tuple[Generation, ...]:
    """Decode a domain's prompts, each with a seed of its own."""
    return tuple(decode(prompt, num_tokens, seed=i, **options) for i, prompt in enumerate(prompts(domain, count)))


def to_interval(figure: Figure) -> Interval:
    """Return a figure of texts as an interval; of one text alone, which says nothing of others, a useless one."""
    assert figure.value is not None  # every experiment decodes something
    if figure.low is None or figure.high is None:
        return Interval(figure.value, 0.0, max(1.0, 2.0 * figure.value))
    return Interval(figure.value, figure.low, figure.high)


def alpha(runs: Iterable[Generation], of: int = 1) -> Interval:
    """Return accepted / evaluated over all runs, whole runs as clusters; ``of`` so many that one verdict reads."""
    metrics = [run.metrics for run in runs]
    accepted, evaluated = [m.num_accepted_tokens for m in metrics], [m.num_evaluated_tokens for m in metrics]
    return to_interval(share_of_texts(accepted, evaluated, simultaneous(of)))


def average_clusters(clusters: Sequence[Sequence[float]], of: int = 1) -> Interval:
    """Return the mean of values in [0, 1] whose clusters are independent; ``of`` so many that one verdict reads."""
    return to_interval(
        share_of_texts([sum(each) for each in clusters], [len(each) for each in clusters], simultaneous(of))
    )


def compare_clusters(first: Sequence[Sequence[float]], second: Sequence[Sequence[float]], of: int = 1) -> Interval:
    """Return the mean of the first values less that of the second; cluster i of both is of text i."""
    sums = [([sum(each) for each in values], [len(each) for each in values]) for values in (first, second)]
    return to_interval(difference_of_ratios(sums[0], sums[1], simultaneous(of)))


def rate(runs: Iterable[Generation]) -> float:
    """Return accepted / drafted over all runs."""
    metrics = [run.metrics for run in runs]
    return _sum(metrics, "num_accepted_tokens") / max(1, _sum(metrics, "num_draft_tokens"))


def tokens_per_step(runs: Iterable[Generation]) -> float:
    """Return tokens / target forwards over all runs."""
    metrics = [run.metrics for run in runs]
    return _sum(metrics, "num_tokens") / _sum(metrics, "num_steps")


def _sum(metrics: Iterable[Metrics], name: str) -> int:
    return sum(getattr(one, name) for one in metrics)


def charge_steps(run: Generation, c: float, v: Callable[[int], float]) -> list[float]:
    """Return what each step would cost, in plain steps: g c + v(g + 1) of g drafts."""
    return [len(step.draft_tokens) * c + v(len(step.draft_tokens) + 1) for step in run.steps]


def flat(v: float) -> Callable[[int], float]:
    """Return the verify cost that is ``v`` however many rows are verified, and 1 for one row."""
    return lambda rows: v if rows > 1 else 1.0


_FREE = flat(1.0)


def estimate_speedup(runs: Sequence[Generation], c: float, v: Callable[[int], float] = _FREE, of: int = 1) -> Interval:
    """Return tokens over charged cost: the speedup on a machine with these costs; plain decoding costs 1 a token.

    Whole runs are clusters; ``of`` so many that one verdict reads.
    """
    costs = [sum(charge_steps(run, c, v)) for run in runs]
    return to_interval(ratio([run.metrics.num_tokens for run in runs], costs, simultaneous(of)))


@dataclass(frozen=True)
class Timings:
    """Several ways to decode the same texts, timed in turns.

    Attributes
    ----------
    metrics : dict of str to list of list of Metrics
        By way: of each text, those of each round.
    """

    metrics: dict[str, list[list[Metrics]]]

    def seconds(self, way: str, *, prefill: bool = False) -> list[list[float]]:
        """Return seconds per token, of each text in each round."""
        return [
            [(one.decode_s + prefill * one.prefill_s) / one.num_tokens for one in rounds]
            for rounds in self.metrics[way]
        ]

    def faster(self, base: str, other: str, of: int = 1, *, prefill: bool = False) -> Interval:
        """Return how many times faster ``other`` was, texts paired; ``of`` so many that one verdict reads."""
        slow, fast = (self.seconds(way, prefill=prefill) for way in (base, other))
        return to_interval(paired_ratio(slow, fast, simultaneous(of)))

    def costs(self, plain: str, other: str) -> StepCosts:
        """Return c, v and o of ``other``, in steps of ``plain``: the one definition of ``analysis.step_costs``."""
        totals = [Totals.of(one for rounds in self.metrics[way] for one in rounds) for way in (plain, other)]
        return step_costs(*totals)


def time_texts(
    ways: Mapping[str, Mapping[str, Any]], texts: Sequence[Sequence[int]], num_tokens: int, rounds: int
) -> Timings:
    """Decode each text in each way, all of them taking turns, text by text.

    Parameters
    ----------
    ways : mapping of str to options of :func:`decode`
    texts : sequence of token sequences
    num_tokens, rounds : int
    """
    metrics: dict[str, list[list[Metrics]]] = {name: [[] for _ in texts] for name in ways}

    def candidate(name: str, i: int) -> Callable[[], float]:
        def once() -> float:
            made = decode(texts[i], num_tokens, **ways[name]).metrics
            metrics[name][i].append(made)
            return made.decode_s

        return once

    interleave({f"{i} {name}": candidate(name, i) for i in range(len(texts)) for name in ways}, rounds)
    return Timings(metrics)


def of_each_kind(count: int) -> list[tuple[int, ...]]:
    """Return ``count`` prompts of every domain."""
    return [prompt for domain in DOMAINS for prompt in prompts(domain, count)]


def round_ratios(times: Mapping[str, list[float]], base: str, other: str, of: int = 1) -> Interval:
    """Return how many times longer ``base`` took than ``other``: the median round, of *this* thing that was timed."""
    return to_interval(median([a / b for a, b in zip(times[base], times[other], strict=True)], simultaneous(of)))


def verify_curve(target: GPT2, rows: Sequence[int], context: int, repeats: int, of: int = 1) -> dict[int, Interval]:
    """Measure t(m) / t(1), the time of a forward over m rows over that of one row, at a context length."""
    timers = forward_timers(target, [1, *rows], context)
    times = interleave({str(count): timer for count, timer in timers.items()}, repeats)
    return {count: round_ratios(times, str(count), "1", of) for count in rows}


def synthetic(acceptance: float, gamma: int, count: int, num_tokens: int) -> tuple[Generation, ...]:
    """Decode with a draft that is accepted with one probability at every position: the formulas' assumption made true.

    ``SyntheticDrafter`` mixes noise into the target's own distribution. What it costs is charged afterwards.
    """
    return decode_all("stories", count, num_tokens, draft=f"synthetic:alpha={acceptance}", gamma=gamma)


def overlaps(draft: GPT2, tokens: Sequence[int], start: int, temperature: float = 1.0) -> tuple[Row, Row]:
    """Return sum min(p, q) and the target's entropy in nats before each of ``tokens[start:]``, both of shape (T,)."""
    params = SamplingParams(temperature=temperature, top_p=1.0)
    p = distribution(model(TARGET).logits(tokens[:-1])[start - 1 :], params)
    q = distribution(draft.logits(tokens[:-1])[start - 1 :], params)
    with np.errstate(divide="ignore", invalid="ignore"):
        entropy = -np.where(p > 0.0, p * np.log(p), 0.0).sum(axis=1)
    return np.minimum(1.0, np.minimum(p, q).sum(axis=1)), entropy
