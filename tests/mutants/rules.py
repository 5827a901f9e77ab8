"""Rejection sampling with replaceable parts, to write wrong rules by their one wrong part.

``make_verify()`` without arguments is a second, independent writing of the right rule: the positive control.
"""

from __future__ import annotations

import math

import numpy as np

from minispec.engine.records import Verdict


def right_ratio(p, q, x):
    return p[x] / q[x]


def right_residual(p, q):
    positive = np.maximum(p - q, 0.0)
    return normalise(positive) if positive.sum() > 0.0 else p


def normalise(weights):
    return weights / weights.sum()


def softmax(x):
    return normalise(np.exp(x))


def one_hot(index, size):
    return np.eye(size)[index]


def half_normal(ratio):
    """P(randn() < ratio): the coin of a rule that calls randn where it means rand."""
    return 0.5 * (1.0 + math.erf(ratio / math.sqrt(2.0)))


def first_failure(accepted):
    return next((i for i, ok in enumerate(accepted) if not ok), len(accepted))


def make_verify(
    *,
    ratio=right_ratio,
    residual=right_residual,
    bonus=lambda target_probs, draft: target_probs[len(draft)],
    judge=lambda i: i,
    accept=lambda coins, i, prob: coins.accept(i, prob),
    count=first_failure,
    plain=lambda coins, probs: coins.sample(0, probs),
):
    def verify(draft, target_probs, coins):
        accepted, ratios = [], []
        for i, token in enumerate(draft.tokens):
            ratios.append(min(1.0, float(ratio(target_probs[judge(i)], draft.probs[i], token))))
            accepted.append(accept(coins, i, ratios[-1]))
        kept = count(accepted)
        if not draft.tokens:
            return Verdict(0, plain(coins, target_probs[0]), "plain")
        if kept == len(draft):
            return Verdict(kept, coins.bonus(kept, bonus(target_probs, draft)), "bonus", tuple(ratios))
        recovered = coins.residual(kept, residual(target_probs[judge(kept)], draft.probs[kept]))
        return Verdict(kept, recovered, "recovered", tuple(ratios[: kept + 1]))

    return verify
