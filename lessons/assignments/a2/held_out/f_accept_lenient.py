"""A tenth more is accepted."""

FAILS = "a2.q1.accept"
MISTAKE = ""


def accept(p, q, token, u):
    return bool(u < 1.1 * p[token] / q[token])
