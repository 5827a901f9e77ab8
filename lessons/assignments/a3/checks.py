"""A3's checks: numbers. The tolerance is 1e-6, relative and absolute.

The formulas are sums and products of a few dozen numbers, which any order of operations gives to 1e-12; the closed
form of tau loses digits near alpha = 1, to about 1e-8 on the cases here. 1e-6 is also what `break_even_alpha` promises.
"""

import numpy as np

from minispec.course.grading import Check, Close, with_drawn

NUMBERS = Close(rtol=1e-6, atol=1e-6)


def shown(value):
    return np.array2string(value, separator=", ") if isinstance(value, np.ndarray) else repr(value)


def check(check_id, function, cases, **rest):
    """Return a check that calls a function with the entries of a case, in the order of the first case."""
    names = tuple(cases[0])

    def observe(student, case):
        return getattr(student, function)(*(case[name] for name in names))

    def show(case):
        return f"{function}({', '.join(shown(case[name]) for name in names)})"

    return Check(check_id, observe, cases=cases, same=NUMBERS, show=show, arguments=names, **rest)


def pair(p, q):
    return {"p": np.array(p), "q": np.array(q)}


def hidden_pairs(rng):
    def law(size):
        return rng.multinomial(1000, rng.dirichlet(np.ones(size))) / 1000

    near = rng.multinomial(900, np.ones(4) / 4) + 25.0  # no tolerance takes these two for equal
    apart = [pair(law(size), law(size)) for size in (3, 6)] + [pair([*law(3), 0.0], [*law(3), 0.0])]
    return [*apart, pair(near / 1000, (near + rng.permutation([1, 1, -1, -1])) / 1000)]


def alphas(*pairs):
    return [{"alpha": alpha, "gamma": gamma} for alpha, gamma in pairs]


TAUS = alphas((0.5, 1), (0.8, 0), (0.8, 5), (0.3, 3), (1.0, 4), (0.0, 3), (0.999999, 8), (0.93, 6), (0.99, 4))


def hidden_alphas(rng):
    return alphas(
        *(
            (round(rng.uniform(low, high), 3), int(rng.integers(1, 12)))
            for low, high in [(0.1, 0.9)] * 2 + [(0.9, 0.999)]
        )
    )


def search_alphas():
    from hypothesis import strategies as st

    return st.fixed_dictionaries({"alpha": st.sampled_from([0.5, 0.0, 1.0, 0.25]), "gamma": st.integers(0, 6)})


def runs(*pairs):
    return [{"drafted": list(drafted), "accepted": list(accepted)} for drafted, accepted in pairs]


RUNS = runs(
    ([4], [4]),
    ([4], [0]),
    ([4], [2]),
    ([4, 4], [4, 1]),
    ([4, 4, 4], [4, 2, 0]),
    ([5, 1, 0, 3], [2, 1, 0, 0]),
    ([0, 0], [0, 0]),
    ([], []),
)


def hidden_runs(rng):
    drafted = rng.integers(0, 7, 9)
    return runs((drafted.tolist(), [int(rng.integers(0, d + 1)) for d in drafted]))


def search_runs():
    from hypothesis import strategies as st

    step = st.integers(0, 4).flatmap(lambda drafted: st.tuples(st.just(drafted), st.integers(0, drafted)))
    return st.lists(step, max_size=4).map(lambda steps: runs(([d for d, _ in steps], [a for _, a in steps]))[0])


FLAT, RISING, STEEP = [1.0] * 9, [1.0 + 0.1 * m for m in range(9)], [1.0, 1.5, 2.1, 2.8, 3.6, 4.5, 5.5]


def speedups(*rows):
    names = ("alpha", "gamma", "c", "verify_cost")
    return [dict(zip(names, row, strict=True)) for row in rows]


SPEEDUPS = speedups(
    (0.8, 5, 0.05, FLAT), (0.8, 0, 0.3, FLAT), (0.6, 3, 0.2, RISING), (0.9, 2, 0.5, STEEP), (1.0, 4, 0.1, RISING)
)


def hidden_speedups(rng):
    return speedups((float(rng.uniform(0.2, 0.9)), int(rng.integers(1, 7)), float(rng.uniform(0.02, 0.4)), RISING))


DIP = [1.0, 1.0, 1.9, 1.9, 1.9, 1.9, 1.9, 1.9, 1.9]
"""A machine that takes rows in pairs and more: the speedup falls before it rises again."""


def bests(*rows):
    return [dict(zip(("alpha", "c", "verify_cost"), row, strict=True)) for row in rows]


