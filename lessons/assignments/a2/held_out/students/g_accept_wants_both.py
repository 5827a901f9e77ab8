"""Accepts where the target likes the token at least as well, and never else."""

FAILS = "a2.q1.accept"
MISTAKE = "accept_without_coin"


def accept(p, q, token, u):
    if q[token] > p[token]:
        return False
    return True
