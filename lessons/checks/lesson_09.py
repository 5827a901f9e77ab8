"""The checks of lesson 9: other rules."""

from __future__ import annotations

import numpy as np

from minispec.course.teaching import Mistake, Prediction, Reply, Step

PREDICTIONS = [
    Prediction(
        "match",
        0.29,
        "Σ p·q = 0.10 + 0.09 + 0.10.",
        [
            Reply(0.7, "That is Σ min(p, q), what rejection sampling accepts."),
            Reply(0.5, "The best one could hope for?"),
        ],
        tolerance=0.01,
    ),
    Prediction(
        "tree",
        "unsure",
        "If the draft is sure, its second guess is hardly ever right.",
        [Reply("sure", "There the first guess is accepted already.")],
        choices=("sure", "unsure"),
    ),
    Prediction(
        "bits",
        "yes",
        "Where the two best tokens are nearly equal, the last digits decide; and from there on the texts differ.",
        [Reply("no", "Think of two tokens with nearly the same logit.")],
        choices=("yes", "no"),
    ),
]


def match_rate(p: np.ndarray, q: np.ndarray) -> float:
    return float((p * q).sum())


def race(probs: np.ndarray, exponentials: np.ndarray) -> int:
    times = np.where(probs > 0, exponentials / np.where(probs > 0, probs, 1.0), np.inf)
    return int(np.argmin(times))


def _race_last(probs, exponentials):
    times = np.where(probs > 0, exponentials / np.where(probs > 0, probs, 1.0), -np.inf)
    return int(np.argmax(times))


def _race_zero(probs, exponentials):
    return int(np.argmin(exponentials / np.where(probs > 0, probs, 1.0)))


def survivals(p_of_drafts, q_of_drafts, block):
    found, s = [], 1.0
    for p, q in zip(p_of_drafts, q_of_drafts, strict=True):
        s = min(1.0, s * p / q) if block else s * min(1.0, p / q)
        found.append(s)
    return found


def _clipped_at_the_end(p_of_drafts, q_of_drafts, block):
    if not block:
        return survivals(p_of_drafts, q_of_drafts, block)
    return [min(1.0, float(x)) for x in np.cumprod(np.array(p_of_drafts) / np.array(q_of_drafts))]


def _not_multiplied(p_of_drafts, q_of_drafts, block):
    return [min(1.0, p / q) for p, q in zip(p_of_drafts, q_of_drafts, strict=True)]


def two_guesses(p, q):
    first = np.minimum(p, q).sum()
    rest = np.maximum(p - q, 0)
    return float(first + (1 - first) * np.minimum(rest / rest.sum(), q).sum()) if rest.sum() > 0 else float(first)


def _independent(p, q):
    a = np.minimum(p, q).sum()
    return float(1 - (1 - a) ** 2)


def _sum_twice(p, q):
    return float(2 * np.minimum(p, q).sum())


def _not_normalised(p, q):
    first = np.minimum(p, q).sum()
    return float(first + (1 - first) * np.minimum(np.maximum(p - q, 0), q).sum())


def _always_second(p, q):
    first = np.minimum(p, q).sum()
    rest = np.maximum(p - q, 0)
    return float(first + np.minimum(rest / rest.sum(), q).sum()) if rest.sum() > 0 else float(first)


def lenient_law(p, q, lenience):
    accepted = np.minimum(q, p / lenience)
    rest = np.maximum(p - q, 0)
    rest = rest / rest.sum() if rest.sum() > 0 else p
    return accepted + (1 - accepted.sum()) * rest


def _rest(p, q):
    rest = np.maximum(p - q, 0)
    return rest / rest.sum() if rest.sum() > 0 else p


def _times(p, q, lenience):
    accepted = np.minimum(q, p * lenience)
    rest = np.maximum(p - q, 0)
    rest = rest / rest.sum() if rest.sum() > 0 else p
    return accepted + (1 - accepted.sum()) * rest


def _no_rest(p, q, lenience):
    return np.minimum(q, p / lenience)


def _renormalised(p, q, lenience):
    accepted = np.minimum(q, p / lenience)
    return accepted / accepted.sum()


def _pairs() -> list[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(9)
    return [
        (np.array([1.0, 0.0]), np.array([0.5, 0.5])),
        (np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5])),
        (np.array([0.5, 0.5]), np.array([0.5, 0.5])),
        (
            np.array([0.5, 0.3, 0.2, 0.0]),
            np.array([0.0, 0.2, 0.3, 0.5]),
        ),  # only one of both can draw the first, the last
        (np.array([0.2, 0.8]), np.array([1.0, 0.0])),
        (np.array([0.5, 0.3, 0.2]), np.array([0.499, 0.3, 0.201])),  # nearly equal is not equal
        *((a, b) for a, b in (rng.multinomial(10, [0.2] * 5, 2) / 10 for _ in range(4))),
        *((a, b) for a, b in (rng.dirichlet([0.6] * 5, 2) for _ in range(2))),
    ]


