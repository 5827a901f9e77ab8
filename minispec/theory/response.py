"""Finite responses: how many steps produce n tokens, and what a short response gains.

The last step is cut at n tokens. Whether its draft is cut too (the engine never drafts more than room - 1 tokens)
changes what the step costs but not how many steps there are: both end the response at the same step.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from minispec.errors import OptionError
from minispec.theory import _checks
from minispec.theory.laws import CountLaw
from minispec.theory.tokens import survivals
from minispec.theory.walltime import VerifyCost, step_cost

MAX_TOKENS = 16_384
"""The law of the steps takes n**2 gamma operations; no context of a GPT-2 is as long."""


def _tokens(num_tokens: int) -> int:
    return _checks.whole("the number of tokens", num_tokens, 0, MAX_TOKENS, "cut the response into parts")


def _emits(tokens: CountLaw) -> CountLaw:
    if tokens.probs[0] != 0.0:
        raise OptionError(
            f"the law of the tokens per step gives 0 tokens a probability of {tokens.probs[0]}; every step emits at "
            "least one; count only steps that ran to their end"
        )
    return tokens


def steps_law(num_tokens: int, tokens: CountLaw) -> CountLaw:
    """Return the exact law of R(n), the number of steps that produce ``num_tokens`` tokens, the last step cut.

    Parameters
    ----------
    num_tokens : int
        n, at most 16384.
    tokens : CountLaw
        Of the tokens per step, independent from step to step: :func:`~.tokens.tokens_law`, or measured.

    Returns
    -------
    CountLaw
        On 0..n; ``quantile`` and ``tail`` give its P50, P99 and the like.

    Notes
    -----
    R(n) > r says that r steps leave it unfinished: N_1 + ... + N_r < n. The law of that sum is carried from step to
    step.

    Examples
    --------
    >>> from minispec.theory import tokens_law
    >>> law = steps_law(20, tokens_law(0.7, 4))
    >>> round(law.mean, 3), [law.quantile(level) for level in (0.05, 0.5, 0.95, 0.99)]
    (7.689, [5, 8, 10, 12])
    """
    num_tokens, step = _tokens(num_tokens), _emits(tokens).probs
    step = step / step.sum()  # what it may miss of 1 would count once a step
    probs = np.zeros(num_tokens + 1)
    if num_tokens == 0:
        probs[0] = 1.0
        return CountLaw(probs)
    unfinished = np.ones(1)  # unfinished[i] = P(N_1 + ... + N_r = r + i < n)
    for r in range(1, num_tokens + 1):
        # P(N_1 + ... + N_r = m) = sum_k P(N_r = k) P(N_1 + ... + N_{r-1} = m - k)
        sums = np.convolve(unfinished, step[1:])
        # P(R = r) = P(N_1 + ... + N_{r-1} < n <= N_1 + ... + N_r)
        probs[r] = sums[num_tokens - r :].sum()
        unfinished = sums[: num_tokens - r]
        if not unfinished.any():
            break
    return CountLaw(probs)


def expected_steps(num_tokens: int, tokens: CountLaw) -> float:
    """Return E[R(n)], the mean of :func:`steps_law`, in n gamma operations.

    Examples
    --------
    >>> from minispec.theory import tokens_law
    >>> round(expected_steps(5, tokens_law(0.7, 4)), 3)
    2.2
    """
    num_tokens, step = _tokens(num_tokens), _emits(tokens).probs
    means = [0.0]
    for n in range(1, num_tokens + 1):
        # R(n) = 1 + sum_k P(N = k) R(n - k), and R = 0 once nothing is left
        means.append(1.0 + sum(float(step[k]) * means[n - k] for k in range(1, min(n, len(step)))))
    return means[num_tokens]


def expected_steps_asymptote(num_tokens: int, tokens: CountLaw) -> float:
    """Return n / mu + E[N (N - 1)] / (2 mu**2), which E[R(n)] approaches: finiteness costs a part of one step.

    Notes
    -----
    Wald: mu E[R(n)] = n + E[overshoot], and by the renewal theorem the overshoot tends to E[N (N - 1)] / (2 mu), if not
    all N share a divisor.

    Examples
    --------
    >>> from minispec.theory import tokens_law
    >>> round(expected_steps_asymptote(20, tokens_law(0.7, 4)), 3)
    7.689
    """
    num_tokens, mu = _tokens(num_tokens), _emits(tokens).mean
    # E[N (N - 1)] = Var[N] + mu (mu - 1)
    return num_tokens / mu + (tokens.variance + mu * (mu - 1.0)) / (2.0 * mu**2)


def response_speedup(
    num_tokens: int,
    acceptances: Sequence[float],
    cost_ratio: float,
    verify_cost: VerifyCost = 1.0,
    overhead: float = 0.0,
    *,
    cut_drafts: bool = True,
    plain_setup: float = 0.0,
    speculative_setup: float = 0.0,
) -> float:
    """Return the expected time of plain over that of speculative decoding for a response of ``num_tokens`` tokens.

    Parameters
    ----------
    num_tokens : int
        n, from 1 to 16384.
    acceptances : sequence of float
        a_1, ..., a_gamma; ``[alpha] * gamma`` for equal ones.
    cost_ratio, verify_cost, overhead
        As in :func:`~.walltime.speedup`. A number for ``verify_cost`` holds for every draft of at least one token;
        one row costs 1 by definition. Every step pays o, also one that drafts nothing.
    cut_drafts : bool
        Draft no more than room - 1 tokens, as the engine does. False: the last drafts have full length too.
    plain_setup, speculative_setup : float
        What each way costs before its first step (prefill, loading), in plain steps.

    Notes
    -----
    With m tokens left the draft has g(m) = min(gamma, m - 1) tokens, and the expected cost to the end is
    C(m) = step_cost(g) + sum_k P(N_g = k) C(m - k).

    Examples
    --------
    >>> [round(response_speedup(n, [0.7] * 4, 0.05), 3) for n in (1, 5, 20, 400)]
    [1.0, 2.008, 2.211, 2.306]
    """
    num_tokens = _checks.whole("the number of tokens", num_tokens, 1, MAX_TOKENS, "cut the response into parts")
    plain_setup = _checks.cost("plain setup", plain_setup)
    speculative_setup = _checks.cost("speculative setup", speculative_setup)
    reached = [1.0, *survivals(acceptances)]
    gamma = len(reached) - 1
    costs = [step_cost(g, cost_ratio, 1.0 if g == 0 else verify_cost, overhead) for g in range(gamma + 1)]
    # P(N = k) = s_{k-1} - s_k: exactly k tokens, for k <= gamma
    exactly = [before - after for before, after in itertools.pairwise(reached)]
    to_the_end = [0.0]
    for left in range(1, num_tokens + 1):
        g = min(gamma, left - 1)
        # C(m) = cost + sum_k P(N = k) C(m - k); a full step, N = g + 1, takes the rest of the probability
        rest = (
            sum(exactly[k - 1] * to_the_end[left - k] for k in range(1, g + 1)) + reached[g] * to_the_end[left - g - 1]
        )
        to_the_end.append(costs[g if cut_drafts else gamma] + rest)
    # (plain set-up + n) / (speculative set-up + C(n))
    return (plain_setup + num_tokens) / _checks.above_zero(
        "the cost of the response", speculative_setup + to_the_end[num_tokens], "a verifying forward takes time"
    )
