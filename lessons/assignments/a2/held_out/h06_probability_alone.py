"""Accepts with the target's probability."""

MISTAKE = "accept_by_p"


def accept(p, q, token, u):
    chance = float(p[token])
    return chance > u
