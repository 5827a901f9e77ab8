"""The checks of lesson 12: claims."""

from __future__ import annotations

import numpy as np

from minispec.course.teaching import Mistake, Prediction, Reply, Step

PREDICTIONS = [
    Prediction(
        "tau",
        "false",
        "1 + 0.8 + … + 0.8⁵ = 3.69. To get 4.5, α would have to be about 0.9.",
        [Reply("holds", "Compute it: six terms.")],
        choices=("holds", "false"),
    ),
    Prediction(
        "bits",
        4,
        "16 bits do not fit, 8 bits leave no more than 29 a second; at 4 bits the bound is 58.",
        [
            Reply(8, "At 8 bits the bound is 29 a second, if nothing else needs the memory."),
            Reply(16, "140 GB do not fit into 80."),
        ],
    ),
]


def verdict(claimed, measured):
    if claimed[0] <= measured[0] and measured[1] <= claimed[1]:
        return "holds"
    return "false" if measured[1] < claimed[0] or measured[0] > claimed[1] else "undecided"


def _by_the_middle(claimed, measured):
    middle = (measured[0] + measured[1]) / 2
    return "holds" if claimed[0] <= middle <= claimed[1] else "false"


def _overlap_is_enough(claimed, measured):
    return "false" if measured[1] < claimed[0] or measured[0] > claimed[1] else "holds"


def _only_below(claimed, measured):
    if claimed[0] <= measured[0] and measured[1] <= claimed[1]:
        return "holds"
    return "false" if measured[1] < claimed[0] else "undecided"


def _any_doubt_is_false(claimed, measured):
    return "holds" if claimed[0] <= measured[0] and measured[1] <= claimed[1] else "false"


def interval(plain, fast, picks):
    medians = np.median((np.array(plain) / np.array(fast))[picks], axis=1)
    return float(np.percentile(medians, 5)), float(np.percentile(medians, 95))


def _means(plain, fast, picks):
    means = (np.array(plain) / np.array(fast))[picks].mean(axis=1)
    return float(np.percentile(means, 5)), float(np.percentile(means, 95))


def _ratio_of_medians(plain, fast, picks):
    ratios = np.median(np.array(plain)[picks], axis=1) / np.median(np.array(fast)[picks], axis=1)
    return float(np.percentile(ratios, 5)), float(np.percentile(ratios, 95))


def _spread(plain, fast, picks):
    ratios = np.array(plain) / np.array(fast)
    return float(np.percentile(ratios, 5)), float(np.percentile(ratios, 95))


def _upside_down(plain, fast, picks):
    return interval(fast, plain, picks)


def decode_bound(billions, bits, memory_gb, gb_per_s):
    size_gb = billions * bits / 8
    return gb_per_s / size_gb if size_gb <= memory_gb else 0.0


def _fits_always(billions, bits, memory_gb, gb_per_s):
    return gb_per_s / (billions * bits / 8)


def _bits_are_bytes(billions, bits, memory_gb, gb_per_s):
    size = billions * bits
    return gb_per_s / size if size <= memory_gb else 0.0


def _memory_over_size(billions, bits, memory_gb, gb_per_s):
    size = billions * bits / 8
    return memory_gb / size if size <= memory_gb else 0.0


def _alpha(rate, gamma):
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if sum(middle**k for k in range(1, gamma + 1)) / gamma < rate else (low, middle)
    return low


def same_pair(rate_one, gamma_one, rate_two, gamma_two):
    return abs(_alpha(rate_one, gamma_one) - _alpha(rate_two, gamma_two)) <= 0.01


def _same_rate(rate_one, gamma_one, rate_two, gamma_two):
    return abs(rate_one - rate_two) <= 0.01


def _same_accepted(rate_one, gamma_one, rate_two, gamma_two):
    return abs(rate_one * gamma_one - rate_two * gamma_two) <= 0.01


def _root(rate_one, gamma_one, rate_two, gamma_two):
    return abs(rate_one ** (1 / gamma_one) - rate_two ** (1 / gamma_two)) <= 0.01


def _runs() -> list[tuple[list[float], list[float], np.ndarray]]:
    rng = np.random.default_rng(1)
    counting = [float(ratio) for ratio in range(1, 22)]
    cases = [
        (counting, [1.0] * 21, np.arange(21)[:, None]),
        ([4.0, 6.0, 9.0], [2.0, 2.0, 3.0], np.array([[0, 1, 2], [0, 0, 1], [2, 2, 1], [1, 1, 1]])),
    ]
    for count in (5, 9, 4):
        plain, fast = 2 + rng.random(count), 1 + rng.random(count)
        plain[0] *= 20
        cases.append((plain.tolist(), fast.tolist(), rng.integers(0, count, (60, count))))
    return cases