BESTS = bests(
    (0.8, 0.1, FLAT),
    (0.5, 0.05, RISING),
    (0.3, 0.5, FLAT),
    (0.7, 0.1, STEEP),
    (0.9, 0.02, RISING),
    (0.95, 0.01, FLAT[:3]),
    (0.9, 0.05, DIP),
    (0.0, 0.0, FLAT),
)
"""The two best speedups of each case are well apart, but in the last: there all are exactly 1."""


def clear_bests(rng):
    """Draw machines on which the best gamma is no close call."""
    while True:
        alpha, c = round(rng.uniform(0.2, 0.95), 3), round(rng.uniform(0.01, 0.3), 3)
        costs = [1.0, *(1.0 + np.cumsum(rng.choice([0.0, 0.1, 0.8], 7))).round(3).tolist()]
        gains = [sum(alpha**k for k in range(g + 1)) / (g * c + costs[g]) for g in range(8)]
        second, best = np.sort(gains)[-2:]
        if best - second > 1e-3:
            yield alpha, c, costs


def close_bests(rng):
    """Draw machines on which the best gamma wins by a hair against a smaller one: no rounding, and no tolerance, finds it."""
    while True:
        alpha, c = round(rng.uniform(0.4, 0.95), 4), round(rng.uniform(0.01, 0.2), 4)
        costs = [1.0, *(1.0 + 0.05 * np.arange(1, 8)).tolist()]
        gains = [sum(alpha**k for k in range(g + 1)) / (g * c + costs[g]) for g in range(8)]
        second, best = np.argsort(gains)[-2:]
        if second < best and 1e-5 < gains[best] - gains[second] < 2e-3:
            yield alpha, c, costs


def hidden_bests(rng):
    clear, close = clear_bests(rng), close_bests(rng)
    return bests(*(next(clear) for _ in range(4)), next(close))


def breaks(*rows):
    return [dict(zip(("gamma", "c", "verify_cost"), row, strict=True)) for row in rows]


BREAKS = breaks(
    (5, 0.05, FLAT),
    (5, 0.3, FLAT),
    (1, 0.2, FLAT),
    (3, 0.1, RISING),
    (2, 0.85, RISING),
    (1, 0.0, FLAT),
    (2, 1.5, FLAT),
    (2, 0.5, [1.0, 1.5, 2.0]),
)
"""In the last case drafting pays at alpha = 1 and nowhere else."""


def hidden_breaks(rng):
    return breaks((int(rng.integers(1, 8)), float(rng.uniform(0.02, 0.4)), RISING))


def shapes(*rows):
    return [dict(zip(("n_layer", "n_embd", "vocab_size"), row, strict=True)) for row in rows]


SHAPES = shapes((1, 1, 1), (12, 768, 50257), (3, 8, 20))


def hidden_shapes(rng):
    return shapes([int(number) for number in rng.integers(2, 60, 3)])


def forwards(*rows):
    names = ("n_layer", "n_embd", "vocab_size", "rows", "context", "bytes_per_number")
    return [dict(zip(names, row, strict=True)) for row in rows]


FORWARDS = forwards(
    (1, 2, 3, 1, 0, 4), (1, 2, 3, 1, 5, 4), (3, 8, 20, 4, 0, 2), (3, 8, 20, 4, 7, 2), (12, 768, 50257, 6, 512, 4)
)


def hidden_forwards(rng):
    return forwards([int(number) for number in rng.integers(2, 60, 6)])


def machines(*rows):
    return [dict(zip(("operations", "num_bytes", "peak", "bandwidth"), row, strict=True)) for row in rows]


MACHINES = machines((8e9, 4e9, 4e11, 4e10), (8e11, 4e9, 4e11, 4e10), (1e10, 1e9, 1e10, 1e9))


def hidden_machines(rng):
    return machines(*((10.0 ** rng.uniform((9, 8, 10, 9), (12, 11, 12, 11))).round().tolist() for _ in range(4)))


def ridges(*rows):
    return [dict(zip(("peak", "bandwidth", "bytes_per_number"), row, strict=True)) for row in rows]


RIDGES = ridges((400e9, 40e9, 4), (989e12, 3.35e12, 2), (100e9, 50e9, 1))


def hidden_ridges(rng):
    return ridges(*((*(10.0 ** rng.uniform((10, 9), (13, 12))).round().tolist(), n) for n in (1, 2, 4)))


def batches(*rows):
    return [dict(zip(("batch", "max_rows", "ridge"), row, strict=True)) for row in rows]


