"""Accepted and the bonus over drafted."""

FAILS = "a3.q3.estimate"
MISTAKE = "estimate_counts_the_bonus"


def estimate(drafted, accepted):
    d, a = sum(drafted), sum(accepted)
    j = sum(min(x + 1, y) for x, y in zip(accepted, drafted))
    return ((a + len(accepted)) / d if d else None), (a / j if j else None)
