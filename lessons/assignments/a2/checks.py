"""A2's checks: laws, not samples.

`verify`, `propose` and `speculative` are replayed over every answer of their noise, on models whose law depends on the
whole text as the session's cache holds it; the outcome's exact law is compared with that of the reference solution
(total variation 1e-9). So every lossless loop passes, however it is written, and none that is biased.
Only `sample` is sampled, on 5000 vectors of uniforms: a right law of up to 26 tokens stays within a total variation of
0.08 but for a chance below 1e-12 (McDiarmid's inequality), and its mistakes are far beyond.
"""

import numpy as np

from minispec.course.grading import Check, Oracle, Refusal, exact_law, with_drawn
from minispec.engine.model.toy import TableModel

# q1


def observe_accept(student, case):
    return student.accept(case["p"], case["q"], case["token"], case["u"])


def accept_case(p, q, token, u):
    return {"p": np.array(p), "q": np.array(q), "token": token, "u": u}


P, Q = [0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]


def around(p, q, token):
    """Cases a little below and a little above the ratio, and at the ends of [0, 1)."""
    ratio = p[token] / q[token]
    near = [ratio - 1e-4, ratio * (1 - 1e-9), ratio * (1 + 1e-9), ratio + 1e-4]
    return [accept_case(p, q, token, u) for u in (0.0, *near, 0.9999) if 0.0 <= u < 1.0]


def accept_cases():
    pairs = [([0.3, 0.7], [0.9, 0.1], 0), ([0.6, 0.4], [0.9, 0.1], 0), ([3e-8, 1 - 3e-8], [1e-7, 1 - 1e-7], 0)]
    return [case for token in range(4) for case in around(P, Q, token)] + [
        case for pair in pairs for case in around(*pair)
    ]


def hidden_accept(rng):
    p, q = rng.dirichlet(np.ones(5)), rng.dirichlet(np.ones(5))
    likeliest = int(np.argmax(p))  # drafted too often, so that it is sometimes rejected
    q_high = np.where(np.arange(5) == likeliest, 1 - 0.3 * (1 - p[likeliest]), 0.3 * p)
    q_high = q_high / q_high.sum()
    return [case for token in range(5) for case in around(p, q, token)] + around(p, q_high, likeliest)


def never_cases():
    return [accept_case([0.0, 1.0], [0.5, 0.5], 0, u) for u in (0.0, 1e-9, 0.5)]


def hidden_never(rng):
    token = int(rng.integers(4))
    p, q = np.where(np.arange(4) == token, 0.0, rng.dirichlet(np.ones(4))), rng.dirichlet(np.ones(4))
    return [accept_case(p / p.sum(), q, token, u) for u in (0.0, float(rng.random()))]


# q2


def observe_residual(student, case):
    return student.residual(case["p"], case["q"])


def residual_case(p, q):
    return {"p": np.array(p, float), "q": np.array(q, float)}


def residual_cases():
    return [
        residual_case([0.75, 0.25], [0.5, 0.5]),
        residual_case(P, Q),
        residual_case([0.2, 0.5, 0.3], [0.5, 0.25, 0.25]),
        residual_case([0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]),
        residual_case([0.5, 0.25, 0.25], [0.5 + 2**-17, 0.25 - 2**-17, 0.25]),
        residual_case([0.5, 0.25, 0.25], [0.5 + 2**-40, 0.25 - 2**-40, 0.25]),
        residual_case([0.5, 0.25, 0.125, 0.125], [0.75, 0.0, 0.25, 0.0]),  # what only the target has
    ]


def hidden_residual(rng):
    p = rng.multinomial(64, np.ones(4) / 4) + 1.0
    near = (p + 2**-10 * rng.permutation([1, -1, 1, -1])) / p.sum()  # all but equal
    pairs = [(rng.dirichlet(np.ones(6)), rng.dirichlet(np.ones(6))) for _ in range(2)]
    apart = np.where(np.arange(6) < 2, 0.0, pairs[0][1])  # what the draft never proposes
    return [residual_case(*pair) for pair in [*pairs, (p / p.sum(), near), (pairs[0][0], apart / apart.sum())]]


