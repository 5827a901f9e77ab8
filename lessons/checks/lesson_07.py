"""The checks of lesson 7: choosing a draft."""

from __future__ import annotations

import numpy as np

from minispec.course.teaching import Mistake, Prediction, Reply, Step

PREDICTIONS = [
    Prediction(
        "domain",
        "less",
        "It was trained on code last, and forgot some of how stories go.",
        choices=("more", "less", "same"),
        replies=[
            Reply("same", "The size is the same; what it was trained on last is not."),
            Reply("more", "On code, yes."),
        ],
    ),
    Prediction(
        "which",
        "B",
        "A: at most 4.10/2.76 = 1.48 (γ = 4). B: 2.77/1.36 = 2.04 (γ = 4). 0.4 of a plain step for each draft token is too much.",
        [Reply("A", "More accurate, yes. But each draft token costs 0.4 of a plain step.")],
        choices=("A", "B"),
    ),
]


def same_vocabulary(one: dict[str, int], other: dict[str, int]) -> str:
    if len(one) != len(other):
        return "sizes differ"
    for text, token in sorted(one.items(), key=lambda item: item[1]):
        if other.get(text) != token:
            return text
    return "same"


def _only_sizes(one: dict[str, int], other: dict[str, int]) -> str:
    return "same" if len(one) == len(other) else "sizes differ"


def _only_texts(one: dict[str, int], other: dict[str, int]) -> str:
    if len(one) != len(other):
        return "sizes differ"
    missing = [text for text in sorted(one, key=one.__getitem__) if text not in other]
    return missing[0] if missing else "same"


def _as_listed(one: dict[str, int], other: dict[str, int]) -> str:
    if len(one) != len(other):
        return "sizes differ"
    return next((text for text, token in one.items() if other.get(text) != token), "same")


def _alphabetical(one: dict[str, int], other: dict[str, int]) -> str:
    if len(one) != len(other):
        return "sizes differ"
    for text in sorted(one):
        if other.get(text) != one[text]:
            return text
    return "same"


def _speedup(alpha: float, c: float, gamma: int, v_per_row: float) -> float:
    return sum(alpha**k for k in range(gamma + 1)) / (gamma * c + 1 + v_per_row * gamma)


def rank(drafts: dict[str, tuple[float, float]], v_per_row: float = 0.04, largest: int = 12) -> list[str]:
    best = {n: max(_speedup(a, c, g, v_per_row) for g in range(1, largest + 1)) for n, (a, c) in drafts.items()}
    return [name for name in sorted(best, key=lambda name: -best[name]) if best[name] > 1]


def _by_alpha(drafts, v_per_row=0.04, largest=12):
    return sorted(drafts, key=lambda name: -drafts[name][0])


def _by_cost(drafts, v_per_row=0.04, largest=12):
    return sorted(drafts, key=lambda name: drafts[name][1])


def _keeps_losers(drafts, v_per_row=0.04, largest=12):
    best = {n: max(_speedup(a, c, g, v_per_row) for g in range(1, largest + 1)) for n, (a, c) in drafts.items()}
    return sorted(best, key=lambda name: -best[name])


def _with_speedups(drafts, v_per_row=0.04, largest=12):
    return [
        (name, max(_speedup(*drafts[name], g, v_per_row) for g in range(1, largest + 1)))
        for name in rank(drafts, v_per_row, largest)
    ]


def _one_gamma(drafts, v_per_row=0.04, largest=12):
    best = {n: _speedup(a, c, largest, v_per_row) for n, (a, c) in drafts.items()}
    return [name for name in sorted(best, key=lambda name: -best[name]) if best[name] > 1]


def with_acceptance(p: np.ndarray, alpha: float) -> np.ndarray:
    uniform = np.full(len(p), 1 / len(p))
    distance = np.abs(p - uniform).sum() / 2
    w = (1 - alpha) / distance if distance > 0 else 0.0
    return (1 - w) * p + w * uniform


def _weight_is_one_minus_alpha(p: np.ndarray, alpha: float) -> np.ndarray:
    return alpha * p + (1 - alpha) / len(p)


def _no_half(p: np.ndarray, alpha: float) -> np.ndarray:
    w = (1 - alpha) / np.abs(p - 1 / len(p)).sum()
    return (1 - w) * p + w / len(p)


def _swapped(p: np.ndarray, alpha: float) -> np.ndarray:
    w = (1 - alpha) / (np.abs(p - 1 / len(p)).sum() / 2)
    return w * p + (1 - w) / len(p)


def propose(tokens: list[int], gamma: int, size: int = 2) -> list[int]:
    for start in range(len(tokens) - size - 1, -1, -1):
        if tokens[start : start + size] == tokens[-size:]:
            return tokens[start + size : start + size + gamma]
    return []


def _earliest(tokens, gamma, size=2):
    for start in range(len(tokens) - size):
        if tokens[start : start + size] == tokens[-size:]:
            return tokens[start + size : start + size + gamma]
    return []