BATCHES = batches((1, 6, 100.0), (8, 4, 16.0), (1, 5, 2.5), (20, 4, 10.0), (10, 3, 10.0))


def hidden_batches(rng):
    some, more = (int(batch) for batch in rng.integers(2, 40, 2))
    within = float(some * rng.uniform(1.5, 4.5))  # neither all rows are free nor none: the answer is in no table
    return batches((some, 6, within), (more, 6, float(rng.uniform(5, 60))))


POSITIONS = [{"acceptances": a} for a in ([], [0.5], [0.8, 0.5], [0.9, 0.72, 0.65, 0.6], [0.5, 0.0, 1.0], [1.0, 1.0])]


def hidden_positions(rng):
    return [{"acceptances": rng.uniform(0.2, 1.0, 5).round(2).tolist()}]


POOLS = [
    {"taus": [3.0], "tokens": [10.0]},
    {"taus": [2.0, 4.0], "tokens": [100.0, 100.0]},
    {"taus": [1.5, 5.0, 3.0], "tokens": [30.0, 200.0, 10.0]},
]


def hidden_pools(rng):
    return [{"taus": rng.uniform(1, 6, 4).round(2).tolist(), "tokens": rng.integers(10, 500, 4).astype(float).tolist()}]


def responses(*rows):
    return [dict(zip(("num_tokens", "alpha", "gamma"), row, strict=True)) for row in rows]


RESPONSES = responses(
    (0, 0.5, 2),
    (1, 0.5, 3),
    (2, 0.5, 1),
    (5, 0.8, 3),
    (7, 0.0, 4),
    (9, 1.0, 3),
    (13, 0.7, 5),
    (4, 0.6, 0),
    (9, 0.99, 3),
)
"""Few enough tokens for a recursion that remembers nothing, which is a right answer."""


def hidden_responses(rng):
    return responses((int(rng.integers(5, 14)), float(rng.uniform(0.2, 0.9)), int(rng.integers(1, 8))))


def search_responses():
    from hypothesis import strategies as st

    return st.fixed_dictionaries(
        {"num_tokens": st.integers(0, 6), "alpha": st.sampled_from([0.5, 0.0, 1.0]), "gamma": st.integers(0, 4)}
    )


def explain_overlap(cases, observed, expected):
    """Name what is weighed wrongly, wherever q is positive, and a tolerance."""
    told = [(case["p"], case["q"], one, right) for case, one, right in zip(cases, observed, expected, strict=True)]
    wrong = [(p, q, one) for p, q, one, right in told if abs(one - right) > 1e-6]
    if all(abs(one - 1.0) < 1e-9 and np.abs(p - q).max() < 0.05 for p, q, one in wrong):
        return "overlap_close_is_equal", "You take p and q for equal where they are only close."
    whole = [(p, q, one, right) for p, q, one, right in told if q.min() > 0]
    for name, words, formula in WEIGHTS:
        if sum(abs(formula(p, q) - right) > 1e-3 for p, q, _, right in whole) >= 3 and all(
            abs(one - formula(p, q)) < 1e-6 for p, q, one, _ in whole
        ):
            return name, words
    return None


WEIGHTS = [
    (
        "overlap_mean_ratio",
        "You average min(1, p/q) over all tokens alike; tokens come with probability q, so weigh by q.",
        lambda p, q: np.minimum(1.0, p / q).mean(),
    ),
    (
        "overlap_weighted_by_p",
        "You weigh min(1, p/q) by p; the token is drawn from q.",
        lambda p, q: np.sum(p * np.minimum(1.0, p / q)),
    ),
    (
        "overlap_half_of_the_missing",
        "You halve the sum of max(p - q, 0); half of the sum of |p - q| is the whole of it.",
        lambda p, q: 1.0 - np.maximum(p - q, 0.0).sum() / 2,
    ),
    (
        "overlap_of_sorted",
        "You sort p and q before you compare them; entry i of both is the same token.",
        lambda p, q: np.minimum(np.sort(p), np.sort(q)).sum(),
    ),
    (
        "overlap_counts_tokens",
        "You count the tokens at which p is not smaller than q; each comes with its own probability.",
        lambda p, q: np.mean(p >= q),
    ),
    ("overlap_without_the_last", "You leave out the last token.", lambda p, q: np.minimum(p, q)[:-1].sum()),
]


