"""Rejection sampling with replaceable parts, to write wrong rules by their one wrong part.

``make_verify()`` without arguments is a second, independent writing of the right rule: the positive control.
"""

from __future__ import annotations

import math

import numpy as np

from minispec.noise import Address
from minispec.records import Verdict


def right_ratio(p, q, x):
    return p[x] / q[x]


def right_residual(p, q):
    positive = np.maximum(p - q, 0.0)
    return normalised(positive) if positive.sum() > 0.0 else p


def normalised(weights):
    return weights / weights.sum()


def softmax(x):
    return normalised(np.exp(x))


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
    accept_at=lambda position, i, step: (position + i, step),
    count=first_failure,
    plain_at=lambda position, step, row: Address("sample", position, row=row),
):
    def verify(draft, target_probs, coins):
        def at(purpose, where):
            return Address(purpose, where, step, row)

        accepted, ratios = [], []
        for i, token in enumerate(draft.tokens):
            ratios.append(min(1.0, float(ratio(target_probs[judge(i)], draft.probs[i], token))))
            where, when = accept_at(position, i, step)
            accepted.append(noise.bernoulli(ratios[-1], Address("accept", where, when, row)))
        kept = count(accepted)
        if not draft.tokens:
            return Verdict(0, noise.categorical(target_probs[0], plain_at(position, step, row)), "plain")
        if kept == len(draft):
            law = bonus(target_probs, draft)
            return Verdict(kept, noise.categorical(law, at("bonus", position + kept)), "bonus", tuple(ratios))
        law = residual(target_probs[judge(kept)], draft.probs[kept])
        recovered = noise.categorical(law, at("residual", position + kept))
        return Verdict(kept, recovered, "recovered", tuple(ratios[: kept + 1]))

    return verify
