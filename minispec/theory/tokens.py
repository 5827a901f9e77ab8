"""How many tokens a step emits: its law, acceptances that change with the position, steps of different kinds.

A step drafts gamma tokens, keeps the first k of them and adds one: N = k + 1 tokens, from 1 to gamma + 1.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Literal

import numpy as np

from minispec.errors import OptionError
from minispec.theory import _checks
from minispec.theory.laws import CountLaw


def survivals(acceptances: Sequence[float]) -> list[float]:
    """Return s_1, ..., s_gamma: the probability that the first k drafts are all accepted.

    Parameters
    ----------
    acceptances : sequence of float
        a_i, the probability that draft i is accepted, given that those before it were.

    Examples
    --------
    >>> survivals([0.5, 0.5])
    [0.5, 0.25]
    """
    checked = _checks.probabilities("acceptance", acceptances)
    # s_k = prod_{i <= k} a_i
    return list(itertools.accumulate(checked, lambda before, a: before * a))


def conditional_acceptances(survivals: Sequence[float]) -> list[float]:
    """Return a_1, ..., a_gamma from s_1, ..., s_gamma; a position that is never reached counts as 0.

    Parameters
    ----------
    survivals : sequence of float
        Not increasing; of a run, ``num_accepted_tokens_per_pos`` / all steps. Where drafts differ in length, a_i is
        then the probability that draft i is made and accepted.

    Examples
    --------
    >>> conditional_acceptances([0.5, 0.25, 0.0, 0.0])
    [0.5, 0.5, 0.0, 0.0]
    """
    checked = _checks.probabilities("survival", survivals)
    for i, (before, after) in enumerate(itertools.pairwise(checked)):
        if after > before:
            raise OptionError(
                f"survival[{i + 1}] is {after}, after {before}; a longer prefix cannot be accepted more often; divide "
                "each count by the number of all steps"
            )
    # a_k = s_k / s_{k-1}
    return [after / before if before else 0.0 for before, after in itertools.pairwise([1.0, *checked])]


def tau_by_position(acceptances: Sequence[float]) -> float:
    """Return the expected tokens per step, tau = 1 + sum_k s_k, of acceptances that depend on the position.

    Parameters
    ----------
    acceptances : sequence of float
        a_1, ..., a_gamma, each given that those before it were accepted.

    Notes
    -----
    Exact, whatever the law of the acceptances: N - 1 = sum_k [the first k drafts accepted]. Equal a_i give
    :func:`~.acceptance.tau`.

    Examples
    --------
    >>> round(tau_by_position([0.8 * 0.9**i for i in range(5)]), 3)
    3.081
    """
    total = 1.0
    for a in reversed(_checks.probabilities("acceptance", acceptances)):
        # 1 + s_1 + ... + s_gamma = 1 + a_1 (1 + a_2 (1 + ...))
        total = 1.0 + a * total
    return total


def exact_tau(alpha: float, survival: float) -> float:
    """Return tokens per step from accepted / evaluated and the share of steps without a rejection: an identity.

    Parameters
    ----------
    alpha : float
        Accepted / evaluated, of a run or expected; below 1. With 1 nothing was ever rejected, and tau is the mean draft
        length plus 1.
    survival : float
        s_gamma: steps without a rejection / steps. Drafts may differ in length; one of no tokens has no rejection.

    Notes
    -----
    No assumption. Of S steps with A accepted drafts (1 - s) S end with a rejection, so E = A + (1 - s) S positions are
    evaluated; from A = alpha E follows A / S = alpha (1 - s) / (1 - alpha), and tau = 1 + A / S.
    :func:`~.acceptance.tau` has alpha**(gamma + 1) where this has alpha s: with the measured alpha it is too high
    exactly if s > alpha**gamma: if acceptances come in clusters, for instance, or rise with the position.

    Examples
    --------
    Half of the steps accept with .45, half with .95, five drafts each: accepted / evaluated is .8086 (not .7, the mean
    over steps), and the formula makes 3.764 of it.

    >>> survival = (0.45**5 + 0.95**5) / 2
    >>> round(exact_tau(0.808558, survival), 3)
    3.551
    """
    alpha = _checks.probability("alpha", alpha)
    survival = _checks.probability("survival", survival, "it is steps without a rejection / steps")
    rejected = _checks.above_zero("1 - alpha", 1.0 - alpha, "with alpha 1 tau is the mean draft length plus 1")
    # tau = (1 - alpha s) / (1 - alpha)
    return (1.0 - alpha * survival) / rejected


def tokens_law_by_position(acceptances: Sequence[float]) -> CountLaw:
    """Return the law of the tokens per step of acceptances that depend on the position.

    Parameters
    ----------
    acceptances : sequence of float
        a_1, ..., a_gamma, each given that those before it were accepted.

    Examples
    --------
    >>> tokens_law_by_position([0.5, 0.5]).probs.tolist()
    [0.0, 0.5, 0.25, 0.25]
    """
    reached = [1.0, *survivals(acceptances)]
    # P(N = k + 1) = s_k (1 - a_{k+1}) for k < gamma, and s_gamma for k = gamma
    first_rejections = [s * (1.0 - a) for s, a in zip(reached, acceptances, strict=False)]
    return CountLaw(np.array([0.0, *first_rejections, reached[-1]]))


def tokens_law(alpha: float, gamma: int) -> CountLaw:
    """Return the law of the tokens per step: geometric, capped at gamma + 1.

    Parameters
    ----------
    alpha : float
    gamma : int

    Returns
    -------
    CountLaw
        Of N, from 1 to gamma + 1; its mean is tau, its variance sum_k (2k + 1) alpha**k - tau**2.

    Notes
    -----
    Section 3.1 of Leviathan et al. 2023. The variance: E[N**2] = sum_k (2k + 1) P(N > k) and P(N > k) = alpha**k for k
    from 0 to gamma.

    Examples
    --------
    >>> law = tokens_law(0.8, 5)
    >>> round(law.mean, 4), round(law.variance, 4)
    (3.6893, 3.8641)
    """
    return tokens_law_by_position([_checks.probability("alpha", alpha)] * _checks.drafts(gamma))


def pooled_tau(
    taus: Sequence[float], weights: Sequence[float], *, weights_are: Literal["steps", "tokens"] = "tokens"
) -> float:
    """Return the tokens per step of unlike texts (or states of one text) taken together.

    Parameters
    ----------
    taus : sequence of float
        Tokens per step of each, at least 1.
    weights : sequence of float
        How much there is of each; only their ratios matter.
    weights_are : {"steps", "tokens"}
        What the weights count. Equally long texts weigh equally in tokens.

    Notes
    -----
    Tokens over steps: of shares of steps the arithmetic mean, of shares of tokens the harmonic mean, which is less.
    With one acceptance beta throughout each step, drawn anew for every step, the first is E[tau(beta)], and it is at
    least tau(E[beta]), because tau is convex. Mind which mean that is: of beta over *steps*. Accepted / evaluated
    weighs steps by how far they got, is larger, and puts the formula too high (:func:`exact_tau`).

    Examples
    --------
    Acceptances .45 and .95, half and half, have the mean .7 over steps (accepted / evaluated: .809); tau(.7, 5) = 2.941
    and tau(.809, 5) = 3.76 are right for neither pool:

    >>> from minispec.theory import tau
    >>> both = [tau(0.45, 5), tau(0.95, 5)]
    >>> [round(pooled_tau(both, [1, 1], weights_are=kind), 3) for kind in ("steps", "tokens")]
    [3.551, 2.691]
    """
    if len(taus) != len(weights) or len(taus) == 0 or weights_are not in ("steps", "tokens"):
        raise OptionError(
            f"{len(taus)} taus, {len(weights)} weights of {weights_are!r}; each tau needs a weight, in 'steps' or "
            "'tokens'; try weights [1, 1] for two of equal size"
        )
    lengths = [_checks.at_least(f"taus[{i}]", t, 1, "a step emits at least one token") for i, t in enumerate(taus)]
    shares = [_checks.at_least(f"weights[{i}]", w, 0, "it is an amount") for i, w in enumerate(weights)]
    total = _checks.above_zero("the sum of the weights", sum(shares), "give one of them some weight")
    if weights_are == "steps":
        # sum_i w_i tau_i / sum_i w_i
        return sum(w * t for w, t in zip(shares, lengths, strict=True)) / total
    # sum_i w_i / sum_i (w_i / tau_i)
    return total / sum(w / t for w, t in zip(shares, lengths, strict=True))
