"""Your ratio is upside down: accept with probability min(1, p/q), not min(1, q/p)."""

FAILS = "a0.q1.accept"


def accept(p, q, token, u):
    return bool(u * p[token] < q[token])
