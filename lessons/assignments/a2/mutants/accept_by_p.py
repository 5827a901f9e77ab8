"""You accept with probability p; what the draft already favours by q must be divided out: p/q."""

FAILS = "a2.q1.accept"


def accept(p, q, token, u):
    return bool(u < p[token])