def search_residual():
    from hypothesis import strategies as st

    def case(pairs):
        weights = np.array(pairs, float)
        p, q = (weights / weights.sum(axis=0)).T
        return residual_case(p, q)

    return st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=2, max_size=3).map(case)


def equal_cases():
    return [residual_case([0.25, 0.75], [0.25, 0.75]), residual_case(P, P)]


def hidden_equal(rng):
    p = rng.dirichlet(np.ones(5))
    return [residual_case(p, p)]


# q3

NUM_DRAWS, NUM_AGAIN = 5000, 50
LAW_TOLERANCE = 0.08


def observe_draws(student, case):
    """Count how often each token is drawn; the first uniforms are spread evenly, the others at random."""
    rng = np.random.default_rng(case["seed"])
    uniforms = rng.random((NUM_DRAWS, len(case["probs"])))
    uniforms[:, 0] = (rng.permutation(NUM_DRAWS) + 0.5) / NUM_DRAWS
    counts = [0] * len(case["probs"])
    drawn = student.each("sample", [case["probs"]], [*uniforms, *uniforms[:NUM_AGAIN]])
    for token in drawn[:NUM_DRAWS]:
        if type(token) is not int or not 0 <= token < len(counts):
            return {"drawn": token, "frequencies": None, "again": ""}
        counts[token] += 1
    again = "the same tokens" if drawn[:NUM_AGAIN] == drawn[NUM_DRAWS:] else "other tokens"
    return {"drawn": "tokens", "frequencies": [count / NUM_DRAWS for count in counts], "again": again}


def same_frequencies(observed, expected):
    """Allow what chance may do to another right method."""
    if observed["drawn"] != expected["drawn"]:
        return f"the result is {observed['drawn']!r}, which is no token"
    if observed["frequencies"] is None:
        return None
    distance = 0.5 * sum(abs(a - b) for a, b in zip(observed["frequencies"], expected["frequencies"], strict=True))
    if distance <= LAW_TOLERANCE:
        told = f"the same uniforms, given again, draw {observed['again']}"
        return None if observed["again"] == expected["again"] else told
    drawn, wanted = ([f"{f:.3f}" for f in told["frequencies"]] for told in (observed, expected))
    return f"tokens were drawn with frequencies {', '.join(drawn)}, expected {', '.join(wanted)}"


SPREAD = np.array([0.5, *[0.5 / 25] * 25])
"""Half the mass on one token, half on many: whoever cuts off a tail or sharpens is far from it."""


def draws_cases():
    return [{"probs": np.array([0.6, 0.1, 0.3]), "seed": 7}, {"probs": SPREAD, "seed": 8}]


def hidden_draws(rng):
    return [{"probs": rng.dirichlet(np.ones(6)), "seed": int(rng.integers(10**6))}]


LAST_IMPOSSIBLE = np.append(np.full(39, 1 / 39), 0.0)
"""Many tokens whose sum rounds, and behind them one that must not come: a large u falls behind the sum."""


def observe_support(student, case):
    drawn = set(student.each("sample", [case["probs"]], np.array(case["uniforms"])))
    return {"impossible tokens drawn": sorted(token for token in drawn if not case["probs"][token] > 0.0)}


def support_cases():
    edges = [0.0, 1e-12, 0.25, 0.5, 1 - 2**-53]
    rows = [
        [a, b, c, d] for a in edges for b, c, d in [(0.3, 0.6, 0.9), (0.0, 0.5, 1 - 2**-53), (1 - 2**-53, 0.0, 0.0)]
    ]
    return [
        {"probs": np.array([0.0, 0.5, 0.0, 0.5]), "uniforms": rows},
        {"probs": np.array([0.5, 0.5 - 1e-10, 0.0, 0.0]), "uniforms": rows},
        {"probs": LAST_IMPOSSIBLE, "uniforms": np.repeat([[0.3], [1 - 2**-25], [1 - 2**-53]], 40, axis=1).tolist()},
    ]


