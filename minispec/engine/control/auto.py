"""γ from measured costs and learned acceptance: draft one more token iff it is expected to pay.

With S(k) the probability that the first k drafts all survive, a step with γ drafts emits 1 + S(1) + ... + S(γ) tokens
on average and costs T(γ + 1) + γ d, where T(m) is the target's time for m rows and d the draft's time per token. The
best rate over γ is η*, and the rule that achieves it is a stopping rule: draft one more token iff

    S(k) a > η* (d + T(k + 2) - T(k + 1)),

a being the probability that the next token survives. With T flat and in units of T(1) the right side is c η*, the form
in which the rule is usually written.

The rule is asked twice for each token, because most of its cost comes before its confidence is known. Before the
draft's forward, a is the mean acceptance. After it d is spent whatever happens, a is known for this very confidence,
and the token is drawn iff S(k) a pays for the target's row alone. Where even the first forward would not pay, the step
is a plain one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from minispec.engine.control.gamma import UNLIMITED, require_largest
from minispec.engine.records import Step

_BINS = 8  # of the draft's largest probability
_PRIOR_MEAN = 0.7  # a draft is believed to be good until it is not,
_PRIOR_WEIGHT = 2.0  # which a few observations can say
_BIN_WEIGHT = 4.0  # pseudo-observations that shrink a bin towards the mean
_PRIOR_COST_RATIO = 0.1
_PRIOR_ROW_COST = 0.05  # of one more row in the target's forward, in units of T(1)


class AutoGamma:
    """Learns, per request, how often drafts survive and what everything costs.

    Acceptance is learned from censored observations: the accepted drafts and the first rejected one count, what lies
    behind it was never tested. It is kept by the place in the draft and by the draft's confidence, each bin shrunk
    towards the mean of all. (At temperature 0 confidence is always 1, and the place is what tells: greedy text repeats
    itself, and drafts fail where a repetition ends.) Old observations fade, also while nothing is drafted: the prior's
    optimism then returns, a draft is tried again, and exploration needs no rule of its own.

    Parameters
    ----------
    largest : int
        The most to draft.
    memory : float
        Steps after which an observation's weight has fallen to 1/e.
    """

    timed = True

    def __init__(self, largest: int = 16, memory: float = 32.0) -> None:
        self._largest = require_largest(largest)
        self._keep = math.exp(-1.0 / memory)
        self._by_confidence = Acceptance(_BINS)
        self._by_place = Acceptance(largest)
        self._was_idle = False
        self._draft = _FadingLine(self._keep)
        self._target = _FadingLine(self._keep)
        # What a step is planned with, in units of T(1) until a first one has been measured.
        self._first_s, self._row_s = 1.0, _PRIOR_ROW_COST  # T(1), and T(m + 1) - T(m)
        self._draft_s = _PRIOR_COST_RATIO  # of one forward of the draft
        self._rate = 1.0  # η*
        self._begin()

    def _begin(self) -> None:
        self._confidences: list[float] = []  # of the present draft's tokens
        self._survival = 1.0
        self._looks = 0  # forwards of the draft in this step

    @property
    def largest(self) -> int:
        """The most to draft."""
        return self._largest

    def gamma(self) -> int:
        """Return 0 if not even one token pays, else at most ``largest``, decided one by one."""
        self._first_s, self._row_s = self._target.fit(default_slope=_PRIOR_ROW_COST)
        self._draft_s = self._draft.mean_ratio(default=_PRIOR_COST_RATIO * self._first_s)
        best, self._rate = self._plan()
        return self._largest if best else 0

    def more(self, probs: NDArray[np.float64]) -> int:
        """Return 0 if the next token does not pay for its row, 1 if the one after it will not pay for its forward."""
        self._looks += 1
        drafted = len(self._confidences)
        confidence = float(probs.max())
        survival = self._survival * self._acceptance(confidence, drafted)
        if survival <= self._rate * self._row_s:
            return 0
        self._confidences.append(confidence)
        self._survival = survival
        if drafted + 1 == self._largest:
            return 1
        then = survival * self._by_place.at(drafted + 1)
        pays = then > self._rate * (self._draft_s + self._row_s)
        return UNLIMITED if pays else 1

    def observe(self, step: Step) -> None:
        """Learn acceptance and times from a finished step."""
        num_accepted = step.verdict.num_accepted
        tested = self._confidences[: min(num_accepted + 1, len(step.draft_tokens))]  # fewer if a draft is translated
        by_confidence = [(_find_bin(confidence), place < num_accepted) for place, confidence in enumerate(tested)]
        by_place = [(place, place < num_accepted) for place in range(len(tested))]
        self._by_confidence = self._by_confidence.learn(self._keep, by_confidence)
        self._by_place = self._by_place.learn(self._keep, by_place)
        if self._looks and not self._was_idle:  # after plain steps the draft must catch up: that is no usual cost
            self._draft = self._draft.add(self._looks, step.draft_s)
        self._was_idle = not self._looks
        self._target = self._target.add(len(step.draft_tokens) + 1, step.step_s - step.draft_s)
        self._begin()

    def _acceptance(self, confidence: float, place: int) -> float:
        """Return a for this place in the draft, raised or lowered as this confidence is above or below the mean."""
        odds = self._by_confidence.at(_find_bin(confidence)) / self._by_confidence.mean
        return min(1.0, self._by_place.at(place) * odds)

    def _plan(self) -> tuple[int, float]:
        """Return the best fixed γ at the mean acceptance of each place, and η*, its expected tokens per second."""
        tokens, survival = 1.0, 1.0
        best, rate = 0, 1.0 / self._first_s
        for gamma in range(1, self._largest + 1):
            survival *= self._by_place.at(gamma - 1)
            tokens += survival
            found = tokens / (self._first_s + gamma * self._row_s + gamma * self._draft_s)
            if found > rate:
                best, rate = gamma, found
        return best, rate


class Acceptance:
    """Acceptance rates of a few bins, each shrunk towards the mean of all, and that towards an optimistic prior.

    Parameters
    ----------
    bins : int
    """

    def __init__(self, bins: int) -> None:
        # Plain floats, and totals that are carried along: these are asked several times for each drafted token, and a
        # sum over a small array takes longer than all the rest.
        self._accepted = [0.0] * bins
        self._evaluated = [0.0] * bins
        self._all_accepted = self._all_evaluated = 0.0

    def learn(self, keep: float, tested: Iterable[tuple[int, bool]]) -> Acceptance:
        """Return the rates behind another step, of which these bins were tested, and whether they were accepted.

        What was observed before counts for ``keep`` of what it did. This object stays as it is, so that a policy can
        be set back to it.
        """
        after = Acceptance(0)
        after._accepted = [keep * count for count in self._accepted]
        after._evaluated = [keep * count for count in self._evaluated]
        after._all_accepted, after._all_evaluated = keep * self._all_accepted, keep * self._all_evaluated
        for which, accepted in tested:
            after._accepted[which] += accepted
            after._evaluated[which] += 1.0
            after._all_accepted += accepted
            after._all_evaluated += 1.0
        return after

    @property
    def mean(self) -> float:
        """The rate over all bins."""
        return (self._all_accepted + _PRIOR_WEIGHT * _PRIOR_MEAN) / (self._all_evaluated + _PRIOR_WEIGHT)

    def at(self, which: int) -> float:
        """Return the rate of a bin."""
        return (self._accepted[which] + _BIN_WEIGHT * self.mean) / (self._evaluated[which] + _BIN_WEIGHT)


class _FadingLine:
    """A line y = a + b x fitted to observations whose weights fade; sums only, no history."""

    def __init__(self, keep: float) -> None:
        self._keep = keep
        self._n = self._x = self._y = self._xx = self._xy = 0.0

    def add(self, x: float, y: float) -> _FadingLine:
        """Return the line behind another observation; this one stays as it is."""
        after = _FadingLine(self._keep)
        sums = (self._n, self._x, self._y, self._xx, self._xy)
        after._n, after._x, after._y, after._xx, after._xy = (
            self._keep * total + new for total, new in zip(sums, (1.0, x, y, x * x, x * y), strict=True)
        )
        return after

    def fit(self, default_slope: float) -> tuple[float, float]:
        """Return y(1) and b; y(1) is 1 before any data, and b is ``default_slope`` * y(1) until x has varied."""
        if not self._n:
            return 1.0, default_slope
        mean_x, mean_y = self._x / self._n, self._y / self._n
        variance = self._xx / self._n - mean_x * mean_x
        # y(1) = mean_y / (1 + s (mean_x - 1)) where the slope is s times y(1)
        slope = default_slope * mean_y / (1.0 + default_slope * (mean_x - 1.0))
        if variance > 0.05:
            slope = max(0.0, (self._xy / self._n - mean_x * mean_y) / variance)  # more rows never take less time
        return max(mean_y - slope * (mean_x - 1.0), 0.1 * mean_y), slope

    def mean_ratio(self, default: float) -> float:
        """Return sum y / sum x."""
        return self._y / self._x if self._x else default


def _find_bin(confidence: float) -> int:
    return min(_BINS - 1, int(confidence * _BINS))
