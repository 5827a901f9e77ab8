"""Accepts at equality too."""

FAILS = "a2.q1.never"
MISTAKE = "accept_equal"


def accept(p, q, token, u):
    return bool(u * q[token] <= p[token])
