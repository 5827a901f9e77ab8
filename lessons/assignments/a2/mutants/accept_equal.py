"""You accept where u equals the ratio: with p = 0 and u = 0 that is a token the target never emits. Use <, not <=."""

FAILS = "a2.q1.never"


def accept(p, q, token, u):
    return bool(u <= p[token] / q[token])