def hidden_support(rng):
    probs = rng.permutation([0.0, 0.0, *rng.dirichlet(np.ones(2))])
    edges = [[u] * 4 for u in (0.0, 1 - 2**-25, 1 - 2**-53)]
    some = np.append(rng.dirichlet(np.ones(39)), 0.0)
    return [
        {"probs": probs, "uniforms": [*rng.random((12, 4)).tolist(), *edges]},
        {"probs": some, "uniforms": [[u] * 40 for u in (0.0, 0.5, 1 - 2**-25, 1 - 2**-53)]},
    ]


# q4


def observe_verify(student, case):
    """The exact law of (number accepted, next token), given the draft."""
    return exact_law(
        lambda noise: student.verify(case["draft_tokens"], case["draft_probs"], case["target_probs"], noise)
    )


def verify_case(draft_tokens, draft_probs, target_probs):
    vocab_size = len(target_probs[0])
    return {
        "draft_tokens": list(draft_tokens),
        "draft_probs": np.array(draft_probs, float).reshape(len(draft_tokens), vocab_size),
        "target_probs": np.array(target_probs, float),
    }


def random_verify(rng, gamma, vocab_size=3):
    """Rows in thousandths, none of them 0: a draft is drawn from its row."""
    rows = [
        (rng.multinomial(1000 - vocab_size, rng.dirichlet(np.ones(vocab_size))) + 1) / 1000
        for _ in range(2 * gamma + 1)
    ]
    return verify_case(rng.integers(0, vocab_size, gamma).tolist(), rows[:gamma], rows[gamma:])


def one_cases():
    after = [0.25, 0.15, 0.35, 0.25]
    rare = [1e-7, 0.2, 0.3, 0.5 - 1e-7]
    cases = [verify_case([token], [Q], [P, after]) for token in range(4)]
    cases.append(verify_case([0], [rare], [[3e-8, 0.4, 0.2, 0.4 - 3e-8], after]))
    cases.append(verify_case([1], [Q], [[0.5, 0.0, 0.25, 0.25], after]))  # a draft the target cannot emit
    return [*cases, verify_case([0], [[0.5, 0.0, 0.5, 0.0]], [[0.25, 0.25, 0.125, 0.375], after])]


def hidden_one(rng):
    cases = [random_verify(rng, 1, 4) for _ in range(2)]
    case = random_verify(rng, 1, 4)
    case["target_probs"][0, case["draft_tokens"][0]] = 0.0
    case["target_probs"][0] /= case["target_probs"][0].sum()
    never = random_verify(rng, 1, 4)  # two tokens that the draft never proposes
    never["draft_probs"][0, [(never["draft_tokens"][0] + i) % 4 for i in (1, 2)]] = 0.0
    never["draft_probs"][0] /= never["draft_probs"][0].sum()
    return [*cases, case, never]


def prefix_cases():
    p = [[0.5, 0.3, 0.2], [0.1, 0.2, 0.7], [0.3, 0.6, 0.1], [0.2, 0.2, 0.6]]
    q = [[0.6, 0.2, 0.2], [0.5, 0.3, 0.2], [0.1, 0.1, 0.8]]
    drafts = [[0, 1], [0, 0], [1, 0], [2, 1]]
    return [verify_case(draft, q[:2], p[:3]) for draft in drafts] + [verify_case([0, 1, 2], q, p)]


def hidden_prefix(rng):
    return [random_verify(rng, gamma, 4) for gamma in (2, 3)]


def search_prefix():
    from hypothesis import strategies as st

    return st.builds(
        lambda gamma, seed: random_verify(np.random.default_rng(seed), gamma), st.integers(1, 2), st.integers(0, 9)
    )


def bonus_cases():
    p = [[0.5, 0.3, 0.2], [0.1, 0.2, 0.7], [0.3, 0.6, 0.1]]
    return [verify_case([0], p[:1], p[:2]), verify_case([2, 1], p[:2], p)]


def hidden_bonus(rng):
    """Drafts that are always accepted."""
    cases = [random_verify(rng, gamma) for gamma in (1, 2, 5)]
    return [case | {"draft_probs": case["target_probs"][:-1].copy()} for case in cases]


def empty_cases():
    return [verify_case([], [], [[0.5, 0.3, 0.2]])]


