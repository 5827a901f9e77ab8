"""You add a small constant to p: a token the target never emits can then be accepted."""

FAILS = "a2.q1.never"


def accept(p, q, token, u):
    return bool(u < (p[token] + 1e-8) / (q[token] + 1e-8))
