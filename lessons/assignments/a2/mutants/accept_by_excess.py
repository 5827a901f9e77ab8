"""You reject with probability q - p; the chance is relative to q: accept if u < p/q."""

FAILS = "a2.q1.accept"


def accept(p, q, token, u):
    return bool(u < 1.0 + p[token] - q[token])
