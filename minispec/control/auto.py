"""γ from measured costs and learned acceptance: draft one more token iff it is expected to pay.

With S(k) the probability that the first k drafts all survive, a step with γ drafts emits 1 + S(1) + ... + S(γ) tokens
on average and costs T(γ + 1) + γ d, where T(m) is the target's time for m rows and d the draft's time per token. The
best rate over γ is η*, and the rule that achieves it is a stopping rule: draw one more token iff

    S(k) * a > η* * (d + T(k + 2) - T(k + 1)),

a being the probability that the next token survives, given how sure the draft is of it. With T flat and in units of
T(1) the right side is c η*, the form in which the rule is usually written.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from minispec.records import Step

_BINS = 8  # of the draft's largest probability
_PRIOR_WEIGHT = 4.0  # pseudo-observations: a few real ones outweigh it
_PRIOR_COST_RATIO = 0.1
_PRIOR_ROW_COST = 0.05  # of one more row in the target's forward, in units of T(1)


class AutoGamma:
    """Learns, per request, how often drafts survive and what everything costs.

    Acceptance is learned from censored observations: the accepted drafts and the first rejected one count, what lies
    behind it was never tested. It is kept by the draft's confidence in eight bins, each shrunk towards the mean of
    all. Old observations fade.

    Parameters
    ----------
    largest : int
        The most to draft.
    memory : float
        Steps after which an observation's weight has fallen to 1/e.
    """

    timed = True

    def __init__(self, largest: int = 16, memory: float = 64.0) -> None:
        self._largest = largest
        self._keep = math.exp(-1.0 / memory)
        self._accepted = np.zeros(_BINS)
        self._evaluated = np.zeros(_BINS)
        self._draft = _FadingLine(self._keep)
        self._target = _FadingLine(self._keep)
        self._confidences: list[float] = []  # of the present draft's tokens
        self._survival = 1.0

    def gamma(self) -> int:
        """Begin a new draft; how long it gets is decided token by token."""
        self._confidences = []
        self._survival = 1.0
        return self._largest

    def keep_drafting(self, probs: NDArray[np.float64]) -> bool:
        """Return whether the next token is expected to pay for itself."""
        confidence = float(probs.max())
        survival = self._survival * self._acceptance(confidence)
        drafted = len(self._confidences)
        extra_s = self._draft_s() + self._target_s(drafted + 2) - self._target_s(drafted + 1)
        if survival <= self._best_rate() * extra_s:
            return False
        self._confidences.append(confidence)
        self._survival = survival
        return True

    def observe(self, step: Step) -> None:
        """Learn acceptance and times from a finished step."""
        self._accepted *= self._keep
        self._evaluated *= self._keep
        for i, confidence in enumerate(self._confidences[: step.verdict.num_accepted + 1]):
            self._accepted[_bin(confidence)] += i < step.verdict.num_accepted
            self._evaluated[_bin(confidence)] += 1.0
        if step.draft_tokens:
            self._draft.add(len(step.draft_tokens), step.draft_s)
        self._target.add(len(step.draft_tokens) + 1, step.step_s - step.draft_s)

    def _acceptance(self, confidence: float) -> float:
        """Return a: the bin's mean acceptance, shrunk towards the mean of all bins, itself towards the confidence."""
        overall = (self._accepted.sum() + _PRIOR_WEIGHT * 0.7) / (self._evaluated.sum() + _PRIOR_WEIGHT)
        b = _bin(confidence)
        return float((self._accepted[b] + _PRIOR_WEIGHT * overall) / (self._evaluated[b] + _PRIOR_WEIGHT))

    def _target_s(self, rows: int) -> float:
        """T(rows); in units of T(1) until a first step has been measured."""
        return self._target.at(rows, default_slope=_PRIOR_ROW_COST)

    def _draft_s(self) -> float:
        """Time of one drafted token."""
        return self._draft.mean_ratio(default=_PRIOR_COST_RATIO * self._target_s(1))

    def _best_rate(self) -> float:
        """η*: the best expected tokens per second over fixed γ, at the mean acceptance."""
        alpha = (self._accepted.sum() + _PRIOR_WEIGHT * 0.7) / (self._evaluated.sum() + _PRIOR_WEIGHT)
        tokens, survival, best = 1.0, 1.0, 1.0 / self._target_s(1)
        for gamma in range(1, self._largest + 1):
            survival *= alpha
            tokens += survival
            best = max(best, tokens / (self._target_s(gamma + 1) + gamma * self._draft_s()))
        return best


class _FadingLine:
    """A line y = a + b x fitted to observations whose weights fade; sums only, no history."""

    def __init__(self, keep: float) -> None:
        self._keep = keep
        self._n = self._x = self._y = self._xx = self._xy = 0.0

    def add(self, x: float, y: float) -> None:
        sums = (self._n, self._x, self._y, self._xx, self._xy)
        self._n, self._x, self._y, self._xx, self._xy = (
            self._keep * total + new for total, new in zip(sums, (1.0, x, y, x * x, x * y), strict=True)
        )

    def at(self, x: float, default_slope: float) -> float:
        """Return y at ``x``; y(1) is 1 before any data, and the slope ``default_slope`` * y(1) until x has varied."""
        if not self._n:
            return 1.0 + default_slope * (x - 1.0)
        mean_x, mean_y = self._x / self._n, self._y / self._n
        variance = self._xx / self._n - mean_x * mean_x
        # y(1) = mean_y / (1 + s (mean_x - 1)) where the slope is s times y(1)
        slope = default_slope * mean_y / (1.0 + default_slope * (mean_x - 1.0))
        if variance > 0.05:
            slope = max(0.0, (self._xy / self._n - mean_x * mean_y) / variance)  # more rows never take less time
        return max(mean_y + slope * (x - mean_x), 0.1 * mean_y)

    def mean_ratio(self, default: float) -> float:
        """Return sum y / sum x."""
        return self._y / self._x if self._x else default


def _bin(confidence: float) -> int:
    return min(_BINS - 1, int(confidence * _BINS))
