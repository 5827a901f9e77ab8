"""Where nothing was drafted you divide by zero; return None."""

FAILS = "a3.q3.estimate"


def estimate(drafted, accepted):
    judged = sum(a + (1 if a < d else 0) for d, a in zip(drafted, accepted))
    return sum(accepted) / sum(drafted), sum(accepted) / judged
