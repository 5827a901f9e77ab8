"""The checks of lesson 5: rejection sampling."""

from __future__ import annotations

import numpy as np

from minispec.teaching import Mistake, Prediction, Reply, Step

P = np.array([0.5, 0.3, 0.2])
Q = np.array([0.2, 0.3, 0.5])

PREDICTIONS = [
    Prediction(
        "acceptance",
        0.7,
        "What both laws have is accepted: min(0.5, 0.2) + min(0.3, 0.3) + min(0.2, 0.5) = 0.7.",
        [
            Reply(lambda a: a > 1, "A probability is at most 1."),
            Reply(0.38, "That is Σ p·q, the chance that two independent draws agree; the rule accepts far more often."),
            Reply(0.3, "That is the total variation between p and q: what is *rejected*."),
        ],
        tolerance=0.01,
    ),
    Prediction(
        "from_p",
        "no",
        "Where q is larger than p, a rejected token would get a second chance from p, and come out too often.",
        [Reply("yes", "It looks harmless: p is what we want, after all.")],
    ),
]


def accept(target_prob: float, draft_prob: float, u: float) -> bool:
    return u < min(1.0, target_prob / draft_prob)


def residual(target_probs: np.ndarray, draft_probs: np.ndarray) -> np.ndarray:
    positive = np.maximum(target_probs - draft_probs, 0.0)
    mass = positive.sum()
    return positive / mass if mass > 0 else target_probs.copy()


def draw(probs: np.ndarray, u: float) -> int:
    """Invert the cumulative law: the first token whose cumulative probability is above u."""
    return int(min(np.searchsorted(np.cumsum(probs), u, side="right"), np.flatnonzero(probs)[-1]))


def judge(target_probs: np.ndarray, draft_probs: np.ndarray, token: int, u_accept: float, u_next: float) -> int:
    if accept(target_probs[token], draft_probs[token], u_accept):
        return token
    return draw(residual(target_probs, draft_probs), u_next)


def output_law(target_probs: np.ndarray, draft_probs: np.ndarray) -> np.ndarray:
    accepted = np.minimum(target_probs, draft_probs)
    return accepted + (1.0 - accepted.sum()) * residual(target_probs, draft_probs)


def _positive(target_probs: np.ndarray, draft_probs: np.ndarray) -> np.ndarray:
    return np.maximum(target_probs - draft_probs, 0.0)


def _other_way(target_probs: np.ndarray, draft_probs: np.ndarray) -> np.ndarray:
    return residual(draft_probs, target_probs)


def _absolute(target_probs: np.ndarray, draft_probs: np.ndarray) -> np.ndarray:
    apart = np.abs(target_probs - draft_probs)
    return apart / apart.sum() if apart.sum() > 0 else target_probs.copy()


def _judge_from_p(target_probs: np.ndarray, draft_probs: np.ndarray, token: int, ua: float, un: float) -> int:
    return token if accept(target_probs[token], draft_probs[token], ua) else draw(target_probs, un)


def _judge_match(target_probs: np.ndarray, draft_probs: np.ndarray, token: int, ua: float, un: float) -> int:
    return draw(target_probs, un)


def _law_from_p(target_probs: np.ndarray, draft_probs: np.ndarray) -> np.ndarray:
    accepted = np.minimum(target_probs, draft_probs)
    return accepted + (1.0 - accepted.sum()) * target_probs


def _pairs() -> list[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(5)
    some = [tuple(rng.dirichlet([0.7] * 6, 2)) for _ in range(8)]
    return [
        (np.array([0.5, 0.5]), np.array([0.25, 0.75])),
        (P, Q),
        (np.array([0.0, 1.0]), np.array([1.0, 0.0])),
        *((a, b) for a, b in some),
        (P, P),
    ]


def _judgements() -> list[tuple[np.ndarray, np.ndarray, int, float, float]]:
    grid = (0.05, 0.35, 0.65, 0.95)
    return [(P, Q, token, ua, un) for token in range(3) for ua in grid for un in grid]


STEPS = [
    Step(
        "accept",
        [
            (p, q, u)
            for p, q in ((0.2, 0.5), (0.5, 0.2), (0.3, 0.3), (0.0, 0.4), (1e-3, 0.9))
            for u in (0.0, 0.2, 0.39, 0.41, 0.7, 0.999)
        ],
        accept,
        [
            Mistake("You divide the wrong way round: it is p/q, target over draft.", lambda p, q, u: u * p < q),
            Mistake("You accept with probability p. Given that the draft proposed it, p/q is enough.",
                    lambda p, q, u: u < p),
            Mistake("You never reject: where p is smaller than q, some of those proposals have to go.",
                    lambda p, q, u: True),
            Mistake("u must be *below* the ratio: you reject when you should accept.",
                    lambda p, q, u: not u < min(1.0, p / q)),
        ],
        [
            "A ratio of two probabilities. Which one is on top if a token that the target likes better must pass?",
            "Accept with probability min(1, p/q). An event of probability a is `u < a`.",
        ],
    ),
    Step(
        "residual",
        _pairs,
        residual,
        [
            Mistake("It does not sum to 1: divide by what is left.", _positive),
            Mistake("You took q − p, what was drafted too often; the residual is what was drafted too rarely.",
                    _other_way),
            Mistake("You took |p − q|: tokens that were drafted too often must not come back.", _absolute),
            Mistake("That is p itself. Tokens that were accepted on the way would be counted twice.",
                    lambda p, q: p),
        ],
        [
            "What does p have that min(p, q) has not?",
            "max(p − q, 0), divided by its sum.",
            "And if p equals q nothing is left to divide by: return p, which nobody will ever draw from.",
        ],
    ),
    Step(
        "judge",
        _judgements,
        judge,
        [
            Mistake("After a rejection you draw from p. Draw from the residual.", _judge_from_p),
            Mistake("You ignore the drafted token and sample from p: the right law, and not one draft accepted.",
                    _judge_match),
            Mistake("You keep the rejected token.", lambda p, q, token, ua, un: token),
        ],
        ["Two cases: accepted, then it is the token itself; rejected, then `draw(residual(...), u_next)`."],
    ),
    Step(
        "output_law",
        _pairs,
        output_law,
        [
            Mistake("You left out the rejected tokens: this sums to the acceptance probability, not to 1.",
                    lambda p, q: np.minimum(p, q)),
            Mistake("Your rejected tokens come back from p instead of the residual.", _law_from_p),
            Mistake("The residual comes into play only after a rejection: weigh it by that probability.",
                    lambda p, q: np.minimum(p, q) + residual(p, q)),
        ],
        [
            "A token comes out in two ways. Add the two probabilities.",
            "q(x) · min(1, p(x)/q(x)) = min(p(x), q(x)) is the first way.",
            "The second: rejected at all, 1 − Σ min(p, q), times the residual.",
        ],
    ),
]  # fmt: skip
