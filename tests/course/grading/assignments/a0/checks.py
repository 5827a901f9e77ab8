"""Checks of the example."""

import numpy as np

from minispec.course.grading import Check, Oracle, Refusal, exact_law


def observe_accept(student, case):
    return student.accept(case["p"], case["q"], case["token"], case["u"])


def case(p, q, token, u):
    return {"p": np.array(p, float), "q": np.array(q, float), "token": token, "u": u}


def search():
    from hypothesis import strategies as st

    shares = st.sampled_from([0.25, 0.5, 0.75])
    return st.builds(
        lambda a, b, token, u: case([a, 1 - a], [b, 1 - b], token, u),
        shares,
        shares,
        st.integers(0, 1),
        st.sampled_from([0.0, 0.4, 0.9]),
    )


def drawn(rng):
    p, q = rng.dirichlet(np.ones(3), 2)
    return [case(p, q, token, u) for token in range(3) for u in (0.0, *rng.random(3))]


def observe_two(student, case):
    def next_probs(tokens):
        if not isinstance(tokens, list) or len(tokens) > 1:
            raise Refusal("tokens is a list of at most one token")
        return case["after"][tokens[0]] if tokens else case["first"]

    target = Oracle(next_probs)
    law = exact_law(lambda noise: student.draw_two(target, noise))
    return {**law, "calls": target.num_calls}


def two(first, after):
    return {"first": np.array(first), "after": np.array(after)}


def drawn_two(rng):
    rows = rng.dirichlet(np.ones(2), 3)
    return [two(rows[0], rows[1:])]


CHECKS = [
    Check(
        "a0.q1.accept",
        observe_accept,
        [case([0.5, 0.5], [0.25, 0.75], t, u) for t in (0, 1) for u in (0.0, 0.5, 0.7, 0.99)],
        hidden=drawn,
        search=search,
    ),
    Check("a0.q2.law", observe_two, [two([0.125, 0.875], [[0.5, 0.5], [0.25, 0.75]])], hidden=drawn_two),
]


# BEGIN HIDDEN TESTS
def hidden(rng):
    rows = rng.dirichlet(np.ones(4), 12)
    return [case(p, q, int(rng.integers(4)), float(rng.random())) for p, q in zip(rows[::2], rows[1::2], strict=True)]


CHECKS.append(Check("a0.q1.secret", observe_accept, [case([0.0, 1.0], [0.5, 0.5], 0, 0.0)], hidden=hidden))
# END HIDDEN TESTS
