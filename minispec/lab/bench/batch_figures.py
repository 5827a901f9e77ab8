"""The plan and the figures of ``minispec bench --batch``, and where a speedup falls to 1."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from minispec.errors import OptionError
from minispec.lab.bench.costs import ALTERNATIONS


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
