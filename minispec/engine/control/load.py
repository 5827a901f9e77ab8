"""γ for all requests of a batch, from what forwards of so many rows cost now.

Alone, more rows in the target's forward are nearly free. In a batch they are not: B requests that draft γ tokens feed
B (γ + 1) rows, and beyond the machine's ridge each row costs its arithmetic. With T(m) the target's time for m rows,
D(m) the draft's, and τ_i(γ) the tokens that request i expects of a step, the batch emits

    Σ τ_i(γ) / (T(B (γ + 1)) + D(B + Σ α_i^γ) + (γ - 1) D(B))

tokens per second: the first forward of a draft model in a step also feeds the last token of every draft that was
accepted whole in the step before (on average, so their number is no whole one). The γ that maximises this holds for the
batch, since a draft forward is shared by all. Then each request drafts only as far as its own tokens pay for their
rows: its k-th one iff α_i^k > η* (T(m + 1) - T(m)), η* being the best rate. So speculation fades out as a batch grows,
first where drafts are bad, and returns as it shrinks. What a draft model has not read of the texts is a cost of
drafting, spread over some steps. Costs are known only so well: nobody drafts before a plain step was measured, nor
where drafts promise only a little more than plain decoding. :mod:`minispec.engine.control.budget` gives rows of one
budget to single places instead.

It depends on measured time and on the company. So a text can be reproduced from its seed only under a rule by which it
does not depend on what was drafted (``match``, ``gumbel``, any rule at temperature 0); its law is the same under all,
also where two requests have one seed: :mod:`minispec.engine.control.gamma` says why.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from minispec.engine.control.auto import Acceptance
from minispec.engine.control.gain import Gain
from minispec.engine.control.gamma import UNLIMITED
from minispec.engine.records import Step

_CHECK = 32  # steps with drafts, after which one is plain
LARGEST = 8
"""The most to draft."""
_PLACES = np.arange(LARGEST + 1)
_ROW_COST = 0.05  # of one more row, in forwards of one, until more rows are measured: little, so that drafts are tried
_ENTER, _STAY = 1.1, 1.03  # times plain decoding's rate that drafts must promise, to begin and to go on
_COST_RATIO = 0.1  # of the draft's forward to the target's, before it was measured
_KEEP = 0.8  # weight of the past in the time of a number of rows
_ONCE = 16  # forwards for which a time of few rows stands that was measured once: anything may have run beside it
_AGE = 8.0  # forwards, by which a time that was not measured anew counts as one measurement older
_REST, _LONGEST_REST = 3, 24  # steps in which the same requests need not ask again, once drafts did not pay
_MEMORY = 32.0  # steps after which an acceptance counts for 1/e, and over which a late reading is spread
_FADE = math.exp(-1.0 / _MEMORY)


class RowTimes:
    """Seconds of a forward by its rows, measured as they come; between numbers that were seen, a straight line.

    Attributes
    ----------
    total_s : float
        Of all forwards.

    Examples
    --------
    >>> times = RowTimes()
    >>> times.add(1, 2.0), times.add(5, 4.0), times.at(3)
    (None, None, 3.0)
    """

    def __init__(self) -> None:
        self._seconds: dict[int, float] = {}
        self._counts: dict[int, int] = defaultdict(int)
        self._when: dict[int, int] = {}  # a number of rows was measured last, in forwards
        self._num_added = 0
        self._rising: tuple[list[int], list[float]] | None = None
        self.total_s = 0.0

    @property
    def is_known(self) -> bool:
        """Whether any forward was measured."""
        return bool(self._seconds)

    def has_seen(self, rows: int) -> bool:
        """Whether a forward of so many rows, or fewer, was measured."""
        return any(seen <= rows for seen in self._seconds)

    def begin(self, seconds: float) -> None:
        """Take in the first forward of all: it touches memory that nobody has touched, so it is no measure."""
        self.total_s += seconds

    def add(self, rows: int, seconds: float) -> None:
        """Take in a forward."""
        self.total_s += seconds
        self._num_added += 1
        self._counts[rows] += 1
        known = self._seconds.get(rows, seconds)
        keep = _KEEP ** (1.0 + (self._num_added - 1 - self._when.get(rows, 0)) / _AGE)  # what is old counts less
        mean = keep * known + (1.0 - keep) * seconds
        self._seconds[rows] = min(known, seconds) if self._counts[rows] == 2 else mean  # none is too fast by chance
        self._when[rows] = self._num_added
        self._rising = None

    def at(self, rows: float) -> float:
        """Return what a forward of ``rows`` takes, in seconds; in units of its own before any was measured."""
        if not self._seconds:
            return _guess(rows)
        known, seconds = self._find_rising()
        i = bisect.bisect_left(known, rows)
        if i < len(known) and known[i] == rows:
            return seconds[i]
        if 0 < i < len(known):
            share = (rows - known[i - 1]) / (known[i] - known[i - 1])
            return seconds[i - 1] + share * (seconds[i] - seconds[i - 1])
        end = min(i, len(known) - 1)
        guess = seconds[end] * _guess(rows) / _guess(known[end])
        if len(known) == 1:
            return guess
        low, high = (0, 1) if i == 0 else (-2, -1)  # beyond the ends, the line of the last two
        slope = (seconds[high] - seconds[low]) / (known[high] - known[low])
        line = seconds[end] + slope * (rows - known[end])
        return max(line, guess) if i else max(line, 0.1 * seconds[0])

    def _is_doubtful(self, rows: int) -> bool:
        """Return whether it is time to try again; more rows than one request verifies are too dear for that."""
        is_old = self._num_added - self._when[rows] > _ONCE
        return is_old and self._counts[rows] == 1 and rows <= LARGEST + 1

    def _find_rising(self) -> tuple[list[int], list[float]]:
        """Return rows and seconds, in which fewer rows never take longer: where they did, something else ran."""
        if self._rising is None:
            known = sorted(rows for rows in list(self._seconds) if not self._is_doubtful(rows))
            falling = itertools.accumulate((self._seconds[rows] for rows in reversed(known)), min)
            self._rising = known, list(falling)[::-1]
        return self._rising


def _guess(rows: float) -> float:
    """Return what a forward of ``rows`` takes before any was measured, in units of one of a single row."""
    return 1.0 + _ROW_COST * (rows - 1.0)


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
        self._count_unread: Callable[[], int] = lambda: 0
        self._is_budget = False
        self._drafts = False
        self._num_drafting = 0  # steps with drafts since the last without
        self._plan: tuple[int, float] | None = None
        self._lengths: Mapping[LoadGamma, int] | None = None  # likewise, where rows are a budget
        self._rest = 0  # steps for which the plan stands
        self._next_rest = _REST  # grows each time that the same requests ask in vain
        self._gain = Gain()
        self._spent_s = 0.0

    @property
    def speedup(self) -> float | None:
        """How many times as fast as plain decoding the steps were; see :class:`minispec.engine.control.gain.Gain`."""
        return self._gain.speedup(self.target.at) if self.target.is_known else None

    def end_step(self, num_tokens: int, *, has_drafted: bool) -> None:
        """Say how many tokens the step has emitted; 0 if it also fed prompts, so that its time is no measure."""
        if num_tokens:
            spent_s = self.target.total_s + self.draft.total_s - self._spent_s
            num_requests = self._num_plain + len(self._policies)
            self._gain.note(num_requests, num_tokens, spent_s, has_drafted=has_drafted)

    def begin_step(
        self, policies: Sequence[LoadGamma], num_plain: int, count_unread: Callable[[], int] = lambda: 0
    ) -> None:
        """Say who takes part in the next step: requests with a policy of ours, and the number of others.

        ``count_unread`` returns how many tokens of the texts have not been read by draft models, which must before they
        can draft. Requests for which drafts do not pay cost little here: the same ones are not asked again at once.
        """
        is_same = self._num_plain == num_plain and self._policies == policies
        if not is_same:
            self._is_budget = any(policy.shares_budget for policy in policies)
            self._next_rest = _REST
        self._policies = policies
        self._num_plain = num_plain
        self._count_unread = count_unread
        self._spent_s = self.target.total_s + self.draft.total_s
        if self._rest and is_same:
            self._rest -= 1
        else:
            self._plan, self._lengths, self._rest = None, None, 0

    def plan(self) -> tuple[int, float]:
        """Return the γ that is best for all, and what a token must expect to yield to pay for its row."""
        if self._plan is None:
            acceptances = np.array([policy.acceptance for policy in self._policies])
            survivors = (acceptances[:, None] ** _PLACES).sum(axis=0).tolist()  # who keeps k drafts, on average
            num_unread = self._count_unread()
            reading_s = self._draft_s(num_unread) / _MEMORY if num_unread else 0.0
            best, rate, plain, tokens = 0, 0.0, 0.0, float(self._num_plain)
            for gamma in range(LARGEST + 1):
                tokens += survivors[gamma]  # Σ τ_i(γ)
                seconds = self.target.at(self._rows(gamma)) + self._drafting_s(gamma, survivors[gamma], reading_s)
                plain = plain or tokens / seconds
                if tokens / seconds > rate:
                    best, rate = gamma, tokens / seconds
            if not self._pays(best, rate, plain):
                best, rate = 0, plain
            rows = self._rows(best)
            self._plan = best, rate * (self.target.at(rows + 1) - self.target.at(rows))
        return self._plan

    def allot(self) -> Mapping[LoadGamma, int] | None:
        """Return each request's places in the one budget of rows; None where no request asks for a budget."""
        if self._is_budget and self._lengths is None:
            self._lengths = self._share_rows()
        return self._lengths

    def _share_rows(self) -> Mapping[LoadGamma, int]:
        from minispec.engine.control.budget import share_rows  # few batches have one

        together = len(self._policies)
        num_unread = self._count_unread()
        shared = share_rows(
            np.array([policy.survivals for policy in self._policies]),
            self._num_plain,
            np.array([self.target.at(self._rows(0) + rows) for rows in range(together * LARGEST + 1)]),
            np.array([self._draft_s(rows) for rows in range(2 * together + 1)]),
            self._draft_s(num_unread) / _MEMORY if num_unread else 0.0,
        )
        pays = self._pays(shared.num_rows, shared.rate, shared.plain)
        return dict(zip(self._policies, shared.lengths, strict=True)) if pays else {}

    def _pays(self, best: int, rate: float, plain: float) -> bool:
        """Return whether the next step is to draft, where the best plan promises ``rate`` and no draft ``plain``."""
        pays = best > 0
        if not self.target.has_seen(self._rows(0)):
            pays = False
        elif rate < plain * (_STAY if self._drafts else _ENTER):
            pays, self._rest = False, self._next_rest
            self._next_rest = min(2 * self._next_rest, _LONGEST_REST)
        if self._num_drafting >= _CHECK:  # what a plain step takes now is to be known while none is taken
            pays = False
        if pays:
            self._next_rest = _REST
        self._drafts = pays
        self._num_drafting = self._num_drafting + 1 if pays else 0
        return pays

    def _rows(self, gamma: int) -> int:
        return max(1, self._num_plain + len(self._policies) * (gamma + 1))

    def _drafting_s(self, gamma: int, caught_up: float, reading_s: float) -> float:
        if gamma == 0:
            return 0.0
        together = len(self._policies)
        return reading_s + self._draft_s(together + caught_up) + (gamma - 1) * self._draft_s(together)

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
    largest = LARGEST
    timed = True
    shares_budget = False
    _num_places = 1  # in a draft, whose acceptance is told apart

    def __init__(self, load: Load) -> None:
        self._load = load
        self._acceptance = Acceptance(self._num_places)
        self._num_idle = 0  # steps since, which drafted nothing
        self._gamma = 0  # as it was said last
        self._is_drafting = False

    @property
    def acceptance(self) -> float:
        """α of this request, as far as it is known; it fades towards an optimistic guess, so that drafts are tried."""
        return self._acceptance.learn(_FADE**self._num_idle, ()).at(0)

    @property
    def survivals(self) -> NDArray[np.float64]:
        """S(1), S(2), ...: how likely it is that all drafts up to a place are accepted, shape (LARGEST,)."""
        known = self._acceptance.learn(_FADE**self._num_idle, ())
        rates = [known.at(min(place, self._num_places - 1)) for place in range(LARGEST)]
        return np.cumprod(rates, dtype=np.float64)

    def gamma(self) -> int:
        """Return how far this request's tokens pay for their rows, within the γ that is best for all.

        It stands from the first drafted token until the step is finished, whatever the others do meanwhile.
        """
        if self._is_drafting:
            return self._gamma
        if (lengths := self._load.allot()) is not None:
            self._gamma = lengths.get(self, 0)
            return self._gamma
        best, price = self._load.plan()
        gamma = 0
        if best:
            survival = acceptance = self.acceptance
            while gamma < best and survival > price:
                gamma += 1
                survival *= acceptance
        self._gamma = gamma
        return gamma

    def more(self, probs: NDArray[np.float64]) -> int:
        """Set no limit besides γ."""
        self._is_drafting = True
        return UNLIMITED

    def observe(self, step: Step) -> None:
        """Learn from a finished step which drafts were accepted; what lies behind a rejection was never tested."""
        self._is_drafting = False
        self._num_idle += 1
        if step.draft_tokens:
            num_accepted = step.verdict.num_accepted
            tested = range(min(num_accepted + 1, len(step.draft_tokens)))
            seen = [(min(place, self._num_places - 1), place < num_accepted) for place in tested]
            self._acceptance = self._acceptance.learn(_FADE**self._num_idle, seen)
            self._num_idle = 0
