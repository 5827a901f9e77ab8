"""The checks of lesson 5: rejection sampling."""

from __future__ import annotations

import functools
import inspect
import operator

import numpy as np

from minispec.course.teaching import Mistake, Prediction, Reply, Step
from minispec.engine.laws import Enumerator
from minispec.engine.noise import Address

P = np.array([0.5, 0.3, 0.2])
Q = np.array([0.2, 0.3, 0.5])

PREDICTIONS = [
    Prediction(
        "acceptance",
        0.7,
        "What both distributions have is accepted: min(0.5, 0.2) + min(0.3, 0.3) + min(0.2, 0.5) = 0.7.",
        [
            Reply(lambda a: a > 1, "A probability is at most 1."),
            Reply(0.29, "That is Σ p·q, the chance that two independent draws agree; the rule accepts far more often."),
            Reply(0.3, "That is the total variation between p and q: what is *rejected*."),
        ],
        tolerance=0.01,
    ),
    Prediction(
        "from_p",
        "no",
        "Where q is larger than p, a rejected token would get a second chance from p, and come out too often.",
        [Reply("yes", "It looks harmless: p is what we want, after all.")],
        choices=("yes", "no"),
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


def two_ways(target_probs: np.ndarray, draft_probs: np.ndarray) -> np.ndarray:
    accepted = np.minimum(target_probs, draft_probs)
    return np.array([accepted, (1.0 - accepted.sum()) * residual(target_probs, draft_probs)])


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


def _ways(second):
    def ways(p: np.ndarray, q: np.ndarray) -> np.ndarray:
        return np.array([np.minimum(p, q), second(p, q)])

    return ways


_POSITIONAL = inspect.Parameter.POSITIONAL_OR_KEYWORD
DRAFT, ACCEPT, RESIDUAL = Address("draft", 0), Address("accept", 0), Address("residual", 0)


def _one_token(noise, p, q, *, chance=lambda p, q: min(1.0, p / q), instead=residual, first=lambda p, q: q) -> int:
    token = noise.categorical(first(p, q), DRAFT)
    if noise.bernoulli(chance(p[token], q[token]), ACCEPT):
        return token
    return noise.categorical(instead(p, q), RESIDUAL)


def one_token(noise, p: np.ndarray, q: np.ndarray) -> int:
    return _one_token(noise, p, q)


class _Draft:
    """Passes every question on, and remembers what was drafted."""

    def __init__(self, noise) -> None:
        self.noise, self.token = noise, None

    def bernoulli(self, prob, at):
        return self.noise.bernoulli(prob, at)

    def categorical(self, probs, at):
        token = self.noise.categorical(probs, at)
        if at == DRAFT:
            self.token = token
        return token


def enumerate_program(program):
    """Return a function of p and q: what a program returns, and how often that is its draft, over every branch."""

    @functools.wraps(program)
    def observe(p: np.ndarray, q: np.ndarray) -> dict:
        def run(noise):
            draft = _Draft(noise)
            token = program(draft, p, q)
            if token is None:
                raise ValueError("on some branch it returns None: is a return missing?")
            return operator.index(token), draft.token == token

        law = Enumerator(run).law()
        token_law = [sum(share for (x, _), share in law.items() if x == token) for token in range(len(p))]
        kept = sum(share for (_, is_draft), share in law.items() if is_draft)
        return {"distribution of the token": np.array(token_law), "probability that it is the draft's": kept}

    observe.__signature__ = inspect.Signature([inspect.Parameter(name, _POSITIONAL) for name in "pq"])
    return observe


def _pairs() -> list[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(5)
    some = [tuple(rng.multinomial(10, [0.2] * 5, 2) / 10) for _ in range(8)]
    return [
        (np.array([0.2, 0.5, 0.3]), np.array([0.6, 0.3, 0.1])),
        (np.array([0.5, 0.5]), np.array([0.25, 0.75])),
        (P, Q),
        (np.array([0.0, 1.0]), np.array([1.0, 0.0])),
        *((a, b) for a, b in some),
        (P, P),
        (np.array([0.125, 0.5, 0.375]), np.array([0.5, 0.25, 0.25])),
        (np.array([0.5, 0.3, 0.2]), np.array([0.52, 0.29, 0.19])),
        (np.array([0.5, 0.25, 0.25]), np.array([0.5 + 2**-14, 0.25 - 2**-14, 0.25])),  # all but equal
        (np.array([0.5, 0.25, 0.25]), np.array([0.5 + 2**-20, 0.25 - 2**-20, 0.25])),  # and for `allclose`
        (np.array([0.5, 0.3 - 3**-10, 0.2 + 3**-10]), np.array([0.6, 0.2, 0.2])),  # a rare token of the residual
        (np.array([0.5, 0.25, 0.25]), np.array([0.75, 0.0, 0.25])),  # what only p has
    ]


def _judgements() -> list[tuple[np.ndarray, np.ndarray, int, float, float]]:
    grid = (0.05, 0.35, 0.65, 0.95)
    pairs = (
        (P, Q),
        (np.array([0.2, 0.5, 0.3]), np.array([0.6, 0.3, 0.1])),  # two tokens may come from the residual
        (np.array([0.7, 0.2, 0.1]), np.array([0.1, 0.5, 0.4])),  # two tokens may be rejected
        (np.array([0.4, 0.6, 0.0]), np.array([0.5, 0.0, 0.5])),  # what only one of them has
    )
    first, last = 0.0, 1.0 - 2**-53
    rounded = (  # residuals that sum to less than 1 in float64, or in float32, and end with a 0
        (np.array([0.1, 0.25, 0.3, 0.3, 0.05]), np.array([0.25, 0.2, 0.1, 0.2, 0.25])),
        (np.array([0.28, 0.26, 0.28, 0.18]), np.array([0.16, 0.16, 0.26, 0.42])),
    )
    edges = [
        (p, q, token, ua, un)
        for p, q in (*pairs, *rounded)
        for token in np.flatnonzero(q).tolist()
        for ua in (first, last)
        for un in (first, last)
    ]
    return [
        (p, q, token, ua, un) for p, q in pairs for token in np.flatnonzero(q).tolist() for ua in grid for un in grid
    ] + edges


STEPS = [
    Step(
        "accept",
        [
            (p, q, u)
            for p, q in ((0.2, 0.5), (0.5, 0.2), (0.3, 0.3), (0.0, 0.4), (1e-3, 0.9))
            for u in (0.0, 0.2, 0.39, 0.41, 0.7, 0.999)
        ] + [
            (p, q, p / q * near) for p, q in ((0.3, 0.7), (1e-7, 3e-7)) for near in (1 - 1e-6, 1 + 1e-6)
        ] + [(0.5, 0.5 + 2**-20, 1 - 2**-22), (1e-9, 1e-3, 1e-7), (0.3333, 0.9999, 0.3333)],
        accept,
        [
            Mistake("You divide the wrong way round: it is p/q, target over draft.", lambda p, q, u: u * p < q),
            Mistake("You accept with probability p. Given that the draft proposed it, p/q is enough.",
                    lambda p, q, u: u < p),
            Mistake("You never reject: where p is smaller than q, some of those proposals have to go.",
                    lambda p, q, u: True),
            Mistake("A ratio, not a difference: p/q.", lambda p, q, u: u < p - q),
            Mistake("A ratio, not a product: p/q.", lambda p, q, u: u < p * q),
            Mistake("u is below the ratio, strictly: at p = 0 and u = 0 nothing may be accepted.",
                    lambda p, q, u: u <= min(1.0, p / q)),
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
            Mistake("That is what both have, min(p, q), normalised; the residual is what only p has.",
                    lambda p, q: np.minimum(p, q) / np.minimum(p, q).sum() if np.minimum(p, q).sum() > 0 else p),
            Mistake("What q has more than p must become 0, not negative: max(p − q, 0).",
                    lambda p, q: (p - q) / _positive(p, q).sum() if (p > q).any() else p),
            Mistake("If p equals q nothing is left, and you divide 0 by 0: return p then.",
                    lambda p, q: _positive(p, q) / _positive(p, q).sum()),
            Mistake("Subtract q from p; p itself contains what was accepted already.",
                    lambda p, q: np.where(p > q, p, 0) / np.where(p > q, p, 0).sum() if (p > q).any() else p),
            Mistake("You take p and q for equal where they are only close: return p only where nothing is left.",
                    lambda p, q: p if np.allclose(p, q, atol=0.05) else residual(p, q)),
            Mistake("You take p and q for equal where they are only close: return p only where nothing is left.",
                    lambda p, q: p if np.allclose(p, q, atol=1e-3) else residual(p, q)),
            Mistake("You take p and q for equal where they are only close: return p only where nothing is left.",
                    lambda p, q: p if np.allclose(p, q) else residual(p, q)),
            Mistake("You leave out what q lacks: a token that only p has is drafted too rarely as well.",
                    lambda p, q: np.where(q > 0, _positive(p, q), 0) / np.where(q > 0, _positive(p, q), 0).sum()
                    if np.where(q > 0, _positive(p, q), 0).any() else p),
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
            Mistake("You ignore the drafted token and sample from p: the right distribution, and not one draft accepted.",
                    _judge_match),
            Mistake("p and q are swapped when the draft is judged: `accept(target_probs[token], draft_probs[token], u)`.",
                    lambda p, q, token, ua, un:
                    token if accept(q[token], p[token], ua) else draw(residual(p, q), un)),
            Mistake("The residual is of p over q: `residual(target_probs, draft_probs)`.",
                    lambda p, q, token, ua, un:
                    token if accept(p[token], q[token], ua) else draw(residual(q, p), un)),
            Mistake("p and q are swapped throughout.", lambda p, q, token, ua, un: judge(q, p, token, ua, un)),
            Mistake("You use u_accept a second time. After a rejection it is known to be large: draw with u_next.",
                    lambda p, q, token, ua, un: judge(p, q, token, ua, ua)),
            Mistake("The two uniform numbers are swapped.", lambda p, q, token, ua, un: judge(p, q, token, un, ua)),
            Mistake("One uniform number must not do both: u_accept decides, u_next draws.",
                    lambda p, q, token, ua, un: judge(p, q, token, un, un)),
            Mistake("Draw from the residual; do not take its largest entry.",
                    lambda p, q, token, ua, un:
                    token if accept(p[token], q[token], ua) else int(residual(p, q).argmax())),
            Mistake("After a rejection you draw from q, the draft's distribution. Draw from the residual.",
                    lambda p, q, token, ua, un: token if accept(p[token], q[token], ua) else draw(q, un)),
            Mistake("Accepted and rejected are the wrong way round.",
                    lambda p, q, token, ua, un:
                    draw(residual(p, q), un) if accept(p[token], q[token], ua) else token),
            Mistake("You accept with probability p(x). Given that the draft proposed it, p/q is enough: use `accept`.",
                    lambda p, q, token, ua, un: token if ua < p[token] else draw(residual(p, q), un)),
            Mistake("max(p − q, 0) does not sum to 1: draw from `residual(...)`, which is normalised.",
                    lambda p, q, token, ua, un: token if accept(p[token], q[token], ua) else draw(_positive(p, q), un)),
            Mistake("You never keep the drafted token.", lambda p, q, token, ua, un: draw(residual(p, q), un)),
            Mistake("You keep the rejected token.", lambda p, q, token, ua, un: token),
        ],
        ["Two cases: accepted, then it is the token itself; rejected, then `draw(residual(...), u_next)`."],
    ),
    Step(
        "one_token",
        _pairs,
        one_token,
        [
            Mistake("After a rejection you draw from p, as `from_p` does. Draw from the residual.",
                    lambda noise, p, q: _one_token(noise, p, q, instead=lambda p, q: p)),
            Mistake("After a rejection you draw from q again. Draw from the residual.",
                    lambda noise, p, q: _one_token(noise, p, q, instead=lambda p, q: q)),
            Mistake("The residual is of p over q: `residual(p, q)`.",
                    lambda noise, p, q: _one_token(noise, p, q, instead=lambda p, q: residual(q, p))),
            Mistake("You accept everything: what comes out has the draft's distribution.",
                    lambda noise, p, q: noise.categorical(q, DRAFT)),
            Mistake("You never ask the draft. The distribution is right, and nothing is gained.",
                    lambda noise, p, q: noise.categorical(p, RESIDUAL)),
            Mistake("You draft from p. The draft draws from q.",
                    lambda noise, p, q: _one_token(noise, p, q, first=lambda p, q: p,
                                                   chance=lambda p, q: min(1.0, p / q) if q else 1.0)),
            Mistake("You accept with probability p(x). Given that the draft proposed x, p(x)/q(x) is enough.",
                    lambda noise, p, q: _one_token(noise, p, q, chance=lambda p, q: p)),
            Mistake("The ratio is upside down: accept with min(1, p(x)/q(x)).",
                    lambda noise, p, q: _one_token(noise, p, q, chance=lambda p, q: min(1.0, q / p) if p else 1.0)),
        ],
        [
            "`token = noise.categorical(q, Address(\"draft\", 0))` draws the guess.",
            "`from_p` is nearly right: from what does it draw after a rejection?",
        ],
        observe=enumerate_program,
    ),
    Step(
        "two_ways",
        _pairs,
        two_ways,
        [
            Mistake("You left out the rejected tokens: two rows, one for each way.", lambda p, q: np.minimum(p, q)),
            Mistake("That is the sum of the two ways already. Keep them apart: two rows.",
                    lambda p, q: two_ways(p, q).sum(axis=0)),
            Mistake("Your rejected tokens come back from p instead of the residual.",
                    _ways(lambda p, q: (1.0 - np.minimum(p, q).sum()) * p)),
            Mistake("The residual comes into play only after a rejection: weigh it by that probability.",
                    _ways(residual)),
            Mistake("Weigh the residual by the chance of a *rejection*, 1 − Σ min(p, q).",
                    _ways(lambda p, q: np.minimum(p, q).sum() * residual(p, q))),
            Mistake("The chance of a rejection is one number: 1 − Σ min(p, q), summed over all tokens.",
                    _ways(lambda p, q: (1 - np.minimum(p, q)) * residual(p, q))),
            Mistake("The first way is min(p, q): the draft draws x with q(x), and keeps it with min(1, p(x)/q(x)).",
                    lambda p, q: np.array([p * q, two_ways(p, q)[1]])),
        ],
        [
            "A token comes out in two ways: accepted, or drawn from the residual after a rejection.",
            "q(x) · min(1, p(x)/q(x)) = min(p(x), q(x)) is the first way.",
            "The second: rejected at all, 1 − Σ min(p, q), times the residual.",
        ],
    ),
]  # fmt: skip
