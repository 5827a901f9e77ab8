"""Accepts all."""

MISTAKE = "accept_always"


def accept(p, q, token, u):
    return not u > 1
