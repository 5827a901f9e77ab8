"""LOSSY on purpose: typical acceptance, which accepts a draft token that is likely enough for the target.

Cai et al., "Medusa: Simple LLM Inference Acceleration Framework with Multiple Decoding Heads" (2024): a drafted x stays
iff

    p(x) > min(epsilon, delta exp(-H(p))),     H the entropy of p in nats,

without a random draw and without reading q. With S the tokens above the threshold, a judged token has the distribution
q(x) [x in S] + (1 - q(S)) p(x): in S the *draft's* and a share of the target's. A rejected token is replaced by a draw
from p.

Medusa never judges the first token of a step, because it draws it from the target's own head. Here that token is the
one that ended the step before, so nothing is special about the first draft. Its entropy adds 1e-5 inside the logarithm
against log 0; here 0 log 0 is 0. At temperature 0 the rows are one-hot, H = 0, and the rule keeps exactly the target's
argmax (epsilon and delta are below 1).
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from minispec.engine.noise import Coins
from minispec.engine.records import Draft, Probs, Verdict
from minispec.engine.verifiers import one_by_one


def threshold(target_probs: Probs, *, epsilon: float, delta: float) -> float:
    """Return min(epsilon, delta exp(-H(p))).

    Examples
    --------
    >>> p = np.full(4, 0.25)  # exp(-H) = 1 / 4
    >>> round(threshold(p, epsilon=0.09, delta=0.3), 6)
    0.075
    """
    support = target_probs[target_probs > 0.0]
    entropy = -float((support * np.log(support)).sum())
    return min(epsilon, delta * float(np.exp(-entropy)))


def keep(target_probs: Probs, draft_probs: Probs, *, epsilon: float, delta: float) -> Probs:
    """Return 1 for every token above the threshold, 0 for the others; ``draft_probs`` is not read."""
    return (target_probs > threshold(target_probs, epsilon=epsilon, delta=delta)).astype(np.float64)


def replacement(target_probs: Probs, draft_probs: Probs) -> Probs:
    """Return p: a rejected token is replaced by a plain draw."""
    return target_probs


def acceptance_probability(target_probs: Probs, draft_probs: Probs, *, epsilon: float, delta: float) -> float:
    """Return q(S), S the tokens above the threshold."""
    return float(draft_probs[target_probs > threshold(target_probs, epsilon=epsilon, delta=delta)].sum())


def survival(
    before: float, target_probs: Probs, draft_probs: Probs, token: int, *, epsilon: float, delta: float
) -> float:
    """Return s_i = s_{i-1} if x_i is above the threshold, else 0."""
    return before if target_probs[token] > threshold(target_probs, epsilon=epsilon, delta=delta) else 0.0


def output_distribution(target_probs: Probs, draft_probs: Probs, *, epsilon: float, delta: float) -> Probs:
    """Return q on S plus (1 - q(S)) p, the distribution of a token at a judged position."""
    accept = partial(keep, epsilon=epsilon, delta=delta)
    return one_by_one.output_distribution(target_probs, draft_probs, keep=accept, replace=replacement)


def verify(
    draft: Draft,
    target_probs: NDArray[np.float64],
    coins: Coins,
    *,
    epsilon: float,
    delta: float,
) -> Verdict:
    """Keep each draft that is above the threshold until the first that is not."""
    accept = partial(keep, epsilon=epsilon, delta=delta)
    return one_by_one.verify(draft, target_probs, coins, keep=accept, replace=replacement)
