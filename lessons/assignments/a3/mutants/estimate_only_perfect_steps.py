"""Your alpha is the share of steps that accepted everything; it is about single drafts."""

FAILS = "a3.q3.estimate"


def estimate(drafted, accepted):
    rate = sum(accepted) / sum(drafted) if sum(drafted) else None
    perfect = [a == d for d, a in zip(drafted, accepted) if d]
    return rate, (sum(perfect) / len(perfect) if perfect else None)
