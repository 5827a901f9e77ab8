"""What the experiments measure with: the bundled pair, prompts by domain, counts with intervals, simulated costs."""

from __future__ import annotations

import functools
import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minispec.analysis.prompts import bundled_prompts
from minispec.analysis.roofline.prediction import forward_timers
from minispec.analysis.timer import interleave
from minispec.experiments.verdicts import Interval, median_of
from minispec.generation import Generation, stream
from minispec.generation.metrics import Metrics
from minispec.loading import load_model
from minispec.loading.bundled import DEFAULT_DRAFT, DEFAULT_TARGET
from minispec.model import GPT2
from minispec.sampling import SamplingParams
from minispec.sampling.draw import distribution
from minispec.theory import alpha_from_overlaps

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
        "target": model(TARGET), "draft": DRAFT, "top_p": 1.0, "temperature": 1.0, "min_tokens": num_tokens,
        "max_tokens": num_tokens, **options,
    }  # fmt: skip
    if given["draft"] in (DRAFT, SMALL_DRAFT, CODE_DRAFT):
        given["draft"] = model(given["draft"])
    return stream(prompt, **given).run()


@functools.cache  # experiments that count look at the same runs; what is timed never comes from here
def decode_all(domain: str, count: int, num_tokens: int, **options: Any) -> tuple[Generation, ...]:
    """Decode a domain's prompts, each with a seed of its own."""
    return tuple(decode(prompt, num_tokens, seed=i, **options) for i, prompt in enumerate(prompts(domain, count)))


def alpha(runs: Iterable[Generation]) -> Interval:
    """Return accepted / evaluated over all runs, its 95 % interval with whole runs as clusters."""
    counts = [(run.metrics.num_accepted_tokens, run.metrics.num_evaluated_tokens) for run in runs]
    clusters = [[1.0] * accepted + [0.0] * (evaluated - accepted) for accepted, evaluated in counts]
    return clustered(clusters)


def clustered(clusters: Sequence[Sequence[float]]) -> Interval:
    """Return the mean of values in [0, 1], its interval with independent clusters; of one cluster, no precision."""
    full = [cluster for cluster in clusters if cluster]
    if len(full) < 2:
        return Interval(float(np.mean(full[0])) if full else 0.0, 0.0, 1.0)
    return Interval(*alpha_from_overlaps(full))


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


def step_costs(run: Generation, c: float, v: Callable[[int], float]) -> list[float]:
    """Return what each step would cost, in one-row target forwards: g c + v(g + 1) of g drafts."""
    return [len(step.draft_tokens) * c + v(len(step.draft_tokens) + 1) for step in run.steps]


def flat(v: float) -> Callable[[int], float]:
    """Return the verify cost that is ``v`` however many rows are verified, and 1 for one row."""
    return lambda rows: v if rows > 1 else 1.0


_FREE = flat(1.0)


def charged_speedup(runs: Sequence[Generation], c: float, v: Callable[[int], float] = _FREE) -> Interval:
    """Return tokens over charged cost: the speedup on a machine with these costs; plain decoding costs 1 a token.

    The interval is two standard errors over runs, each run's ratio weighing alike.
    """
    ratios = [run.metrics.num_tokens / sum(step_costs(run, c, v)) for run in runs]
    value = sum(run.metrics.num_tokens for run in runs) / sum(sum(step_costs(run, c, v)) for run in runs)
    spread = 2.0 * statistics.stdev(ratios) / len(ratios) ** 0.5 if len(ratios) > 1 else value
    return Interval(value, value - spread, value + spread)


def seconds_per_token(texts: Sequence[Sequence[int]], num_tokens: int, **options: Any) -> Callable[[], float]:
    """Return a timed candidate for :func:`minispec.analysis.timer.interleave`: decoding some prompts, prefill out."""

    def once() -> float:
        metrics = [decode(prompt, num_tokens, **options).metrics for prompt in texts]
        return sum(one.decode_s for one in metrics) / sum(one.num_tokens for one in metrics)

    return once


def one_of_each(count: int = 1) -> list[tuple[int, ...]]:
    """Return ``count`` prompts of every domain."""
    return [prompt for domain in DOMAINS for prompt in prompts(domain, count)]


def ratios(times: dict[str, list[float]], base: str, other: str) -> Interval:
    """Return how many times faster ``other`` was than ``base``: the median round, and the range of rounds."""
    return median_of([a / b for a, b in zip(times[base], times[other], strict=True)])


def verify_curve(target: GPT2, rows: Sequence[int], context: int, repeats: int) -> dict[int, Interval]:
    """Measure v(m), the time of a forward over m rows over that of one row, at a context length; rounds as range."""
    timers = forward_timers(target, [1, *rows], context)
    times = interleave({str(count): timer for count, timer in timers.items()}, repeats)
    return {count: ratios(times, str(count), "1") for count in rows}


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
