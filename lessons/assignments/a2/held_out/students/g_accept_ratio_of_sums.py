"""Divides by the sum of both probabilities, as for a vote."""

FAILS = "a2.q1.accept"
MISTAKE = "accept_share"


def accept(p, q, token, u):
    return bool(u < p[token] / (p[token] + q[token]))
