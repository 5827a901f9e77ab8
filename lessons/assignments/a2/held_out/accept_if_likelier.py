"""A comparison without the coin."""

FAILS = "a2.q1.accept"
MISTAKE = "accept_without_coin"


def accept(p, q, token, u):
    return not p[token] < q[token]