def hidden_empty(rng):
    return [random_verify(rng, 0)]


# q5 and q6: sessions that live here


MAX_TEXT = 200


class Session:
    """A model and what its cache holds; the submission calls the three methods.

    Parameters
    ----------
    next_probs : callable
        Maps the whole text in the cache to the distribution of the token after it.
    """

    def __init__(self, next_probs, vocab_size):
        self._next_probs = next_probs
        self._vocab_size = vocab_size
        self.begin([])

    def begin(self, tokens):
        """Start anew."""
        self.tokens = list(tokens)
        self.fed = []

    def score(self, tokens):
        tokens = [int(token) for token in tokens]
        if not tokens:
            raise Refusal("score needs at least one token")
        if len(self.tokens) + len(tokens) > MAX_TEXT:
            raise Refusal(f"there is room for {MAX_TEXT} tokens")
        if not all(0 <= token < self._vocab_size for token in tokens):
            raise Refusal(f"tokens are numbers from 0 to {self._vocab_size - 1}, not {tokens}")
        self.fed.append(len(tokens))
        start = len(self.tokens)
        self.tokens += tokens
        return np.array([self._next_probs(tuple(self.tokens[: end + 1])) for end in range(start, len(self.tokens))])

    def rollback(self, length):
        if not length >= 0:
            raise Refusal(f"cannot go back to length {length}")
        del self.tokens[int(length) :]

    def length(self):
        return len(self.tokens)

    @property
    def num_forwards(self):
        return len(self.fed)

    @property
    def num_rows(self):
        return sum(self.fed)


def lend(session):
    """Return an oracle for a session."""
    return Oracle(session, methods=("score", "rollback", "length"))


def random_session(seed, vocab_size):
    """A session on a model that has another distribution after every text."""
    return Session(TableModel(vocab_size, seed=seed).next_probs, vocab_size)


def observe_propose(student, case):
    """The exact law of the drafted tokens, and the rows that come with each draft."""
    rows_of = {}

    def run(noise, draft, _):
        drafted, rows = student.propose(draft, case["tokens"], case["gamma"], noise)
        rows_of[str(drafted)] = np.reshape(rows, (case["gamma"], -1)) if case["gamma"] else np.zeros((0, 3))
        return drafted

    return {"drafts": law_of_propose(case, run), "rows": dict(sorted(rows_of.items()))}


def observe_propose_cost(student, case):
    """Forwards and tokens fed, at most."""
    seen = []

    def run(noise, draft, session):
        student.propose(draft, case["tokens"], case["gamma"], noise)
        seen.append((session.num_forwards, session.num_rows))

    law_of_propose(case, run)
    return {"forwards": max(seen)[0], "tokens fed": max(rows for _, rows in seen)}


def law_of_propose(case, run):
    """Replay with a fresh session each time."""
    session = random_session(case["seed"], 3)
    draft = lend(session)

    def begin_and_run(noise):
        draft.num_calls = 0
        session.begin(case["tokens"][: case["held"]])
        return run(noise, draft, session)

    return exact_law(begin_and_run)


def propose_case(seed, tokens, held, gamma):
    return {"seed": seed, "tokens": tokens, "held": held, "gamma": gamma}


def show_propose(case):
    return f"tokens = {case['tokens']}, of which the draft's cache holds {case['held']}; gamma = {case['gamma']}"


def propose_cases():
    return [
        propose_case(0, [1], 0, 1),
        propose_case(1, [1, 2], 1, 2),
        propose_case(2, [0, 2, 1, 1], 2, 2),
        propose_case(3, [1, 0], 1, 0),
    ]


def hidden_propose(rng):
    tokens = rng.integers(0, 3, 5).tolist()
    return [propose_case(int(rng.integers(10**6)), tokens, int(held), 2) for held in (0, 3)]


# q6


def observe_text(student, case):
    """The exact law of the generated text."""
    target, draft = (random_session(case[f"{side}_seed"], 2) for side in ("target", "draft"))
    return exact_law(lambda noise: generated(student, case, target, draft, noise), max_runs=1000)


