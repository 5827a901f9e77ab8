"""Your residual is p itself; what the draft has already given must be taken off: max(p - q, 0)."""

FAILS = "a2.q2.residual"


def residual(p, q):
    return p
