"""You count the extra token of each step as accepted; it was never drafted."""

FAILS = "a3.q3.estimate"


def estimate(drafted, accepted):
    plus = sum(accepted) + len(accepted)
    judged = sum(a + (a < d) for d, a in zip(drafted, accepted, strict=True))
    return (plus / sum(drafted) if sum(drafted) else None, plus / judged if judged else None)
