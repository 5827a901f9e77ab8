"""Returns alpha first."""

FAILS = "a3.q3.estimate"
MISTAKE = "estimate_swapped"


def estimate(drafted, accepted):
    a, d = sum(accepted), sum(drafted)
    judged = sum(min(n, k + 1) for n, k in zip(drafted, accepted))
    return a / judged if judged else None, a / d if d else None
