"""You use 1 / (1 - alpha), the limit of infinitely long drafts; this one ends after gamma tokens."""

FAILS = "a3.q2.tau"


def tau(alpha, gamma):
    return 1.0 / (1.0 - alpha) if alpha < 1.0 else gamma + 1.0