def generated(student, case, target, draft, noise):
    """Run the loop once on empty sessions."""
    target.begin([])
    draft.begin([])
    return student.speculative(
        lend(target), lend(draft), case["prompt"], case["max_tokens"], case["gamma"], noise, case["eos"]
    )


def law_case(seed, prompt, max_tokens, gamma, eos=None):
    return {
        "target_seed": seed,
        "draft_seed": seed + 100,
        "prompt": prompt,
        "max_tokens": max_tokens,
        "gamma": gamma,
        "eos": eos,
    }


def show_law(case):
    told = ", ".join(f"{name} = {case[name]}" for name in ("prompt", "max_tokens", "gamma", "eos"))
    return f"a random target and a random draft over two tokens: {told}"


def hidden_propose_cost(rng):
    return [propose_case(int(rng.integers(10**6)), rng.integers(0, 3, 5).tolist(), int(rng.integers(4)), 3)]


def law_cases():
    return [
        law_case(0, [1], 1, 0),
        law_case(1, [1], 2, 1),
        law_case(2, [1], 3, 1),
        law_case(3, [0, 1], 3, 2),
        law_case(4, [1], 3, 4, eos=0),
        law_case(5, [1], 4, 2),
    ]


def hidden_laws(rng):
    return [law_case(int(rng.integers(10**6)), rng.integers(0, 2, 2).tolist(), 3, 2)]


def search_laws():
    from hypothesis import strategies as st

    return st.builds(law_case, st.integers(0, 3), st.just([1]), st.integers(1, 3), st.integers(0, 2))


class Certain:
    """Noise for models that leave no choice: the likelier answer."""

    def bernoulli(self, prob):
        return prob >= 0.5

    def categorical(self, probs):
        return int(np.argmax(probs))


def counting(wrong_at=()):
    """A model that counts 0, 1, ..., 8, 0, ... with certainty; at the places ``wrong_at`` it says one more.

    It reads the whole text: where the cache holds anything but a beginning of the count, it says nonsense.
    """

    def probs(text):
        right = all(token == place % 9 for place, token in enumerate(text))
        return np.eye(9)[(len(text) + (len(text) in wrong_at)) % 9 if right else 3 * len(text) % 9]

    return Session(probs, 9)


def run_counting(student, case):
    """Generate the one possible text; return it and the two sessions."""
    target, draft = counting(), counting(case["draft_wrong_at"])
    noise = Oracle(Certain(), methods=("bernoulli", "categorical"))
    return generated(student, case, target, draft, noise), target, draft


def observe_end(student, case):
    return run_counting(student, case)[0]


def observe_cost(student, case):
    """What was computed beyond the least that any loop needs, given this draft."""
    _, target, draft = run_counting(student, case)
    drafted = least_work(case)
    prompt, steps, drafts = len(case["prompt"]), len(drafted), sum(drafted)
    return {
        "longest draft": longest_draft(case, target),
        # a prefill of its own is no waste
        "target forwards too many": max(0, target.num_forwards - steps - (prompt > 1)),
        "tokens too many fed to the target": max(0, target.num_rows - (prompt - 1) - steps - drafts),
        # nor is a forward per step that only brings the draft up to date
        "draft forwards too many": max(0, draft.num_forwards - drafts - steps - 1),
        "tokens too many fed to the draft": max(0, draft.num_rows - prompt - steps - drafts),
    }


def longest_draft(case, target):
    """Return how much longer than gamma a draft was: what each forward was fed beyond the token that was pending."""
    first, *later = target.fed or [len(case["prompt"])]
    return max(0, first - len(case["prompt"]) - case["gamma"], *(fed - 1 - case["gamma"] for fed in later))


def least_work(case):
    """Return how many tokens each step drafts."""
    text, end, drafted = len(case["prompt"]), len(case["prompt"]) + case["max_tokens"], []
    while text < end:
        gamma = min(case["gamma"], end - text - 1)
        accepted = next((i for i in range(gamma) if text + i in case["draft_wrong_at"]), gamma)
        drafted.append(gamma)
        text += accepted + 1
    return drafted


