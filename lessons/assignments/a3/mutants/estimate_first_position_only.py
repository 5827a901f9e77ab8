"""Your alpha looks at the first draft of each step only; every judged draft counts."""

FAILS = "a3.q3.estimate"


def estimate(drafted, accepted):
    first = [a > 0 for d, a in zip(drafted, accepted, strict=True) if d]
    rate = sum(accepted) / sum(drafted) if sum(drafted) else None
    return rate, (sum(first) / len(first) if first else None)
