"""You accept every token."""

FAILS = "a2.q1.accept"


def accept(p, q, token, u):
    return True