def _finds_itself(tokens, gamma, size=2):
    for start in range(len(tokens) - size, -1, -1):
        if tokens[start : start + size] == tokens[-size:]:
            return tokens[start + size : start + size + gamma]
    return []


def _repeats_the_key(tokens, gamma, size=2):
    for start in range(len(tokens) - size - 1, -1, -1):
        if tokens[start : start + size] == tokens[-size:]:
            return tokens[start : start + gamma]
    return []


def _missing_first(one, other):
    if len(one) == len(other) and (missing := [text for text in one if text not in other]):
        return min(missing, key=one.get)
    return same_vocabulary(one, other)


def _last_token_only(tokens, gamma, size=2):
    return propose(tokens, gamma, 1)


def seems_broken(qs: list[float], num_accepted: int) -> bool:
    return len(qs) >= 100 and num_accepted < 0.3 * sum(qs)


P = np.array([0.6, 0.2, 0.1, 0.1])

STEPS = [
    Step(
        "same_vocabulary",
        [
            ({"a": 0, "b": 1}, {"a": 0, "b": 1}),
            ({"a": 0, "bee": 1}, {"a": 0, "cat": 1}),
            ({"cow": 2, "ox": 0, "hen": 1}, {"cow": 1, "ox": 2, "hen": 0}),
            ({"a": 0}, {"a": 0, "b": 1}),
            ({"a": 0, "b": 1}, {"a": 0}),
            ({"z": 0, "a": 1, "m": 2}, {"a": 0, "z": 1, "m": 2}),
            ({"z": 0, "a": 1}, {"a": 1, "z": 0}),
            ({" The": 1, "The": 0}, {" The": 1, "the": 0}),
            ({"a": 0, "b": 1, "c": 2}, {"b": 0, "a": 1, "d": 2}),
        ],
        same_vocabulary,
        [
            Mistake("Equal sizes are not enough: the texts of the ids may differ.", _only_sizes),
            Mistake("The same texts with other ids are another vocabulary.", _only_texts),
            Mistake("The first by *id*, not by the alphabet.", _alphabetical),
            Mistake("The first by *id*, not in the order in which the dict lists them.", _as_listed),
            Mistake("The first of all that differ: a text with another id comes before a missing one with a larger id.",
                    _missing_first),
            Mistake("Return the text of the token, not its id.",
                    lambda one, other: one.get(same_vocabulary(one, other), same_vocabulary(one, other))),
            Mistake("The text of `one`, not of `other`.",
                    lambda one, other: same_vocabulary(other, one)),
        ],
        ["Sizes first.", "Sort the items of `one` by id; `other.get(text)` must be that id."],
    ),
    Step(
        "rank",
        [
            ({"good": (0.9, 0.5), "quick": (0.7, 0.02)},),
            ({"a": (0.8, 0.1), "b": (0.5, 0.01), "c": (0.95, 0.9)},),
            ({"slow": (0.3, 0.9)},),
            ({"even": (0.5, 0.5), "quick": (0.9, 0.1)}, 0.0),
            ({"x": (0.9, 0.2), "y": (0.7, 0.05)}, 0.04, 3),
            ({"x": (0.95, 0.2), "y": (0.7, 0.02)}, 0.04, 2),
            ({"x": (0.95, 0.2), "y": (0.7, 0.02)}, 0.04, 3),
            ({"high": (1.0, 0.1), "low": (0.6, 0.02)}, 0.3, 2),
            ({"slower": (0.85, 0.38), "faster": (0.75, 0.28), "just": (0.3401, 0.3), "not": (0.32, 0.3)},),  # all but equal
            ({"few": (0.93, 0.001), "many": (0.99, 0.037)}, 0.0, 30),
            ({"x": (0.6, 0.05), "y": (0.75, 0.2), "z": (0.85, 0.3), "w": (0.2, 0.5)}, 0.1, 6),
        ],
        rank,
        [
            Mistake("The most accurate draft is not always the fastest: it costs more.", _by_alpha),
            Mistake("The cheapest draft is not always the fastest: it is wrong more often.", _by_cost),
            Mistake("Leave out drafts that never beat plain decoding.", _keeps_losers),
            Mistake("Each draft at *its* best γ, not all at the largest.", _one_gamma),
            Mistake("The fastest *first*.", lambda drafts, v=0.04, largest=12: rank(drafts, v, largest)[::-1]),
            Mistake("`largest` itself is allowed.", lambda drafts, v=0.04, largest=12: rank(drafts, v, largest - 1)),
            Mistake("Up to `largest`, and no further.", lambda drafts, v=0.04, largest=12: rank(drafts, v, largest + 1)),
            Mistake("Names only: keep the speedups to yourself.", _with_speedups),
        ],
        ["A helper first: the speedup of one draft at one γ.", "Then the maximum over γ, then sort by it, downwards."],
    ),
    Step(
        "with_acceptance",
        [(P, 0.8), (P, 1.0), (P, 0.7), (np.array([0.9, 0.1]), 0.75), (np.array([0.25, 0.25, 0.25, 0.25]), 1.0),
         (np.array([0.5, 0.5, 0.0, 0.0]), 0.75), (np.array([0.25 + 1e-4, 0.25 - 1e-4, 0.25, 0.25]), 1 - 5e-5),
         (np.array([1.0, 0.0, 0.0, 0.0, 0.0]), 0.3)],
        with_acceptance,
        [
            Mistake("w is not 1 − α: the uniform distribution shares something with p already.",
                    _weight_is_one_minus_alpha),
            Mistake("If p is uniform itself, TV is 0, and you divide by 0: return p then.",
                    lambda p, a: (1 - (1 - a) / (np.abs(p - 1 / len(p)).sum() / 2)) * p
                    + (1 - a) / (np.abs(p - 1 / len(p)).sum() / 2) / len(p)),
            Mistake("α and 1 − α are swapped.", lambda p, a: with_acceptance(p, 1 - a)),
            Mistake("That does not sum to 1: what p loses, the noise must gain.", lambda p, a: a * p),
            Mistake("TV has a factor ½.", lambda p, a: _no_half(p, a) if np.abs(p - 1 / len(p)).sum() else p),
            Mistake("The weights are swapped: w belongs to the noise.",
                    lambda p, a: _swapped(p, a) if np.abs(p - 1 / len(p)).sum() else p),
        ],
        ["Solve α = 1 − w · TV(p, r) for w.", "If p is uniform itself, TV is 0: return p."],
    ),
    Step(
        "propose",
        [
            ([1, 2, 3, 9, 1, 2], 2),
            ([1, 2, 3], 4),
            ([5, 5, 5, 5], 3),
            ([1, 2, 7, 1, 2, 8, 1, 2], 1),
            ([4, 1, 2, 6, 6, 2, 1, 2], 3),
            ([3, 1, 3], 2, 1),
            ([1], 2),
            ([9, 2, 3, 7, 1, 2, 3, 4, 9, 2, 3], 2, 3),
            ([0, 5, 0, 8, 0, 5, 0], 2),  # a token's id may be 0
        ],
        propose,
        [
            Mistake("The *latest* earlier place: recent words are more likely to come again.", _earliest),
            Mistake("You found the end of the text itself; nothing follows it.", _finds_itself),
            Mistake("Return what *followed* the place, not the place itself.", _repeats_the_key),
            Mistake("Compare the last `size` tokens, not only the last one.", _last_token_only),
            Mistake("At most `gamma` tokens.", lambda t, g, size=2: propose(t, 999, size)),
            Mistake("What follows begins right after the place: one token further left.",
                    lambda t, g, size=2: propose(t, g + 1, size)[1:]),
        ],
        ["Walk backwards over the starts; the last start that may count is len(tokens) − size − 1.",
         "What follows is `tokens[start + size : start + size + gamma]`."],
    ),
    Step(
        "seems_broken",
        [
            ([0.6] * 100, 10),
            ([0.6] * 100, 40),
            ([0.6] * 99, 0),
            ([0.2] * 100, 10),
            ([0.5] * 100, 14),
            ([0.5] * 100, 15),
            ([1.0] * 50 + [0.125] * 60, 17),
            ([1.0] * 50 + [0.125] * 60, 18),
            ([0.125] * 60 + [1.0] * 50, 17),
            ([0.75] * 400, 60),
            ([], 0),
        ],
        seems_broken,
        [
            Mistake("The draft promises the sum of its q, not a token for each.",
                    lambda qs, n: len(qs) >= 100 and n < 0.3 * len(qs)),
            Mistake("The draft promises the sum of its q, and they differ: not the largest for each.",
                    lambda qs, n: len(qs) >= 100 and n < 0.3 * len(qs) * max(qs)),
            Mistake("The draft promises the sum of its q, and they differ: not the first for each.",
                    lambda qs, n: len(qs) >= 100 and n < 0.3 * len(qs) * qs[0]),
            Mistake("Fewer than 100 judged tokens say nothing.", lambda qs, n: n < 0.3 * sum(qs)),
            Mistake("100 judged tokens are enough: fewer than 100 say nothing.",
                    lambda qs, n: len(qs) > 100 and n < 0.3 * sum(qs)),
            Mistake("*Fewer* than 0.3 of the promise: as many are not.",
                    lambda qs, n: len(qs) >= 100 and n <= 0.3 * sum(qs)),
            Mistake("0.3 of what is promised, not all of it.", lambda qs, n: len(qs) >= 100 and n < sum(qs)),
            Mistake("Too *few* are accepted, not too many.",
                    lambda qs, n: len(qs) >= 100 and n > 0.3 * sum(qs)),
        ],
        ["`sum(qs)` is how many it promises.", "`len(qs) >= 100 and num_accepted < 0.3 * sum(qs)`"],
    ),
]  # fmt: skip
