"""You divide by p + q; the ratio is p/q."""

FAILS = "a2.q1.accept"


def accept(p, q, token, u):
    return bool(u < p[token] / (p[token] + q[token]))
