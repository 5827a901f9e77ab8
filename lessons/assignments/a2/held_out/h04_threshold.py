"""Accepts what the target finds at least as likely as the draft."""

MISTAKE = "accept_without_coin"


def accept(p, q, token, u):
    return bool(p[token] >= q[token])
