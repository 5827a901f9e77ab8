"""Clips the ratio at a small positive number, to be safe."""

FAILS = "a2.q1.never"


def accept(p, q, token, u):
    ratio = max(1e-3, min(1.0, p[token] / q[token]))
    return bool(u < ratio)
