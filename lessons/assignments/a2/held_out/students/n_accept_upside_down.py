"""Compares with q / p."""

FAILS = "a2.q1.accept"


def accept(p, q, token, u):
    if p[token] == 0:
        return False
    return bool(u < min(1, q[token] / p[token]))
