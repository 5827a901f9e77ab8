"""Returns whether it is rejected."""

FAILS = "a2.q1.accept"
MISTAKE = "accept_if_above"


def accept(p, q, token, u):
    return bool(u >= p[token] / q[token])