def count_case(max_tokens, gamma, eos=None, draft_wrong_at=(), prompt=(0,)):
    return {
        "prompt": list(prompt),
        "max_tokens": max_tokens,
        "gamma": gamma,
        "eos": eos,
        "draft_wrong_at": list(draft_wrong_at),
    }


def show_count(case):
    told = ", ".join(f"{name} = {case[name]}" for name in ("prompt", "max_tokens", "gamma", "eos"))
    wrong = f" but is wrong at places {case['draft_wrong_at']}" if case["draft_wrong_at"] else ""
    return f"a target that counts 0, 1, 2, ... with certainty; the draft does too{wrong}: {told}"


def end_cases():
    budgets = [count_case(n, gamma) for gamma in (0, 1, 3) for n in (0, 1, 2, 4, 5)]
    at_a_draft = [count_case(8, 3, eos=eos) for eos in (1, 2, 3, 4)]
    after_rejection = [count_case(8, 3, eos=3, draft_wrong_at=[3]), count_case(8, 2, eos=2, draft_wrong_at=[1])]
    in_prompt = [count_case(3, 2, eos=0, prompt=(0, 1)), count_case(12, 2, eos=0, prompt=(0, 1, 2))]
    return budgets + at_a_draft + after_rejection + in_prompt


def hidden_ends(rng):
    return [
        count_case(*rng.integers(3, 12, 1).tolist(), *rng.integers(1, 5, 2).tolist(), rng.integers(1, 9, 2).tolist())
        for _ in range(4)
    ]


def cost_cases():
    return [
        count_case(6, 2),
        count_case(5, 3),
        count_case(12, 2, prompt=(0, 1, 2)),
        count_case(12, 3, draft_wrong_at=[1]),
        count_case(12, 3, draft_wrong_at=[2, 8]),
        count_case(12, 3, draft_wrong_at=[3], prompt=(0, 1)),
        count_case(4, 0),
        count_case(16, 7),
        count_case(9, 0, prompt=(0, 1, 2)),
    ]


def hidden_costs(rng):
    return [
        count_case(int(rng.integers(8, 16)), int(rng.integers(1, 5)), None, rng.integers(1, 16, 3).tolist()),
        count_case(int(rng.integers(12, 18)), int(rng.integers(5, 9))),
        count_case(int(rng.integers(3, 9)), 0),
    ]


CHECKS = [
    Check("a2.q1.accept", observe_accept, cases=with_drawn(accept_cases(), hidden_accept), hidden=hidden_accept),
    Check("a2.q1.never", observe_accept, cases=never_cases(), hidden=hidden_never),
    Check("a2.q2.residual", observe_residual, cases=residual_cases(), hidden=hidden_residual, search=search_residual),
    Check("a2.q2.equal", observe_residual, cases=equal_cases(), hidden=hidden_equal),
    Check("a2.q3.law", observe_draws, cases=draws_cases(), hidden=hidden_draws, same=same_frequencies),
    Check("a2.q3.impossible", observe_support, cases=support_cases(), hidden=hidden_support),
    Check("a2.q4.one", observe_verify, cases=one_cases(), hidden=hidden_one),
    Check("a2.q4.prefix", observe_verify, cases=prefix_cases(), hidden=hidden_prefix, search=search_prefix),
    Check("a2.q4.bonus", observe_verify, cases=bonus_cases(), hidden=hidden_bonus),
    Check("a2.q4.empty", observe_verify, cases=empty_cases(), hidden=hidden_empty),
    Check("a2.q5.law", observe_propose, cases=propose_cases(), hidden=hidden_propose, show=show_propose),
    Check("a2.q5.cost", observe_propose_cost, cases=propose_cases(), hidden=hidden_propose_cost, show=show_propose),
    Check("a2.q6.law", observe_text, cases=law_cases(), hidden=hidden_laws, search=search_laws, show=show_law),
    Check("a2.q6.ends", observe_end, cases=with_drawn(end_cases(), hidden_ends), hidden=hidden_ends, show=show_count),
    Check("a2.q6.cost", observe_cost, cases=cost_cases(), hidden=hidden_costs, show=show_count),
]
