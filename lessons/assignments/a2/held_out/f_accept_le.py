"""U <= ratio."""

FAILS = "a2.q1.never"
MISTAKE = "accept_equal"


def accept(p, q, token, u):
    return bool(u <= p[token] / q[token])
