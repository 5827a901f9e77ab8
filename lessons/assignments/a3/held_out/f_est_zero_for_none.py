"""0.0 for nothing."""

FAILS = "a3.q3.estimate"
MISTAKE = "estimate_zero_for_nothing"


def estimate(drafted, accepted):
    d, a = sum(drafted), sum(accepted)
    j = sum(min(x + 1, y) for x, y in zip(accepted, drafted))
    return (a / d if d else 0.0), (a / j if j else 0.0)
