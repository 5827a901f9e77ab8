"""Alpha from a run: two estimators of one quantity, each with an interval.

Both estimate the acceptance probability *per evaluated position*. An evaluated position is one whose draft was
accepted, or was the first of its step to be rejected; drafts after a rejection carry no information.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

from minispec.errors import OptionError, quote
from minispec.theory import _checks
from minispec.theory.acceptance import alpha_from_rate, draft_acceptance_rate
from minispec.theory.quantiles import confidence_level, incomplete_beta, normal_quantile, student_quantile
from minispec.theory.tokens import tokens_law


class Estimate(NamedTuple):
    """An estimate and its confidence interval, all in [0, 1]."""

    value: float
    low: float
    high: float


def alpha_from_counts(
    num_accepted: int,
    num_evaluated: int,
    *,
    confidence: float = 0.95,
    interval: Literal["wilson", "exact"] = "wilson",
) -> Estimate:
    """Estimate alpha as accepted / evaluated: the maximum-likelihood estimate of the censored geometric law.

    Parameters
    ----------
    num_accepted : int
    num_evaluated : int
        Accepted drafts and first rejections, at least 1 (``Metrics.num_evaluated_tokens``). Not the drafted ones.
    confidence : float
        In (0, 1).
    interval : {"wilson", "exact"}
        Wilson's score interval, whose coverage is near ``confidence`` on average over alpha and may fall below it; or
        Clopper and Pearson's, which covers at least as often as it says and is wider.

    Notes
    -----
    A step of g drafts with k accepted has likelihood alpha**k (1 - alpha)**[k < g] (censored at g), all steps
    together alpha**A (1 - alpha)**(E - A): largest at A / E. Both intervals take E as fixed in advance. It is not, a
    run fixes its steps or tokens; the tests compute the coverage with the steps fixed. They also assume equal,
    independent acceptances. Where steps differ in kind they cover too rarely; :func:`alpha_from_overlaps` allows for
    dependence within a step. Neither allows for dependence between steps: text that changes over a run.

    Examples
    --------
    >>> [round(x, 3) for x in alpha_from_counts(720, 900)]
    [0.8, 0.773, 0.825]
    """
    evaluated = _checks.whole("evaluated tokens", num_evaluated, 1, 10**9, "decode some tokens with a draft")
    accepted = _checks.whole("accepted tokens", num_accepted, 0, evaluated, "evaluated = accepted + first rejections")
    confidence = confidence_level(confidence)
    if interval not in ("wilson", "exact"):
        raise OptionError(f"interval is {quote(interval)}; there are two; try 'wilson' or 'exact'")
    # alpha = A / E
    value = accepted / evaluated
    low, high = (_wilson if interval == "wilson" else _clopper_pearson)(accepted, evaluated, confidence)
    return Estimate(value, min(low, value), max(high, value))


def alpha_from_drafts(num_accepted: int, num_drafted: int, gamma: int, *, confidence: float = 0.95) -> Estimate:
    """Estimate alpha where only accepted / drafted is known, of drafts of ``gamma`` tokens each.

    Parameters
    ----------
    num_accepted : int
    num_drafted : int
        At least 1; every step drafted ``gamma`` of them.
    gamma : int
        At least 1.
    confidence : float
        In (0, 1).

    Notes
    -----
    r = accepted / drafted is not alpha; :func:`~.acceptance.alpha_from_rate` is the way from one to the other. The
    interval has the alphas that the S = drafted / gamma steps do not refute (a score interval, like Wilson's):

        abs(r - r(alpha)) <= z sqrt(Var[N; alpha] / S) / gamma

    with N the tokens of a step. Drafted tokens are *not* so many independent trials: those after a rejection are lost
    together. It assumes equal, independent acceptances. With accepted and evaluated tokens at hand use
    :func:`alpha_from_counts`.

    Examples
    --------
    720 of 1000 drafts were accepted, five at a time: about 200 steps.

    >>> [round(x, 3) for x in alpha_from_drafts(720, 1000, 5)]
    [0.892, 0.868, 0.913]
    """
    drafted = _checks.whole("drafted tokens", num_drafted, 1, 10**9, "decode some tokens with a draft")
    accepted = _checks.whole("accepted tokens", num_accepted, 0, drafted, "accepted tokens were drafted before")
    gamma = _checks.drafts(gamma, low=1)
    z = normal_quantile(confidence)
    rate, root_steps = accepted / drafted, math.sqrt(drafted / gamma)

    def reach(alpha: float, sign: float) -> float:
        # r(alpha) +- z sd[N; alpha] / (gamma sqrt(S))
        return draft_acceptance_rate(alpha, gamma) + sign * z * math.sqrt(
            max(0.0, tokens_law(alpha, gamma).variance)
        ) / (gamma * root_steps)

    value = alpha_from_rate(rate, gamma)
    # The smallest alpha whose upper end reaches the rate; the largest whose lower end does not exceed it.
    low = _checks.smallest(lambda alpha: reach(alpha, +1.0) if alpha < value else 1.0, rate)
    high = 1.0 - _checks.smallest(lambda back: -reach(1.0 - back, -1.0) if 1.0 - back > value else 0.0, -rate)
    return Estimate(value, min(low, value), max(high, value))


def _wilson(accepted: int, evaluated: int, confidence: float) -> tuple[float, float]:
    """Solve (A/E - alpha)**2 <= z**2 alpha (1 - alpha) / E (E. B. Wilson, JASA 22, 1927)."""
    z = normal_quantile(confidence)
    # (A + z**2 / 2 +- z sqrt(A (E - A) / E + z**2 / 4)) / (E + z**2)
    spread = z * math.sqrt(accepted * (evaluated - accepted) / evaluated + z * z / 4)
    low = (accepted + z * z / 2 - spread) / (evaluated + z * z)
    high = (accepted + z * z / 2 + spread) / (evaluated + z * z)
    return max(0.0, low), min(1.0, high)


def _clopper_pearson(accepted: int, evaluated: int, confidence: float) -> tuple[float, float]:
    """Return the alphas not refuted from either side (C. J. Clopper and E. S. Pearson, Biometrika 26, 1934)."""
    each = 0.5 * (1.0 - confidence)
    low, high = 0.0, 1.0
    if accepted > 0:
        # P(X >= A; low) = (1 - confidence) / 2
        low = _checks.smallest(lambda alpha: binomial_tail(accepted, evaluated, alpha), each)
    if accepted < evaluated:
        # P(X <= A; high) = (1 - confidence) / 2
        high = _checks.smallest(lambda alpha: binomial_tail(accepted + 1, evaluated, alpha), 1.0 - each)
    return low, high


def binomial_tail(count: int, trials: int, prob: float) -> float:
    """Return P(X >= count) of the binomial law, 1 <= count <= trials: the incomplete beta I_p(k, n - k + 1).

    Examples
    --------
    >>> round(binomial_tail(2, 3, 0.5), 12)
    0.5
    """
    # I_p(k, n - k + 1)
    return incomplete_beta(float(count), float(trials - count + 1), prob)


def alpha_from_overlaps(overlaps: Sequence[Sequence[float]], *, confidence: float = 0.95) -> Estimate:
    """Estimate alpha as the mean of beta = sum min(p, q) over the evaluated positions.

    Parameters
    ----------
    overlaps : sequence of sequence of float
        For each step, beta at its evaluated positions. Steps without any do not count; at least two steps must count.
    confidence : float
        In (0, 1).

    Returns
    -------
    Estimate
        With Student's interval, in which steps are independent and the positions of one step need not be.

    Notes
    -----
    Given the text so far a draft is accepted with probability beta, so accepted - sum of beta is a martingale, and this
    and accepted / evaluated estimate the same alpha. It does without the noise of accepting: with independent beta its
    variance is smaller by E[beta (1 - beta)] / E, to first order in 1 / E. It is a ratio of two sums over S steps, so
    (W. G. Cochran, Sampling Techniques, 1977, chapter 6)

        Var = S / (S - 1) sum_i (B_i - alpha E_i)**2 / (sum_i E_i)**2,    B_i = sum of beta in step i.

    with t of S - 1 degrees of freedom, as the variance is estimated from as many steps. At temperature 0 every beta is
    0 or 1: if all are alike, nothing is seen of the variance, and steps are taken for trials (Wilson's interval).

    Examples
    --------
    >>> [round(x, 3) for x in alpha_from_overlaps([[0.9, 0.8], [0.5], [0.7, 0.9, 0.6]] * 20)]
    [0.733, 0.709, 0.758]
    """
    confidence = confidence_level(confidence)
    steps = [_checks.probabilities(f"beta of step {i}", step, "it is sum min(p, q)") for i, step in enumerate(overlaps)]
    sums = [(math.fsum(step), len(step)) for step in steps if step]
    if len(sums) < 2:
        raise OptionError(
            f"{len(sums)} steps with an evaluated draft; an interval needs at least 2; decode more tokens"
        )
    evaluated = sum(length for _, length in sums)
    # alpha = sum_i B_i / sum_i E_i
    value = math.fsum(total for total, _ in sums) / evaluated
    if value in (0.0, 1.0):
        return alpha_from_counts(round(value * len(sums)), len(sums), confidence=confidence)
    # Var = S / (S - 1) sum_i (B_i - alpha E_i)**2 / (sum_i E_i)**2
    squares = math.fsum((total - value * length) ** 2 for total, length in sums)
    error = math.sqrt(len(sums) / (len(sums) - 1) * squares) / evaluated
    t = student_quantile(confidence, len(sums) - 1)
    return Estimate(min(1.0, value), max(0.0, value - t * error), min(1.0, value + t * error))
