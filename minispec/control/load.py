"""γ for all requests of a batch, from what forwards of so many rows cost now.

Alone, more rows in the target's forward are nearly free. In a batch they are not: B requests that draft γ tokens feed
B (γ + 1) rows, and beyond the machine's ridge each row costs its arithmetic. With T(m) the target's time for m rows,
D(m) the draft's, and τ_i(γ) the tokens that request i expects of a step, the batch emits

    Σ τ_i(γ) / (T(B (γ + 1)) + D(B + Σ α_i^γ) + (γ - 1) D(B))

tokens per second: the first forward of a draft model in a step also feeds the last token of every draft that was
accepted whole in the step before (on average, so their number is no whole one). The γ that maximises this holds for the
batch, since a draft forward is shared by all. Then each request drafts only as far as its own tokens pay for their
rows: its k-th one iff α_i^k > η* (T(m + 1) - T(m)), η* being the best rate. So speculation fades out as a batch grows,
first where drafts are bad, and returns as it shrinks.

It depends on measured time and on the company, so texts cannot be reproduced from their seeds; their law is the same,
also where two requests have one seed: :mod:`minispec.control.gamma` says why.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from minispec.control.auto import Acceptance
from minispec.control.gamma import UNLIMITED
from minispec.records import Step
from minispec.theory import tau

_LARGEST = 8  # the most to draft
_ROW_COST = 0.05  # of as many rows again, before a second number was measured: little, so that drafts are tried
_COST_RATIO = 0.1  # of the draft's forward to the target's, before it was measured
_KEEP = 0.8  # weight of the past in the time of a number of rows
_MEMORY = 32.0  # steps after which an acceptance counts for 1/e


class RowTimes:
    """Seconds of a forward by its rows, measured as they come; between numbers that were seen, a straight line.

    Examples
    --------
    >>> times = RowTimes()
    >>> times.add(1, 2.0), times.add(5, 4.0), times.at(3)
    (None, None, 3.0)
    """

    def __init__(self) -> None:
        self._seconds: dict[int, float] = {}

    @property
    def is_known(self) -> bool:
        """Whether any forward was measured."""
        return bool(self._seconds)

    def add(self, rows: int, seconds: float) -> None:
        """Take in a forward."""
        past = self._seconds.get(rows, seconds)
        self._seconds[rows] = _KEEP * past + (1.0 - _KEEP) * seconds

    def at(self, rows: float) -> float:
        """Return what a forward of ``rows`` takes, in seconds; in units of its own before any was measured."""
        known = sorted(self._seconds)
        if not known:
            return 1.0 + _ROW_COST * (rows - 1)
        i = bisect.bisect_left(known, rows)
        if i < len(known) and known[i] == rows:
            return self._seconds[known[i]]
        if len(known) == 1:
            return self._seconds[known[0]] * (1.0 + _ROW_COST * (rows / known[0] - 1.0))
        i = min(max(i, 1), len(known) - 1)  # beyond the ends, the line of the last two
        low, high = known[i - 1], known[i]
        slope = max(0.0, (self._seconds[high] - self._seconds[low]) / (high - low))
        return max(self._seconds[low] + slope * (rows - low), 0.1 * self._seconds[low])


class Load:
    """What the requests of an engine know together: the costs of forwards, and how many share them.

    Attributes
    ----------
    target, draft : RowTimes
        To be told of every forward.
    """

    def __init__(self) -> None:
        self.target = RowTimes()
        self.draft = RowTimes()
        self._policies: Sequence[LoadGamma] = ()
        self._num_plain = 0
        self._plan: tuple[int, float] | None = None

    def begin_step(self, policies: Sequence[LoadGamma], num_plain: int) -> None:
        """Say who takes part in the next step: requests with a policy of ours, and the number of others."""
        self._policies = policies
        self._num_plain = num_plain
        self._plan = None

    def plan(self) -> tuple[int, float]:
        """Return the γ that is best for all, and what a token must expect to yield to pay for its row."""
        if self._plan is None:
            acceptances = [policy.acceptance for policy in self._policies]
            best, rate = 0, 0.0
            for gamma in range(_LARGEST + 1):
                tokens = self._num_plain + sum(tau(alpha, gamma) for alpha in acceptances)
                seconds = self.target.at(self._rows(gamma)) + self._drafting_s(gamma, acceptances)
                if tokens / seconds > rate:
                    best, rate = gamma, tokens / seconds
            rows = self._rows(best)
            self._plan = best, rate * (self.target.at(rows + 1) - self.target.at(rows))
        return self._plan

    def _rows(self, gamma: int) -> int:
        return max(1, self._num_plain + len(self._policies) * (gamma + 1))

    def _drafting_s(self, gamma: int, acceptances: Sequence[float]) -> float:
        if gamma == 0:
            return 0.0
        together, caught_up = len(acceptances), sum(alpha**gamma for alpha in acceptances)
        return self._draft_s(together + caught_up) + (gamma - 1) * self._draft_s(together)

    def _draft_s(self, rows: float) -> float:
        return self.draft.at(rows) if self.draft.is_known else _COST_RATIO * self.target.at(max(1, rows))


class LoadGamma:
    """The γ of one request of a batch.

    Parameters
    ----------
    load : Load
        Shared by the batch.
    """

    name = "load"
    timed = True

    def __init__(self, load: Load) -> None:
        self._load = load
        self._acceptance = Acceptance(1)
        self._gamma = 0  # as it was said last
        self._is_drafting = False

    @property
    def acceptance(self) -> float:
        """α of this request, as far as it is known; it fades towards an optimistic guess, so that drafts are tried."""
        return self._acceptance.at(0)

    def gamma(self) -> int:
        """Return how far this request's tokens pay for their rows, within the γ that is best for all.

        It stands from the first drafted token until the step is finished, whatever the others do meanwhile.
        """
        if self._is_drafting:
            return self._gamma
        best, price = self._load.plan()
        gamma, survival = 0, self.acceptance
        while gamma < best and survival > price:
            gamma += 1
            survival *= self.acceptance
        self._gamma = gamma
        return gamma

    def more(self, probs: NDArray[np.float64]) -> int:
        """Set no limit besides γ."""
        self._is_drafting = True
        return UNLIMITED

    def observe(self, step: Step) -> None:
        """Learn from a finished step which drafts were accepted; what lies behind a rejection was never tested."""
        self._is_drafting = False
        self._acceptance.fade(math.exp(-1.0 / _MEMORY))
        for place in range(min(step.verdict.num_accepted + 1, len(step.draft_tokens))):
            self._acceptance.add(0, place < step.verdict.num_accepted)
