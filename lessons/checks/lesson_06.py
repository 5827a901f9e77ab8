"""The checks of lesson 6: when it pays."""

from __future__ import annotations

import numpy as np

from minispec.course.teaching import Mistake, Prediction, Reply, Step

PREDICTIONS = [
    Prediction(
        "per_round",
        3.689,
        "1 + 0.8 + 0.64 + 0.512 + 0.41 + 0.328 = 3.689.",
        [
            Reply(lambda a: abs(a - 5) < 0.01, "That is γα + 1: every draft token would have to be tested."),
            Reply(lambda a: abs(a - 4) < 0.01, "That is γα; a draft token counts only if all before it passed."),
            Reply(lambda a: abs(a - 4.5) < 0.1, "That is too much: see how fast the powers of 0.8 fall."),
            Reply(lambda a: a > 6, "A step yields at most γ + 1 = 6."),
        ],
        tolerance=0.05,
    ),
    Prediction(
        "larger",
        "larger",
        "Draft tokens after a rejection count as drafted and never had a chance; α counts only those that were tested.",
        choices=("larger", "smaller"),
        replies=[Reply("smaller", "Think of γ = 4 and a rejection at the first position: 4 drafted, 1 tested.")],
    ),
    Prediction(
        "break_even",
        0.4,
        "τ = 1 + α against 1 + c: it pays from α > c on.",
        [Reply(0.6, "1 + α tokens for a price of 1 + c.")],
        tolerance=0.01,
    ),
]


def tau(alpha: float, gamma: int) -> float:
    return sum(alpha**k for k in range(gamma + 1))


def _closed(alpha: float, gamma: int) -> float:
    return (1 - alpha ** (gamma + 1)) / (1 - alpha) if alpha != 1 else float("nan")


def acceptance_rate(alpha: float, gamma: int) -> float:
    return (tau(alpha, gamma) - 1) / gamma


def alpha_of(rate: float, gamma: int) -> float:
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if acceptance_rate(middle, gamma) < rate else (low, middle)
    return (low + high) / 2


def _wrong_way(rate: float, gamma: int) -> float:
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if acceptance_rate(middle, gamma) < rate else (middle, high)
    return (low + high) / 2


def speedup(alpha: float, gamma: int, c: float, v: float = 1.0) -> float:
    return tau(alpha, gamma) / (gamma * c + v)


def best_gamma(alpha: float, c: float, v_per_row: float = 0.0, largest: int = 20) -> int:
    return int(np.argmax([speedup(alpha, g, c, 1 + v_per_row * g) for g in range(largest + 1)]))


def _best_tau(alpha: float, c: float, v_per_row: float = 0.0, largest: int = 20) -> int:
    return int(np.argmax([tau(alpha, g) for g in range(largest + 1)]))


def _best_from_one(alpha: float, c: float, v_per_row: float = 0.0, largest: int = 20) -> int:
    return 1 + int(np.argmax([speedup(alpha, g, c, 1 + v_per_row * g) for g in range(1, largest + 1)]))


def _best_last(alpha: float, c: float, v_per_row: float = 0.0, largest: int = 20) -> int:
    values = [speedup(alpha, g, c, 1 + v_per_row * g) for g in range(largest + 1)]
    return max(g for g in range(largest + 1) if values[g] == max(values))


def _best_one_row_more(alpha: float, c: float, v_per_row: float = 0.0, largest: int = 20) -> int:
    return int(np.argmax([speedup(alpha, g, c, 1 + v_per_row * (g + 1)) for g in range(largest + 1)]))


def _best_v_fixed(alpha: float, c: float, v_per_row: float = 0.0, largest: int = 20) -> int:
    return int(np.argmax([speedup(alpha, g, c) for g in range(largest + 1)]))


def _best_exclusive(alpha: float, c: float, v_per_row: float = 0.0, largest: int = 20) -> int:
    return int(np.argmax([speedup(alpha, g, c, 1 + v_per_row * g) for g in range(largest)]))


def tokens_law(alpha: float, gamma: int) -> np.ndarray:
    law = np.array([alpha**k * (1 - alpha) for k in range(gamma + 1)])
    law[gamma] = alpha**gamma
    return law


def _uncapped(alpha: float, gamma: int) -> np.ndarray:
    return np.array([alpha**k * (1 - alpha) for k in range(gamma + 1)])