STEPS = [
    Step(
        "verdict",
        [
            ((2, 3), (2.2, 2.8)),
            ((2, 3), (1.8, 2.4)),
            ((2, 3), (1.2, 1.6)),
            ((2, 3), (3.1, 3.4)),
            ((2, 3), (1.5, 3.5)),
            ((2, 3), (2.0, 3.0)),
            ((2, 3), (2.9, 3.3)),
            ((2, 3), (1.5, 2.0)),
            ((2, 3), (3.0, 3.5)),
            ((2, 3), (2.5, 2.5)),
            ((2, 3), (1.96, 2.5)),
            ((2, 3), (1.9999, 3.0001)),
            ((1.0, 1.2), (1.05, 1.1)),
            ((4.275, 4.725), (3.69, 3.69)),
        ],
        verdict,
        [
            Mistake("The middle alone does not decide: the whole interval must lie inside, or outside.", _by_the_middle),
            Mistake("Some overlap is not enough to hold.", _overlap_is_enough),
            Mistake("Above the range is outside, too.", _only_below),
            Mistake("Both ends are included: an interval that touches the border from outside does not decide.",
                    lambda c, m: "false" if m[1] == c[0] or m[0] == c[1] else verdict(c, m)),
            Mistake("Both ends are included: an interval that reaches just to the border lies inside.",
                    lambda c, m: "holds" if c[0] < m[0] and m[1] < c[1] else
                    "false" if m[1] < c[0] or m[0] > c[1] else "undecided"),
            Mistake("Entirely outside is not undecided but false.",
                    lambda c, m: "holds" if verdict(c, m) == "holds" else "undecided"),
            Mistake("Look at both ends of the measured interval.",
                    lambda c, m: "holds" if c[0] <= m[0] <= c[1] else "false"),
            Mistake("In lower case, as the docstring says.", lambda c, m: verdict(c, m).upper()),
            Mistake("The *measured* interval must lie inside the claimed one, not the other way round.",
                    lambda c, m: verdict(m, c)),
            Mistake("Not proved is not disproved: an overlap is undecided.", _any_doubt_is_false),
        ],
        ["Inside: both ends inside. Outside: entirely below or entirely above. Else undecided."],
    ),
    Step(
        "interval",
        _runs,
        interval,
        [
            Mistake("The median, not the mean: one slow round must not decide.", _means),
            Mistake("Ratios within a round first; the machine's speed drifts from round to round.", _ratio_of_medians),
            Mistake("The 5 % and the 95 % percentile: np.percentile counts in per cent.",
                    lambda p, f, k: tuple(float(np.percentile(np.median((np.array(p) / np.array(f))[k], axis=1), x))
                                          for x in (0.05, 0.95))),
            Mistake("5 % and 95 %, not 10 % and 90 %.",
                    lambda p, f, k: tuple(float(np.percentile(np.median((np.array(p) / np.array(f))[k], axis=1), x))
                                          for x in (10, 90))),
            Mistake("Ratios, plain / fast, not differences.",
                    lambda p, f, k: tuple(float(np.percentile(np.median((np.array(p) - np.array(f))[k], axis=1), x))
                                          for x in (5, 95))),
            Mistake("5 % and 95 %, not 2.5 % and 97.5 %.",
                    lambda p, f, k: tuple(float(np.percentile(np.median((np.array(p) / np.array(f))[k], axis=1), x))
                                          for x in (2.5, 97.5))),
            Mistake("One median per *row* of picks: axis=1.",
                    lambda p, f, k: tuple(float(np.percentile(np.median((np.array(p) / np.array(f))[k], axis=0), x))
                                          for x in (5, 95))),
            Mistake("That is how much single rounds vary, not how well the median is known.", _spread),
            Mistake("Upside down: speedup is plain over fast.", _upside_down),
        ],
        ["`ratios[picks]` has shape [B, n]: each row is one resampling.", "np.median(..., axis=1), then np.percentile."],
    ),
    Step(
        "decode_bound",
        [(7, 16, 80, 2000), (70, 16, 80, 2039), (70, 4, 80, 2039), (0.124, 32, 8, 50), (40, 16, 80, 1000), (7, 8, 7.5, 100)],
        decode_bound,
        [
            Mistake("Does it fit? 140 GB do not go into 80.", _fits_always),
            Mistake("Weights that fill the memory exactly fit: <=, not <.",
                    lambda n, bits, m, speed: decode_bound(n, bits, m, speed) if n * bits / 8 < m else 0.0),
            Mistake("Bits, not bytes: divide by 8.", _bits_are_bytes),
            Mistake("Every token reads all weights once: divide the *bandwidth* by their size.", _memory_over_size),
        ],
        ["Size in GB: billions · bits / 8.", "Bandwidth over size, if it fits."],
    ),
    Step(
        "same_pair",
        [(0.8, 1, 0.538, 5), (0.6, 2, 0.6, 6), (0.5, 1, 0.25, 2), (0.7, 3, 0.7, 3), (0.72, 4, 0.873, 1), (0.95, 1, 0.95, 8), (0.6, 2, 0.3, 4),
         (0.8, 1, 0.807, 1), (0.815, 1, 0.8, 1), (0.3, 1, 0.0917, 5), (0.5, 1, 0.508, 1), (0.97, 1, 0.985, 1), (0.992, 1, 0.999, 1)],
        same_pair,
        [
            Mistake("To within 0.01, *whichever* of the two is larger: abs(...).",
                    lambda a, g, b, h: _alpha(a, g) - _alpha(b, h) <= 0.01),
            Mistake("Within 0.01, not 0.1.", lambda a, g, b, h: abs(_alpha(a, g) - _alpha(b, h)) <= 0.1),
            Mistake("Within 0.01, not 0.001.", lambda a, g, b, h: abs(_alpha(a, g) - _alpha(b, h)) <= 0.001),
            Mistake("The same rate at another γ is another α.", _same_rate),
            Mistake("Accepted tokens per step grow with γ, too.", _same_accepted),
            Mistake("α^γ is the chance that *all* are accepted; the rate is the mean over the positions.", _root),
        ],
        ["Write `alpha_of(rate, gamma)` in it, as in lesson 6: halve [0, 1] until sum(a**k) / gamma is the rate.",
         "Then compare the two α."],
    ),
]  # fmt: skip