def explain_tau(cases, observed, expected):
    """Name what is wrong at alpha = 1 only, or just below it only."""
    pairs = zip(cases, observed, expected, strict=True)
    wrong = [(case["alpha"], case["gamma"], one) for case, one, right in pairs if abs(one - right) > 1e-6 * right]
    if all(alpha == 1.0 for alpha, _, _ in wrong):
        return "tau_at_one", "At alpha = 1 every draft is accepted: gamma + 1 tokens."
    if all(0.9 < alpha <= 1.0 and abs(one - gamma - 1) < 1e-9 for alpha, gamma, one in wrong):
        return "tau_close_is_one", "You take alpha for 1 where it is only close to it; a sum needs no special case."
    if all(0.0 < alpha < 1.0 for alpha, _, _ in wrong) and all(
        abs(one - min(1.0 / (1.0 - case["alpha"]), case["gamma"] + 1.0)) < 1e-6
        for case, one in zip(cases, observed, strict=True)
        if case["alpha"] < 1.0
    ):
        return (
            "tau_limit_capped",
            "You use 1 / (1 - alpha), the limit of infinitely long drafts, and cap it; add up the powers.",
        )
    return None


def explain_best(cases, observed, expected):
    """Name what drafts nothing where drafting pays, and is right elsewhere."""
    wrong = [(one, right) for one, right in zip(observed, expected, strict=True) if one != right]
    if all(one == 0 for one, _ in wrong):
        return (
            "best_gamma_needs_a_margin",
            "You draft nothing where it pays: whatever is faster is better, by however little.",
        )
    return None


def explain_break_even(cases, observed, expected):
    """Name what is too coarse everywhere, and what is missing at alpha = 1 only."""
    pairs = list(zip(observed, expected, strict=True))
    pairs = [(one, right) for one, right in pairs if one is not None or right is not None]
    wrong = [(one, right) for one, right in pairs if one is None or right is None or abs(one - right) > 1e-6]
    if all(one is None and right is not None and right > 1.0 - 1e-6 for one, right in wrong):
        return "break_even_not_at_one", "Where it is no slower at alpha = 1 alone you return None; return 1."
    if all(one is not None and right is not None and abs(one - right) < 0.02 for one, right in wrong):
        return (
            "break_even_coarse",
            "Your answer is too coarse: it must be exact to 1e-6. Halve the interval until it is that short.",
        )
    return None


CHECKS = [
    check(
        "a3.q1.overlap",
        "acceptance_probability",
        [
            pair([0.5, 0.5], [0.9, 0.1]),
            pair([0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]),
            pair([0.5, 0.5, 0.0], [0.0, 0.0, 1.0]),
            pair([0.3, 0.7], [0.3, 0.7]),
            pair([0.4, 0.6, 0.0], [0.1, 0.9, 0.0]),
            pair([0.3, 0.7], [0.3001, 0.6999]),
        ],
        hidden=hidden_pairs,
        explain=explain_overlap,
    ),
    check("a3.q2.tau", "tau", TAUS, hidden=hidden_alphas, search=search_alphas, explain=explain_tau),
    check("a3.q2.law", "tokens_law", TAUS, hidden=hidden_alphas, search=search_alphas),
    check("a3.q3.estimate", "estimate", with_drawn(RUNS, hidden_runs), hidden=hidden_runs, search=search_runs),
    check("a3.q4.speedup", "speedup", with_drawn(SPEEDUPS, hidden_speedups), hidden=hidden_speedups),
    check("a3.q4.best", "best_gamma", with_drawn(BESTS, hidden_bests), hidden=hidden_bests, explain=explain_best),
    check(
        "a3.q4.break_even",
        "break_even_alpha",
        with_drawn(BREAKS, hidden_breaks),
        hidden=hidden_breaks,
        explain=explain_break_even,
    ),
    check("a3.q5.weights", "count_weights", SHAPES, hidden=hidden_shapes),
    check("a3.q5.costs", "forward_costs", FORWARDS, hidden=hidden_forwards),
    check("a3.q6.time", "roofline_time", MACHINES, hidden=hidden_machines),
    check("a3.q6.ridge", "ridge_rows", RIDGES, hidden=hidden_ridges),
    check("a3.q6.batch", "roofline_verify_cost", with_drawn(BATCHES, hidden_batches), hidden=hidden_batches),
    check("a3.q7.position", "tau_by_position", POSITIONS, hidden=hidden_positions),
    check("a3.q7.pooled", "pooled_tau", POOLS, hidden=hidden_pools),
    check(
        "a3.q8.steps",
        "expected_steps",
        with_drawn(RESPONSES, hidden_responses),
        hidden=hidden_responses,
        search=search_responses,
    ),
]
