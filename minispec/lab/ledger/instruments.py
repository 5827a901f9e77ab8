"""What the experiments measure with: counts with intervals over texts, charged costs, timings in turns."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from minispec.engine.generation.result import Metrics
from minispec.engine.model import GPT2
from minispec.engine.sampling import SamplingParams
from minispec.engine.sampling.draw import distribution
from minispec.lab.explain.step_costs import StepCosts, step_costs
from minispec.lab.ledger.runs import TARGET, Sample, Texts, decode, model
from minispec.lab.ledger.verdicts import Interval
from minispec.lab.measure.record import Totals
from minispec.lab.roofline.forwards import forward_timers
from minispec.lab.timer import Name, interleave, ratios
from minispec.theory.intervals import (
    Figure,
    difference_of_ratios,
    median,
    paired_ratio,
    ratio,
    share_of_texts,
    simultaneous,
)

Row = NDArray[np.float64]


def to_interval(figure: Figure) -> Interval:
    """Return a figure of texts as an interval; of one text alone, which says nothing of others, a useless one."""
    assert figure.value is not None  # every experiment decodes something
    if figure.low is None or figure.high is None:
        return Interval(figure.value, 0.0, max(1.0, 2.0 * figure.value))
    return Interval(figure.value, figure.low, figure.high)


def count(texts: Iterable[Iterable[Sample | Metrics]], name: str) -> list[int]:
    """Return, of each text, a count over all its runs; ``name`` is that of :class:`Metrics`."""
    return [sum(getattr(run, name) for run in runs) for runs in texts]


def alpha(texts: Sequence[Sequence[Sample | Metrics]], of: int = 1) -> Interval:
    """Return accepted / evaluated over all runs, texts as clusters; ``of`` so many that one verdict reads."""
    accepted, evaluated = (count(texts, f"num_{kind}_tokens") for kind in ("accepted", "evaluated"))
    return to_interval(share_of_texts(accepted, evaluated, simultaneous(of)))


def average_clusters(clusters: Sequence[ArrayLike], of: int = 1) -> Interval:
    """Return the mean of values in [0, 1] whose clusters are independent; ``of`` so many that one verdict reads."""
    sums, sizes = _sums(clusters)
    return to_interval(share_of_texts(sums, sizes, simultaneous(of)))


def average_costs(costs: Sequence[float], of: int = 1) -> Interval:
    """Return the mean of positive figures, one for each text; ``of`` so many that one verdict reads."""
    return to_interval(ratio(costs, [1] * len(costs), simultaneous(of)))


def compare_clusters(first: Sequence[ArrayLike], second: Sequence[ArrayLike], of: int = 1) -> Interval:
    """Return the mean of the first values less that of the second; cluster i of both is of text i."""
    return to_interval(difference_of_ratios(_sums(first), _sums(second), simultaneous(of)))


def _sums(clusters: Sequence[ArrayLike]) -> tuple[list[float], list[int]]:
    """Return the sum and the number of the values of each cluster."""
    values = [np.asarray(each) for each in clusters]
    return [float(each.sum()) for each in values], [each.size for each in values]


def rate(texts: Sequence[Sequence[Sample]]) -> float:
    """Return accepted / drafted over all runs."""
    return sum(count(texts, "num_accepted_tokens")) / max(1, sum(count(texts, "num_draft_tokens")))


def tokens_per_step(texts: Sequence[Sequence[Sample | Metrics]]) -> float:
    """Return tokens / target forwards over all runs, behind the first token of each."""
    return sum(count(texts, "num_decode_tokens")) / sum(count(texts, "num_steps"))


def join(texts: Texts, read: Callable[[Sample], ArrayLike]) -> list[Row]:
    """Return, of each text, what is read of its runs, joined into one cluster."""
    return [np.concatenate([np.asarray(read(run), np.float64) for run in runs]) for runs in texts]


def charge_steps(run: Sample, c: float, v: Callable[[int], float]) -> list[float]:
    """Return what each step would cost, in plain steps: g c + v(g + 1) of g drafts."""
    return [g * c + v(g + 1) for g in run.drafted.tolist()]


def flat(v: float) -> Callable[[int], float]:
    """Return the verify cost that is ``v`` however many rows are verified, and 1 for one row."""
    return lambda rows: v if rows > 1 else 1.0


_FREE = flat(1.0)


def estimate_speedup(texts: Texts, c: float, v: Callable[[int], float] = _FREE, of: int = 1) -> Interval:
    """Return tokens behind the first over charged cost: the speedup with these costs; plain decoding costs 1 a token.

    Texts are clusters; ``of`` so many that one verdict reads.
    """
    costs = [sum(sum(charge_steps(run, c, v)) for run in runs) for runs in texts]
    return to_interval(ratio(count(texts, "num_decode_tokens"), costs, simultaneous(of)))


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
        """Return seconds per token behind the first, or with the prefill of all; of each text in each round."""
        return [
            [
                (one.decode_s + one.prefill_s) / one.num_tokens if prefill else one.decode_s / one.num_decode_tokens
                for one in rounds
            ]
            for rounds in self.metrics[way]
        ]

    def faster(self, base: str, other: str, of: int = 1, *, prefill: bool = False) -> Interval:
        """Return how many times faster ``other`` was, texts paired; ``of`` so many that one verdict reads."""
        slow, fast = (self.seconds(way, prefill=prefill) for way in (base, other))
        return to_interval(paired_ratio(slow, fast, simultaneous(of)))

    def cheaper(self, base: str, other: str, of: int = 1) -> Interval:
        """Return how many times cheaper a drafted token of ``other`` was; see :meth:`faster`."""
        dear, cheap = (
            [[one.draft_s / one.num_draft_tokens for one in rounds] for rounds in self.metrics[way]]
            for way in (base, other)
        )
        return to_interval(paired_ratio(dear, cheap, simultaneous(of)))

    def longer(self, base: str, other: str, of: int = 1) -> Interval:
        """Return how many more tokens a target forward of ``other`` made, behind the first; see :meth:`faster`."""
        more, fewer = (
            (count(self.metrics[way], "num_decode_tokens"), count(self.metrics[way], "num_steps"))
            for way in (other, base)
        )
        return to_interval(difference_of_ratios(more, fewer, simultaneous(of)))

    def fastest(self, ways: Iterable[str]) -> str:
        """Return the way that took the fewest seconds per token, the median round of each text."""
        return min(ways, key=lambda way: float(np.median(self.seconds(way), axis=1).sum()))

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

    def once(i: int, name: str) -> Metrics:
        return decode(texts[i], num_tokens, seed=i, **ways[name]).metrics

    each = [(i, name) for i in range(len(texts)) for name in ways]
    found = interleave({turn: functools.partial(once, *turn) for turn in each}, rounds)
    return Timings({name: [found[i, name] for i in range(len(texts))] for name in ways})


def round_ratios(times: Mapping[Name, list[float]], base: Name, other: Name, of: int = 1) -> Interval:
    """Return how many times longer ``base`` took than ``other``: the median round, of *this* thing that was timed."""
    return to_interval(median(ratios(times[base], times[other]), simultaneous(of)))


def verify_curve(target: GPT2, rows: Sequence[int], context: int, repeats: int, of: int = 1) -> dict[int, Interval]:
    """Measure t(m) / t(1), the time of a forward over m rows over that of one row, at a context length."""
    times = interleave(forward_timers(target, [1, *rows], context), repeats)
    return {count: round_ratios(times, count, 1, of) for count in rows}


def overlaps(draft: GPT2, tokens: Sequence[int], start: int, temperature: float = 1.0) -> tuple[Row, Row]:
    """Return sum min(p, q) and the target's entropy in nats before each of ``tokens[start:]``, both of shape (T,)."""
    params = SamplingParams(temperature=temperature, top_p=1.0)
    p = distribution(model(TARGET).logits(tokens[:-1])[start - 1 :], params)
    q = distribution(draft.logits(tokens[:-1])[start - 1 :], params)
    with np.errstate(divide="ignore", invalid="ignore"):
        entropy = -np.where(p > 0.0, p * np.log(p), 0.0).sum(axis=1)
    return np.minimum(1.0, np.minimum(p, q).sum(axis=1)), entropy
