"""Your comparison is the wrong way round: accept if u lies below the ratio."""

FAILS = "a2.q1.accept"


def accept(p, q, token, u):
    return bool(u > p[token] / q[token])
