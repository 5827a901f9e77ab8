"""You reject with probability q - p; the chance is relative to q: reject with probability (q - p) / q."""

FAILS = "a2.q1.accept"


def accept(p, q, token, u):
    return bool(u >= q[token] - p[token])
