"""You take alpha gamma + 1: a draft counts only if all before it were accepted."""

FAILS = "a3.q2.tau"


def tau(alpha, gamma):
    return 1.0 + alpha * gamma