def _races() -> list[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(4)
    some = [(rng.dirichlet([0.8] * 4), rng.exponential(size=4)) for _ in range(8)]
    return [
        (np.array([0.5, 0.5]), np.array([2.0, 1.0])),
        (np.array([0.5, 0.5]), np.array([0.4, 0.3])),
        (np.array([0.9, 0.1]), np.array([1.0, 0.2])),
        (np.array([0.0, 1.0]), np.array([0.01, 3.0])),
        (np.array([0.6, 0.4, 0.0]), np.array([1.0, 0.9, 0.001])),
        (np.array([1e-4, 1 - 1e-4]), np.array([1e-5, 1.0])),  # an unlikely token wins now and then,
        (np.array([1e-4, 1 - 1e-4]), np.array([5e-4, 1.0])),  # and only as often as it should
        (np.array([0.5, 0.5]), np.array([1.0001, 1.0])),
        *some,
    ]


RATIOS = [
    ([], [], True),
    ([0.2, 0.4], [0.4, 0.1], False),
    ([0.2, 0.4], [0.4, 0.1], True),
    ([0.6, 0.1, 0.5], [0.3, 0.2, 0.4], True),
    ([0.6, 0.1, 0.5], [0.3, 0.2, 0.4], False),
    ([0.0, 0.5], [0.5, 0.1], True),
    ([0.1, 0.2, 0.3], [0.3, 0.35, 0.299], True),
    ([0.1, 0.2, 0.3], [0.3, 0.35, 0.299], False),
]

STEPS = [
    Step(
        "match_rate",
        _pairs,
        match_rate,
        [
            Mistake("That is rejection sampling's Σ min(p, q).", lambda p, q: float(np.minimum(p, q).sum())),
            Mistake("Add up over the tokens: one number.", lambda p, q: p * q),
            Mistake("A sum, not a mean: each token adds its own chance.", lambda p, q: float((p * q).mean())),
            Mistake("Not only the likeliest token: all on which they can agree.",
                    lambda p, q: float(p.max() * q.max())),
            Mistake("Both must draw the *same* token: multiply, then add.", lambda p, q: float(p.sum() * q.sum())),
            Mistake("That takes only the likeliest token into account.", lambda p, q: float((p * q).max())),
        ],
        ["Agreement on token x has probability p(x) · q(x)."],
    ),
    Step(
        "race",
        _races,
        race,
        [
            Mistake("The *first* to arrive wins: the smallest time.", _race_last),
            Mistake("A likelier token arrives earlier: divide by the probability, do not multiply.",
                    lambda p, e: int(np.argmin(np.where(p > 0, e * p, np.inf)))),
            Mistake("That is the wrong way from above: divide by the probability, and take the smallest.",
                    lambda p, e: int(np.argmax(e * p))),
            Mistake("A token of probability 0 must never win.", _race_zero),
            Mistake("That is the time of the winner; return which token it is.",
                    lambda p, e: float(np.where(p > 0, e / np.where(p > 0, p, 1.0), np.inf).min())),
            Mistake("That ignores the probabilities: the smallest noise always wins.",
                    lambda p, e: int(np.argmin(np.where(p > 0, e, np.inf)))),
            Mistake("That ignores the noise: the likeliest token always wins.", lambda p, e: int(np.argmax(p))),
        ],
        ["`np.argmin` of exponentials / probs, with infinity where the probability is 0."],
    ),
    Step(
        "survivals",
        RATIOS,
        survivals,
        [
            Mistake("Clip the running product at *every* step: what is above 1 is lost for later draft tokens.",
                    _clipped_at_the_end),
            Mistake("A draft token is accepted only if those before it are: multiply.", _not_multiplied),
            Mistake("Block and rejection differ: for block, clip the product, not the factors.",
                    lambda p, q, block: survivals(p, q, False)),
            Mistake("That is block verification in both cases.", lambda p, q, block: survivals(p, q, True)),
            Mistake("The two rules are swapped.", lambda p, q, block: survivals(p, q, not block)),
            Mistake("A probability is at most 1: clip.",
                    lambda p, q, block: [float(x) for x in np.cumprod(np.array(p) / np.array(q))]),
            Mistake("Divide p by q, target over draft.",
                    lambda p, q, block: survivals([max(x, 1e-300) for x in q], [max(x, 1e-300) for x in p], block)),
        ],
        ["Keep s, starting at 1, and append it after each draft.", "Rejection: s *= min(1, p/q). Block: s = min(1, s p/q)."],
    ),
    Step(
        "two_guesses",
        _pairs,
        two_guesses,
        [
            Mistake("After a rejection the target's distribution is the residual, not p again: the two are not independent.",
                    _independent),
            Mistake("That is the first guess alone.", lambda p, q: float(np.minimum(p, q).sum())),
            Mistake("The second guess is judged against what is left of p, not drawn together with the first.",
                    lambda p, q: float(np.minimum(p, 2 * q).sum())),
            Mistake("The second guess counts only if the first failed.", _always_second),
            Mistake("Normalise the residual.", _not_normalised),
            Mistake("A probability above 1?", _sum_twice),
        ],
        ["first + (1 − first) · second", "If nothing is left over, p equals q: the first guess is always accepted."],
    ),
    Step(
        "lenient_law",
        [(p, q, lenience) for p, q in _pairs() for lenience in (1.0, 0.5)],
        lenient_law,
        [
            Mistake("The lenience divides: a smaller one accepts more.", _times),
            Mistake("The rejected tokens are missing.", _no_rest),
            Mistake("How often something is rejected depends on the lenience: 1 − Σ min(q, p/l).",
                    lambda p, q, lenience: np.minimum(q, p / lenience)
                    + (1 - np.minimum(p, q).sum()) * _rest(p, q)),
            Mistake("Rejected tokens come back from the residual, not from p.",
                    lambda p, q, lenience: np.minimum(q, p / lenience)
                    + (1 - np.minimum(q, p / lenience).sum()) * p),
            Mistake("That is the chance that a token is kept, given that it was drafted; times q.",
                    lambda p, q, lenience: np.minimum(1.0, p / (lenience * q))),
            Mistake("Rejected tokens come back from the residual; do not just normalise.", _renormalised),
            Mistake("That is p: the rule is not lossless.", lambda p, q, lenience: p),
        ],
        ["Accepted: q(x) · min(1, p(x)/(l q(x))) = min(q(x), p(x)/l).", "The rest as in lesson 5."],
    ),
]  # fmt: skip
