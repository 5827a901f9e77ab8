"""You compare 1 - u with the ratio: the right probability, but the task says: accept exactly if u < p/q."""

FAILS = "a2.q1.accept"


def accept(p, q, token, u):
    return bool(1.0 - u < p[token] / q[token])
