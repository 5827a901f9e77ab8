"""You count a rejection in every step; a step whose drafts were all accepted has none."""

FAILS = "a3.q3.estimate"


def estimate(drafted, accepted):
    judged = sum(accepted) + len(accepted)
    return (sum(accepted) / sum(drafted) if sum(drafted) else None, sum(accepted) / judged if judged else None)