def _renormalised(alpha: float, gamma: int) -> np.ndarray:
    law = np.array([alpha**k for k in range(gamma + 1)])
    return law / law.sum()


GRID = [
    (0.5, 1),
    (0.5, 2),
    (0.8, 5),
    (0.0, 3),
    (1.0, 4),
    (0.3, 8),
    (0.9, 3),
    (0.99, 4),
    (0.999, 2),
    (1 - 1e-4, 3),
    (0.97, 30),
]

STEPS = [
    Step(
        "tau",
        [(0.5, 0), *GRID],
        tau,
        [
            Mistake("The target's own token is missing: the sum begins with α⁰ = 1.", lambda a, g: tau(a, g) - 1),
            Mistake("One term too few: the last power is α^γ.", lambda a, g: sum(a**k for k in range(g)) if g else 0.0),
            Mistake("That is 1 + γα: it counts draft tokens after a rejection.", lambda a, g: 1 + g * a),
            Mistake("The sum begins with α⁰ = 1, the target's own token, and ends with α^γ.",
                    lambda a, g: sum(a**k for k in range(1, g + 2))),
            Mistake("All of the terms in between, too: 1 + α + α² + … + α^γ.", lambda a, g: 1 + a**g),
            Mistake("That is (γ + 1) α: a later draft token counts only if all before it passed.", lambda a, g: (g + 1) * a),
            Mistake("At α = 1 the closed form is 0/0. Use the sum.", _closed),
            Mistake("At α = 1 every draft passes: γ + 1 tokens, not 1.", lambda a, g: 1.0 if a == 1 else tau(a, g)),
            Mistake("You take α for 1 where it is only close.", lambda a, g: g + 1 if abs(1 - a) < 0.02 else tau(a, g)),
        ],
        ["A sum over k = 0 … γ.", "`sum(alpha**k for k in range(gamma + 1))`"],
    ),
    Step(
        "acceptance_rate",
        GRID,
        acceptance_rate,
        [
            Mistake("That is α itself. Draft tokens after a rejection count as drafted, too.", lambda a, g: a),
            Mistake("A step accepts τ − 1 draft tokens: the target's own token is no draft.",
                    lambda a, g: tau(a, g) / g),
            Mistake("Without the target's own token: (τ − 1), and divide by γ.", lambda a, g: tau(a, g) / (g + 1)),
            Mistake("Of the γ + 1 tokens of a step only γ are drafted: divide by γ.",
                    lambda a, g: (tau(a, g) - 1) / (g + 1)),
            Mistake("That is accepted per step; per *drafted* token, divide by γ.", lambda a, g: tau(a, g) - 1),
            Mistake("That is the chance that *all* are accepted.", lambda a, g: a**g),
            Mistake("Divide by what was drafted, γ, not by what was emitted.",
                    lambda a, g: (tau(a, g) - 1) / tau(a, g)),
        ],
        ["Accepted per step: τ − 1. Drafted per step: γ."],
    ),
    Step(
        "alpha_of",
        [(0.5, 1), (0.375, 2), (0.72, 4), (0.1, 6), (0.95, 3), (0.98, 4), (0.9999, 2), (0.004, 3), (0.3, 12)],
        alpha_of,
        [
            Mistake("You gave the rate back; it is smaller than α.", lambda r, g: r),
            Mistake("The rate is a mean over the positions of a draft, not α to the power of γ.", lambda r, g: r ** (1 / g)),
            Mistake("The interval is halved the wrong way: too small a rate means that α must be larger.", _wrong_way),
            Mistake("That is the rate at this α, not the α at this rate.", acceptance_rate),
        ],
        [
            "Keep low and high; look at the middle.",
            "If the rate at the middle is below the wanted one, the answer lies above: low = middle.",
        ],
        rtol=1e-6,
    ),
    Step(
        "speedup",
        [(0.8, 5, 0.1, 1.2), (0.5, 0, 0.3), (0.5, 0, 0.3, 1.1), (0.6, 3, 0.0, 1.0), (0.9, 4, 0.05, 1.1), (0.2, 2, 0.5, 1.3), (0.99, 3, 0.1, 1.1)],
        speedup,
        [
            Mistake("The target's own pass costs v: γ c + v.", lambda a, g, c, v=1.0: tau(a, g) / (g * c)),
            Mistake("c is the cost of a draft, paid γ times; v is paid once.", lambda a, g, c, v=1.0: tau(a, g) / (c + v * g)),
            Mistake("The target's own token counts, too: τ, not τ − 1.",
                    lambda a, g, c, v=1.0: (tau(a, g) - 1) / (g * c + v)),
            Mistake("The draft runs γ times, not γ + 1.", lambda a, g, c, v=1.0: tau(a, g) / ((g + 1) * c + v)),
            Mistake("γ draft tokens can be accepted, not γ + 1: tau(alpha, gamma).",
                    lambda a, g, c, v=1.0: tau(a, g + 1) / (g * c + v)),
            Mistake("The tokens of a step are τ, not γ + 1.", lambda a, g, c, v=1.0: (g + 1) / (g * c + v)),
            Mistake("Each of the γ draft tokens costs c.", lambda a, g, c, v=1.0: tau(a, g) / (c + v)),
            Mistake("Verifying costs v, not 1.", lambda a, g, c, v=1.0: tau(a, g) / (g * c + 1)),
            Mistake("v is the cost of the whole pass over γ + 1 rows, not of each row.",
                    lambda a, g, c, v=1.0: tau(a, g) / (g * c + (g + 1) * v)),
            Mistake("Upside down: that is the time relative to plain decoding.",
                    lambda a, g, c, v=1.0: (g * c + v) / tau(a, g)),
        ],
        ["Tokens of a step over its price."],
    ),
    Step(
        "best_gamma",
        [(0.8, 0.1), (0.8, 0.1, 0.05), (0.2, 0.5), (0.5, 0.5), (1.0, 0.1, 0.0, 7), (0.95, 0.02, 0.01), (0.0, 0.2),
         (0.75, 0.05, 0.3), (0.85, 0.05, 0.3), (0.7, 0.05), (0.88, 0.05, 0.05), (0.99, 0.01, 0.0, 40)],
        best_gamma,
        [
            Mistake("You maximise τ, which is free to grow; maximise the speedup.", _best_tau),
            Mistake("γ = 0 is allowed: sometimes not drafting is best.", _best_from_one),
            Mistake("v grows with γ: 1 + v_per_row · γ.", _best_v_fixed),
            Mistake("`largest` itself is allowed.", _best_exclusive),
            Mistake("Of equals take the *smallest*: γ = 0 and γ = 1 may be equally fast.", _best_last),
            Mistake("v is 1 + v_per_row · γ: the pending token's row is in the 1 already, so γ more rows, not γ + 1.",
                    _best_one_row_more),
            Mistake("The *highest* speedup: argmax.",
                    lambda a, c, v=0.0, largest=20:
                    int(np.argmin([speedup(a, g, c, 1 + v * g) for g in range(largest + 1)]))),
            Mistake("Go up to `largest`, which is not always 20.",
                    lambda a, c, v=0.0, largest=20: best_gamma(a, c, v)),
            Mistake("v grows with γ: 1 + v_per_row · γ, not 1 + v_per_row.",
                    lambda a, c, v=0.0, largest=20:
                    int(np.argmax([speedup(a, g, c, 1 + v) for g in range(largest + 1)]))),
            Mistake("Return γ, not the speedup at it.",
                    lambda a, c, v=0.0, largest=20: max(speedup(a, g, c, 1 + v * g) for g in range(largest + 1))),
        ],
        ["Try them all: there are only 21.", "`np.argmax` takes the first of equals."],
    ),
    Step(
        "tokens_law",
        [(0.5, 0), *GRID],
        tokens_law,
        [
            Mistake("It sums to less than 1: γ accepted tokens need no rejection after them.", _uncapped),
            Mistake("That is the chance of *at least* so many: k accepted, then one rejected, is α^k (1 − α).",
                    lambda a, g: np.array([a**k for k in range(g + 1)])),
            Mistake("Do not normalise: the last entry takes all that is left, α^γ.", _renormalised),
            Mistake("Upside down: that is the distribution if α were the probability of *rejection*.",
                    lambda a, g: tokens_law(1 - a, g)),
        ],
        ["k accepted, then one rejected: α^k (1 − α).", "The last: all γ accepted, α^γ."],
    ),
]  # fmt: skip
