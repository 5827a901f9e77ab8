"""You sum p q: that is how often two independent draws agree. Rejection sampling accepts more: the sum of min(p, q)."""

FAILS = "a3.q1.overlap"


def acceptance_probability(p, q):
    return float((p * q).sum())
